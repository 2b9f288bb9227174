/**
 * Notifies systemd of the state of the process (sd_notify(3)): ready, stopping, a status text, and
 * regular signs of life. Messages are datagrams to the unix socket named by `NOTIFY_SOCKET`; Node
 * has no such sockets, so `systemd-notify` sends them, which exists wherever systemd does. A unit
 * needs `Type=notify` and `NotifyAccess=all`, as the sender is a child of the process.
 */
import { execFile } from 'node:child_process';

/** Time limit for one message. */
const SEND_MS_MAX = 10_000;
/** Messages that may wait; older ones are dropped. */
const WAITING_MAX = 8;

export interface ServiceManagerOptions {
  /**
   * `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` are read and removed: they are not meant
   * for children.
   */
  env: NodeJS.ProcessEnv;
  /** Called once when messages cannot be sent. */
  warn: (message: string) => void;
  program?: string;
}

/** Does nothing when `NOTIFY_SOCKET` is not set. */
export class ServiceManager {
  readonly #socket: string | null;
  readonly #env: NodeJS.ProcessEnv;
  readonly #watchdogMs: number | null;
  readonly #warn: (message: string) => void;
  readonly #program: string;
  readonly #waiting: string[][] = [];
  #sending: Promise<void> | null = null;
  #warned = false;
  #timer: NodeJS.Timeout | null = null;

  constructor({ env, warn, program = 'systemd-notify' }: ServiceManagerOptions) {
    this.#socket = env['NOTIFY_SOCKET'] || null;
    this.#watchdogMs = this.#socket === null ? null : watchdogMs(env);
    delete env['NOTIFY_SOCKET'];
    delete env['WATCHDOG_USEC'];
    delete env['WATCHDOG_PID'];
    this.#env = env;
    this.#warn = warn;
    this.#program = program;
  }

  /**
   * During a long start.
   * @param alive time after which the manager may stop the process unless it hears more, ms
   */
  starting(status: string, aliveMs: number): void {
    this.#send(`STATUS=${status}`, `EXTEND_TIMEOUT_USEC=${aliveMs * 1000}`);
  }

  /** @param isAlive called before each watchdog message; false or a throw holds the message back */
  ready(status: string, isAlive: () => boolean): void {
    this.#send('READY=1', `STATUS=${status}`);
    if (this.#watchdogMs === null) return;
    const tell = (): void => {
      try {
        if (isAlive()) this.#send('WATCHDOG=1');
      } catch (error) {
        this.#warn(`the watchdog is not notified: ${(error as Error).message}`);
      }
    };
    tell();
    // Half of the interval, as sd_watchdog_enabled(3) recommends.
    this.#timer = setInterval(tell, this.#watchdogMs / 2);
    this.#timer.unref();
  }

  /** @param timeoutMs how long the stop may take */
  stopping(timeoutMs: number): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#send('STOPPING=1', 'STATUS=stopping', `EXTEND_TIMEOUT_USEC=${timeoutMs * 1000}`);
  }

  /** Resolves when all messages are sent. */
  async sent(): Promise<void> {
    while (this.#sending !== null) await this.#sending;
  }

  #send(...message: string[]): void {
    if (this.#socket === null) return;
    this.#waiting.push(message);
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift();
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = null));
  }

  /** Sends one after another: the order matters. */
  async #sendAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      await this.#sendOne(next);
    }
  }

  #sendOne(message: string[]): Promise<void> {
    const env = { ...this.#env, NOTIFY_SOCKET: this.#socket! };
    return new Promise((done) => {
      execFile(this.#program, message, { env, timeout: SEND_MS_MAX }, (error) => {
        if (error !== null && !this.#warned) {
          this.#warned = true;
          const reason = (error as NodeJS.ErrnoException).code ?? error.message;
          this.#warn(`NOTIFY_SOCKET is set, but ${this.#program} does not work: ${reason}`);
        }
        done();
      });
    });
  }
}

/** null: no watchdog, or one for another process. */
function watchdogMs(env: NodeJS.ProcessEnv): number | null {
  const pid = env['WATCHDOG_PID'];
  if (pid !== undefined && pid !== String(process.pid)) return null;
  const microseconds = Number(env['WATCHDOG_USEC'] ?? NaN);
  return microseconds > 0 ? microseconds / 1000 : null;
}

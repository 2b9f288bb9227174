/** Processes that compile and run functions. They are started on demand and ended when idle. */
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../base/built-file.ts';
import { RUN_MS_MAX } from './meter.ts';
import type { EditedPart, EditFunction, ScriptResponse, ScriptRequest } from './script-messages.ts';

/** Maximum heap of a process in MiB. */
const HEAP_MB = 256;
/**
 * Maximum private memory of a process in bytes, enforced by the kernel. A process uses 60 MiB
 * before it runs anything.
 */
const DATA_BYTES_MAX = 768 * 2 ** 20;
/** Stack size of V8 in KiB. The stack of the main thread has 8 MiB on nearly all systems. */
const STACK_KB = 3900;
/** The nice value of batches. */
const NICE = 5;
const IDLE_MS_MAX = 30_000;

/**
 * Maximum processor time without a sign of life. It is exceeded when an operation of the language
 * hangs where it does not read the clock.
 */
const SILENT_CPU_MS_MAX = RUN_MS_MAX + 1000;
/**
 * The same in time in which the server runs, for systems that do not report processor time and for
 * processes that wait.
 */
const SILENT_MS_MAX = 60_000;
const WATCH_MS = 250;

/** A request to a process failed. */
export class ScriptProcessError extends Error {
  /** Whether the function is the cause: it fails, or takes too much time or memory. */
  readonly ofScript: boolean;
  constructor(message: string, ofScript: boolean) {
    super(message);
    this.ofScript = ofScript;
  }
}

/** Limits the private memory of a process. Returns false where the system cannot do that. */
export type LimitProcess = (pid: number, dataBytes: number) => boolean;

/** Takes a part. The next one follows when it resolves; none follows when it rejects. */
export type TakePart = (part: EditedPart) => Promise<void>;

interface Waiting {
  resolve: () => void;
  reject: (error: Error) => void;
  onPart: TakePart;
}

/** One process, which handles one request at a time. */
class ScriptProcess {
  readonly #child: ChildProcess;
  #waiting: Waiting | null = null;
  #end: Error | null = null;
  /** Whether a part is being processed; the process waits meanwhile. */
  #isTaking = false;
  #watch: NodeJS.Timeout | null = null;
  #sign = { cpuMs: 0, silentMs: 0, lookedAt: 0 };

  constructor(limit: LimitProcess) {
    const child = fork(fileURLToPath(builtFile('edit-process.cjs')), {
      serialization: 'advanced',
      // The last pipe closes when the server dies.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
      execArgv: [`--max-old-space-size=${HEAP_MB}`, `--stack-size=${STACK_KB}`],
      env: environment(),
    });
    this.#child = child;
    child.stdio[4]?.on('error', () => {});
    child.on('message', (response: ScriptResponse) => this.#take(response));
    child.on('error', (error) => this.#fail(new ScriptProcessError(error.message, false)));
    child.on('exit', (code, signal) => {
      this.#fail(
        new ScriptProcessError(
          `It needs too much memory: its process ended (${signal ?? `status ${code}`}).`,
          true,
        ),
      );
    });
    if (child.pid === undefined) return;
    limit(child.pid, DATA_BYTES_MAX);
    try {
      setPriority(child.pid, NICE);
    } catch {
      // The process has already ended, which `exit` reports.
    }
  }

  get isUsable(): boolean {
    return this.#end === null;
  }

  /** Processor time used so far; 0 where the system does not report it. */
  get cpuMs(): number {
    return cpuMs(this.#child.pid);
  }

  /**
   * Sends a request. Rejects with `ScriptProcessError`, or with the error of `onPart`. REQUIRES: no
   * other request is in progress.
   */
  ask(request: ScriptRequest, onPart: TakePart = async () => {}): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#end !== null) {
        reject(this.#end);
        return;
      }
      this.#setRef(true);
      this.#waiting = { resolve, reject, onPart };
      this.#noteSign();
      this.#watch = setInterval(() => this.#look(), WATCH_MS);
      this.#send(request);
    });
  }

  #send(request: ScriptRequest): void {
    this.#child.send(request, (error) => {
      if (error !== null) this.#fail(new ScriptProcessError(error.message, false));
    });
  }

  /** Ends the process. The current request fails with `reason`. */
  kill(reason: Error): void {
    this.#child.kill('SIGKILL');
    this.#fail(reason);
  }

  /** Sets whether the child process keeps this process alive. */
  #setRef(isRef: boolean): void {
    const streams = [this.#child, this.#child.channel, this.#child.stdio[4]] as (
      { ref(): void; unref(): void } | null | undefined
    )[];
    for (const stream of streams) {
      if (isRef) stream?.ref?.();
      else stream?.unref?.();
    }
  }

  #take(response: ScriptResponse): void {
    this.#noteSign();
    if (response.kind === 'part') {
      void this.#takePart(response);
      return;
    }
    const waiting = this.#settled();
    if (response.kind === 'done') waiting?.resolve();
    else waiting?.reject(new ScriptProcessError(response.message, response.ofScript));
  }

  async #takePart(part: EditedPart): Promise<void> {
    this.#isTaking = true;
    try {
      await this.#waiting?.onPart(part);
      if (this.#end === null) this.#send({ kind: 'next' });
    } catch (error) {
      this.kill(error as Error);
    } finally {
      this.#isTaking = false;
      this.#noteSign();
    }
  }

  #fail(error: Error): void {
    this.#end ??= error;
    this.#settled()?.reject(this.#end);
  }

  #settled(): Waiting | null {
    const waiting = this.#waiting;
    this.#waiting = null;
    if (this.#watch !== null) clearInterval(this.#watch);
    this.#watch = null;
    this.#setRef(false);
    return waiting;
  }

  #noteSign(): void {
    this.#sign = { cpuMs: this.cpuMs, silentMs: 0, lookedAt: performance.now() };
  }

  #look(): void {
    if (this.#isTaking) return;
    const sign = this.#sign;
    const now = performance.now();
    // A pause of the whole machine is no silence.
    sign.silentMs += Math.min(now - sign.lookedAt, 2 * WATCH_MS);
    sign.lookedAt = now;
    const silentCpuMs = this.cpuMs - sign.cpuMs;
    if (silentCpuMs <= SILENT_CPU_MS_MAX && sign.silentMs <= SILENT_MS_MAX) return;
    this.kill(new ScriptProcessError(`It ran for more than ${RUN_MS_MAX / 1000} s.`, true));
  }
}

/** Edits pages of documents with one function. */
export interface EditSession {
  /** Edits one page at a time. Rejects with `ScriptProcessError`, or with the error of `onPart`. */
  edit(page: Uint8Array, onPart: TakePart): Promise<void>;
  /** Processor time of the process so far in ms; 0 where the system does not report it. */
  cpuMs(): number;
  /** Stops the current page at once; its promise rejects. */
  stop(): void;
  /** Returns the process for reuse. */
  close(): void;
}

/** Maximum number of waiting checks. Further checks are skipped. */
const CHECKS_WAITING_MAX = 100;
/** Maximum time for a check, including waiting. */
const CHECK_MS_MAX = 10_000;

export class ScriptProcesses {
  readonly #limit: LimitProcess;
  /** An idle process, if there is one. */
  #idle: { process: ScriptProcess; timer: NodeJS.Timeout } | null = null;
  readonly #busy = new Set<ScriptProcess>();
  #lastCheck: Promise<unknown> = Promise.resolve();
  #checks = 0;

  constructor(limit: LimitProcess) {
    this.#limit = limit;
  }

  /**
   * Checks whether a function compiles.
   * @returns why it does not compile; null if it does, or if the check did not finish in time (the
   * task then fails)
   */
  async check(text: string, withContext: boolean): Promise<string | null> {
    if (this.#checks > CHECKS_WAITING_MAX) return null;
    this.#checks++;
    const begun = performance.now();
    const before = this.#lastCheck;
    const checked = before.then(() => {
      const left = CHECK_MS_MAX - (performance.now() - begun);
      return left <= 0 ? null : this.#check({ kind: 'check', text, withContext }, left);
    });
    this.#lastCheck = checked;
    try {
      return await checked;
    } finally {
      this.#checks--;
    }
  }

  async #check(request: ScriptRequest, msMax: number): Promise<string | null> {
    const process = this.#take();
    const late = new ScriptProcessError('The check took too long', false);
    const timer = setTimeout(() => process.kill(late), msMax);
    try {
      await process.ask(request);
      return null;
    } catch (error) {
      const { message, ofScript } = error as ScriptProcessError;
      return ofScript ? message : null;
    } finally {
      clearTimeout(timer);
      this.#giveBack(process);
    }
  }

  /** Opens a session. Rejects with `ScriptProcessError` if the function does not compile. */
  async open(edit: EditFunction): Promise<EditSession> {
    const process = this.#take();
    const session: EditSession = {
      edit: (page, onPart) => process.ask({ kind: 'page', page }, onPart),
      cpuMs: () => process.cpuMs,
      stop: () => process.kill(new ScriptProcessError('It was stopped', false)),
      close: () => this.#giveBack(process),
    };
    try {
      await process.ask({ kind: 'open', ...edit });
      return session;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  close(): void {
    const stopping = new ScriptProcessError('The server is stopping', false);
    const idle = this.#idle;
    this.#idle = null;
    if (idle !== null) clearTimeout(idle.timer);
    idle?.process.kill(stopping);
    for (const process of this.#busy) process.kill(stopping);
  }

  #take(): ScriptProcess {
    const idle = this.#idle;
    this.#idle = null;
    if (idle !== null) clearTimeout(idle.timer);
    const process = idle?.process.isUsable === true ? idle.process : new ScriptProcess(this.#limit);
    this.#busy.add(process);
    return process;
  }

  #giveBack(process: ScriptProcess): void {
    this.#busy.delete(process);
    if (!process.isUsable) return;
    const notNeeded = new ScriptProcessError('The process was not needed', false);
    if (this.#idle !== null) {
      process.kill(notNeeded);
      return;
    }
    const timer = setTimeout(() => {
      this.#idle = null;
      process.kill(notNeeded);
    }, IDLE_MS_MAX).unref();
    this.#idle = { process, timer };
  }
}

/** The environment without secrets of the server and without its Node options. */
function environment(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => !/^(NODE_|MEILI_|GANNET_)/.test(name));
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}

/** Length of a kernel clock tick, the unit of processor time: 100 per second on common systems. */
const MS_PER_TICK = 10;

/** Processor time of a process in ms; 0 where the system does not report it. */
function cpuMs(pid: number | undefined): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Fields after the name, which may contain spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
  } catch {
    return 0;
  }
}

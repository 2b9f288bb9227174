/** Processes that compile and run functions. They are started on demand and ended when idle. */
import { readFileSync } from 'node:fs';
import { builtFile } from '../base/built-file.ts';
import { type Call, Isolate } from '../base/isolate.ts';
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

/** One process, which handles one request at a time. */
class ScriptProcess {
  readonly #isolate: Isolate<ScriptRequest, ScriptResponse>;
  #pid: number | undefined;
  #asked: { call: Call<void>; onPart: TakePart } | null = null;
  /** Whether a part is being processed; the process waits meanwhile. */
  #isTaking = false;
  #sign = { cpuMs: 0, silentMs: 0 };

  constructor(limit: LimitProcess) {
    this.#isolate = new Isolate<ScriptRequest, ScriptResponse>({
      host: {
        process: builtFile('edit-process.cjs'),
        options: {
          serialization: 'advanced',
          // The last pipe closes when the server dies.
          stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
          execArgv: [`--max-old-space-size=${HEAP_MB}`, `--stack-size=${STACK_KB}`],
          env: environment(),
        },
        nice: NICE,
        limit: (pid) => {
          this.#pid = pid;
          limit(pid, DATA_BYTES_MAX);
        },
      },
      take: (response) => this.#take(response),
      fault: ({ error, cause }) =>
        error === null
          ? new ScriptProcessError(`It needs too much memory: its process ended (${cause}).`, true)
          : new ScriptProcessError(error.message, false),
      idleMs: IDLE_MS_MAX,
    });
  }

  get isUsable(): boolean {
    return !this.#isolate.hasEnded;
  }

  /** Processor time used so far; 0 where the system does not report it. */
  get cpuMs(): number {
    return cpuMs(this.#pid);
  }

  /**
   * Sends a request. Rejects with `ScriptProcessError`, or with the error of `onPart`. REQUIRES: no
   * other request is in progress.
   */
  ask(request: ScriptRequest, onPart: TakePart = async () => {}): Promise<void> {
    this.#noteSign();
    const look = (passedMs: number): Error | null => this.#look(passedMs);
    const call = this.#isolate.open<void>({ everyMs: WATCH_MS, look });
    this.#asked = { call, onPart };
    this.#isolate.send(request);
    return call.result;
  }

  /** Ends the process. The current request fails with `reason`. */
  kill(reason: Error): void {
    void this.#isolate.end(reason);
  }

  #take(response: ScriptResponse): void {
    this.#noteSign();
    const { call } = this.#asked!;
    if (response.kind === 'part') void this.#takePart(response);
    else if (response.kind === 'done') call.resolve();
    else call.reject(new ScriptProcessError(response.message, response.ofScript));
  }

  async #takePart(part: EditedPart): Promise<void> {
    this.#isTaking = true;
    try {
      await this.#asked!.onPart(part);
      this.#isolate.send({ kind: 'next' });
    } catch (error) {
      this.kill(error as Error);
    } finally {
      this.#isTaking = false;
      this.#noteSign();
    }
  }

  #noteSign(): void {
    this.#sign = { cpuMs: this.cpuMs, silentMs: 0 };
  }

  #look(passedMs: number): Error | null {
    if (this.#isTaking) return null;
    const sign = this.#sign;
    sign.silentMs += passedMs;
    const silentCpuMs = this.cpuMs - sign.cpuMs;
    if (silentCpuMs <= SILENT_CPU_MS_MAX && sign.silentMs <= SILENT_MS_MAX) return null;
    return new ScriptProcessError(`It ran for more than ${RUN_MS_MAX / 1000} s.`, true);
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
  /** An idle process, if there is one; it may have ended. */
  #idle: ScriptProcess | null = null;
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
    this.#idle?.kill(stopping);
    this.#idle = null;
    for (const process of this.#busy) process.kill(stopping);
  }

  #take(): ScriptProcess {
    const idle = this.#idle;
    this.#idle = null;
    const process = idle?.isUsable === true ? idle : new ScriptProcess(this.#limit);
    this.#busy.add(process);
    return process;
  }

  #giveBack(process: ScriptProcess): void {
    this.#busy.delete(process);
    if (!process.isUsable) return;
    if (this.#idle?.isUsable !== true) this.#idle = process;
    else process.kill(new ScriptProcessError('The process was not needed', false));
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

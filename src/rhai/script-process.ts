/**
 * Processes that compile and run functions: started when one is needed, ended when they are idle.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../base/built-file.ts';
import { RUN_MS_MAX } from './meter.ts';
import type { EditedPart, EditFunction, ScriptReply, ScriptRequest } from './script-messages.ts';

/** Heap of a process, MiB. */
const HEAP_MB = 256;
/**
 * All private memory of a process, enforced by the kernel. It uses 60 MiB before it runs anything.
 */
const DATA_BYTES_MAX = 768 * 2 ** 20;
/** KiB; the stack of the main thread has 8 MiB nearly everywhere. */
const STACK_KB = 3900;
/** As batches have. */
const NICE = 5;
const IDLE_MS_MAX = 30_000;

/**
 * Processor time without a sign of life: an operation of the language hangs where it cannot look at
 * the clock.
 */
const SILENT_CPU_MS_MAX = RUN_MS_MAX + 1000;
/** The same by the clock of the wall, for machines that do not tell and for processes that wait. */
const SILENT_MS_MAX = 60_000;
const WATCH_MS = 250;

/** A process could not do what it was asked. */
export class ScriptProcessError extends Error {
  /** The function is to blame: what it does takes too much time or memory, or it fails. */
  readonly ofScript: boolean;
  constructor(message: string, ofScript: boolean) {
    super(message);
    this.ofScript = ofScript;
  }
}

/** Limits the private memory of a process; false where that cannot be. */
export type LimitProcess = (pid: number, dataBytes: number) => boolean;

/** Takes a part; the next one comes when it resolves. Nothing comes any more when it rejects. */
export type TakePart = (part: EditedPart) => Promise<void>;

interface Waiting {
  resolve: () => void;
  reject: (error: Error) => void;
  onPart: TakePart;
}

/** One process. It answers one request after the other. */
class ScriptProcess {
  readonly #child: ChildProcess;
  #waiting: Waiting | null = null;
  #end: Error | null = null;
  /** A part is being taken: the process waits. */
  #isTaking = false;
  #watch: NodeJS.Timeout | null = null;
  #sign = { at: 0, cpuMs: 0 };

  constructor(limit: LimitProcess) {
    const child = fork(fileURLToPath(builtFile('edit-process.cjs')), {
      serialization: 'advanced',
      // The last one closes when this process dies.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
      execArgv: [`--max-old-space-size=${HEAP_MB}`, `--stack-size=${STACK_KB}`],
      env: environment(),
    });
    this.#child = child;
    child.stdio[4]?.on('error', () => {});
    child.on('message', (reply: ScriptReply) => this.#take(reply));
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
      // It has ended already, which `exit` reports.
    }
  }

  get isUsable(): boolean {
    return this.#end === null;
  }

  /**
   * Rejects with `ScriptProcessError`, or as `onPart` does. REQUIRES: no other request is under
   * way.
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

  /** The request under way fails. */
  kill(reason: Error): void {
    this.#child.kill('SIGKILL');
    this.#fail(reason);
  }

  /** Whether this process stays as long as that one does. */
  #setRef(isRef: boolean): void {
    const streams = [this.#child, this.#child.channel, this.#child.stdio[4]] as (
      { ref(): void; unref(): void } | null | undefined
    )[];
    for (const stream of streams) {
      if (isRef) stream?.ref?.();
      else stream?.unref?.();
    }
  }

  #take(reply: ScriptReply): void {
    this.#noteSign();
    if (reply.kind === 'part') {
      void this.#takePart(reply);
      return;
    }
    const waiting = this.#settled();
    if (reply.kind === 'done') waiting?.resolve();
    else waiting?.reject(new ScriptProcessError(reply.message, reply.ofScript));
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
    this.#sign = { at: performance.now(), cpuMs: cpuMs(this.#child.pid) };
  }

  #look(): void {
    if (this.#isTaking) return;
    const silentMs = performance.now() - this.#sign.at;
    const silentCpuMs = cpuMs(this.#child.pid) - this.#sign.cpuMs;
    if (silentCpuMs <= SILENT_CPU_MS_MAX && silentMs <= SILENT_MS_MAX) return;
    this.kill(new ScriptProcessError(`It ran for more than ${RUN_MS_MAX / 1000} s.`, true));
  }
}

/** Edits pages of documents by one function. */
export interface EditSession {
  /** Rejects with `ScriptProcessError`, or as `onPart` does. One page at a time. */
  edit(page: Uint8Array, onPart: TakePart): Promise<void>;
  /** Ends what is under way at once, which then rejects. */
  stop(): void;
  /** Gives the process back. */
  close(): void;
}

/** Checks that wait for the one under way; more are not made. */
const CHECKS_WAITING_MAX = 100;
/** How long a check may wait and take. */
const CHECK_MS_MAX = 10_000;

export class ScriptProcesses {
  readonly #limit: LimitProcess;
  /** At most one. */
  #idle: { process: ScriptProcess; timer: NodeJS.Timeout } | null = null;
  readonly #busy = new Set<ScriptProcess>();
  #lastCheck: Promise<unknown> = Promise.resolve();
  #checks = 0;

  constructor(limit: LimitProcess) {
    this.#limit = limit;
  }

  /**
   * Why a function does not compile. Null when it does, and when that cannot be said in time: the
   * task then fails.
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

  /** Rejects with `ScriptProcessError` when the function does not compile. */
  async open(edit: EditFunction): Promise<EditSession> {
    const process = this.#take();
    const session: EditSession = {
      edit: (page, onPart) => process.ask({ kind: 'page', page }, onPart),
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

/** Neither secrets of the server nor options of Node that were meant for it. */
function environment(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => !/^(NODE_|MEILI_|GANNET_)/.test(name));
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}

/**
 * Ticks of the clock of the kernel in which processor time is told: 100 a second on all usual
 * systems.
 */
const MS_PER_TICK = 10;

/** Processor time of a process; 0 where the system does not tell. */
function cpuMs(pid: number | undefined): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Behind the name, which may have anything in it.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
  } catch {
    return 0;
  }
}

/**
 * A thread or a process of its own, for work that may need too much memory, hang or crash. It is
 * started, answers calls, and ends: by itself, by a limit, because it is idle, or because you say
 * so. Then all calls that are open fail, and so does every later one: start another isolate.
 *
 * What is sent and how it is answered is up to you: `take` gets all messages and settles the calls.
 * An isolate that has an open call keeps this process alive; one without does not.
 *
 * A call cannot be taken back while the isolate works on it: `end` is the way to cancel it. Pools
 * of packages hide that (an abort in piscina ends the worker of other calls too), and know no
 * processes.
 */
import { type ChildProcess, fork, type ForkOptions } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type Transferable as Transfer, Worker, type WorkerOptions } from 'node:worker_threads';

/** Where an isolate runs. */
export type Host =
  | { thread: URL; options?: WorkerOptions }
  | {
      process: URL | string;
      args?: readonly string[];
      options: ForkOptions;
      /** Nice value. */
      nice?: number;
      /** Called with the number of the process when it starts. */
      limit?: (pid: number) => unknown;
    };

/** How an isolate has ended by itself. */
export interface IsolateEnd {
  /** Null: it did not say why. */
  readonly error: Error | null;
  /** The signal that ended a process, what it said last, or its status. */
  readonly cause: string;
}

export interface IsolateOptions<Out> {
  host: Host;
  take: (message: Out) => void;
  /** The error of the calls that are open when the isolate ends by itself. */
  fault: (end: IsolateEnd) => Error;
  /** Called when it has exited, after the calls that were open have failed. */
  onEnd?: () => void;
  /** Ends when no call was open for this long. Absent: it stays. */
  idleMs?: number;
}

/** Looks from time to time whether a call exceeds a limit. */
export interface Watch {
  everyMs: number;
  /**
   * @param passedMs time in which this process ran since the last look: in a pause of the whole
   *   machine an isolate is not slow
   * @returns why the isolate ends; null: it goes on
   */
  look(passedMs: number): Error | null;
}

/** A call that is open. Settling it again does nothing. */
export interface Call<T> {
  readonly result: Promise<T>;
  resolve(value: T): void;
  reject(error: Error): void;
}

/** What threads and processes have in common. */
interface Body {
  send(message: unknown, transfer: readonly Transfer[]): void;
  /** Whether it keeps this process alive. */
  hold(isHeld: boolean): void;
  kill(): void;
  /** Resolves when it has ended. */
  readonly exited: Promise<void>;
}

export class Isolate<In, Out> {
  readonly #options: IsolateOptions<Out>;
  readonly #body: Body;
  /** What fails the calls that are open. */
  readonly #open = new Set<(error: Error) => void>();
  #reason: Error | null = null;
  #idle: NodeJS.Timeout | null = null;

  constructor(options: IsolateOptions<Out>) {
    this.#options = options;
    const { host, take, fault } = options;
    const message = (received: unknown): void => {
      if (this.#reason === null) take(received as Out);
    };
    const ended = (end: IsolateEnd): void => {
      if (this.#reason === null) this.#fail(fault(end));
    };
    this.#body =
      'thread' in host ? threadOf(host, message, ended) : processOf(host, message, ended);
    void this.#body.exited.then(() => options.onEnd?.());
    this.#rest();
  }

  /** Whether all later calls fail. */
  get hasEnded(): boolean {
    return this.#reason !== null;
  }

  /** A message that follows another one is received after it. Nothing happens after the end. */
  send(message: In, transfer: readonly Transfer[] = []): void {
    if (this.#reason === null) this.#body.send(message, transfer);
  }

  /** Opens a call, before its message is sent. It has failed already if the isolate has ended. */
  open<T>(watch?: Watch): Call<T> {
    let resolve!: (value: T) => void;
    let reject!: (error: Error) => void;
    const result = new Promise<T>((...both) => ([resolve, reject] = both));
    if (this.#reason !== null) {
      reject(this.#reason);
      return { result, resolve, reject };
    }
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    this.#body.hold(true);
    const timer = watch === undefined ? undefined : this.#watch(watch);
    const close = (): void => {
      clearInterval(timer);
      if (this.#open.delete(fail) && this.#open.size === 0) this.#rest();
    };
    const fail = (error: Error): void => {
      close();
      reject(error);
    };
    const done = (value: T): void => {
      close();
      resolve(value);
    };
    this.#open.add(fail);
    return { result, resolve: done, reject: fail };
  }

  /** Fails all calls with `reason`. Resolves when the isolate has ended. */
  async end(reason: Error): Promise<void> {
    this.#fail(reason);
    this.#body.kill();
    await this.#body.exited;
  }

  #fail(reason: Error): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    for (const fail of [...this.#open]) fail(reason);
    if (this.#idle !== null) clearTimeout(this.#idle);
  }

  /** No call is open. */
  #rest(): void {
    this.#body.hold(false);
    const { idleMs } = this.#options;
    if (idleMs === undefined || this.#reason !== null) return;
    this.#idle = setTimeout(() => void this.end(new Error('it was idle')), idleMs).unref();
  }

  #watch({ everyMs, look }: Watch): NodeJS.Timeout {
    let before = performance.now();
    return setInterval(() => {
      const now = performance.now();
      const reason = look(Math.min(now - before, 2 * everyMs));
      before = now;
      if (reason !== null) void this.end(reason);
    }, everyMs).unref();
  }
}

function threadOf(
  { thread, options }: Extract<Host, { thread: URL }>,
  message: (received: unknown) => void,
  ended: (end: IsolateEnd) => void,
): Body {
  const worker = new Worker(thread, options);
  worker.on('message', message);
  worker.on('error', (error) => ended({ error, cause: error.message }));
  const exited = new Promise<void>((resolve) => {
    worker.on('exit', (status) => {
      ended({ error: null, cause: `status ${status}` });
      resolve();
    });
  });
  return {
    send: (sent, transfer) => worker.postMessage(sent, transfer),
    hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    kill: () => void worker.terminate(),
    exited,
  };
}

function processOf(
  { process: file, args = [], options, nice, limit }: Extract<Host, { options: ForkOptions }>,
  message: (received: unknown) => void,
  ended: (end: IsolateEnd) => void,
): Body {
  const child = fork(file instanceof URL ? fileURLToPath(file) : file, args, options);
  let printed = '';
  child.stderr?.on(
    'data',
    (bytes: Buffer) => (printed = (printed + bytes.toString()).slice(-4096)),
  );
  // The other ends of further pipes close with the process.
  for (const stream of child.stdio.slice(3)) stream?.on('error', () => {});
  child.on('message', message);
  child.on('error', (error) => ended({ error, cause: error.message }));
  const exited = new Promise<void>((resolve) => {
    child.on('close', (status, signal) => {
      const said = printed.trim().split('\n').at(-1);
      ended({ error: null, cause: signal ?? (said || `status ${status}`) });
      resolve();
    });
  });
  if (child.pid !== undefined) begin(child.pid, nice, limit);
  return {
    send: (sent) =>
      child.send(sent as object, (error) => {
        if (error !== null) ended({ error, cause: error.message });
      }),
    hold: (isHeld) => holdProcess(child, isHeld),
    kill: () => void child.kill('SIGKILL'),
    exited,
  };
}

function begin(pid: number, nice: number | undefined, limit?: (pid: number) => unknown): void {
  limit?.(pid);
  if (nice === undefined) return;
  try {
    setPriority(pid, nice);
  } catch {
    // The process has already ended, which is reported.
  }
}

function holdProcess(child: ChildProcess, isHeld: boolean): void {
  const handles = [child, child.channel, ...child.stdio] as (
    { ref?(): void; unref?(): void } | null | undefined
  )[];
  for (const handle of handles) {
    if (isHeld) handle?.ref?.();
    else handle?.unref?.();
  }
}

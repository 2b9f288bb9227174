/**
 * Streams of tasks and of batches as Server-Sent Events: an event for each change of a status that
 * the filter and the rights of the caller let through.
 *
 * An event is sent at least once. Its id is `T-F`: every task up to uid T has been sent as
 * registered, and everything that ended before the time F, in milliseconds, as ended. With such an
 * id a stream first sends what has happened since. This needs nothing in memory, so it works after
 * a restart and at every node of a cluster.
 *
 * The events of a stream are not made before the client can take them: only uids wait. A client
 * for which too many wait, or that takes nothing from one heartbeat to the next, is disconnected.
 */
import { setImmediate } from 'node:timers/promises';
import type { Access } from '../auth/authorize.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { jsonString } from '../base/json.ts';
import type { Result } from '../base/result.ts';
import { ApiError } from '../contract/errors.ts';
import { TASK_UID_MAX, type TaskFilter } from '../contract/tasks.ts';
import type { TaskChange } from '../store/task-store.ts';
import type { Connection, ResponseStream } from './connection.ts';
import type { TaskService } from './services.ts';

/** Open streams of the server. */
export const STREAMS_MAX = 100;
/** Uids that may wait for a client that does not read; the streams share the lists of uids. */
export const WAITING_UIDS_MAX = 100_000;
/** A heartbeat is a comment, so that no proxy takes the connection for dead. */
const HEARTBEAT_MS = 15_000;
/** Tasks looked up at a time. */
const SLICE = 100;
/** Nodes of a cluster may have clocks that differ by this. */
const CLOCK_MARGIN_MS = 1_000;

const HEADERS = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-cache'],
  ['x-accel-buffering', 'no'],
] as const;

export interface StreamRequest {
  /** The streams are shared among holders. */
  holder: string;
  kind: 'task' | 'batch';
  filter: TaskFilter;
  connection: Connection;
  requestId: string;
  /** The present rights of the caller: a key may change or end while the stream is open. */
  authorize: () => Result<Access, ApiError>;
}

export class TaskStreams {
  readonly #tasks: TaskService;
  readonly #open = new FairQueue<TaskStream>();
  #heartbeat: NodeJS.Timeout | null = null;
  #unwatch: (() => void) | null = null;

  constructor(tasks: TaskService) {
    this.#tasks = tasks;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * If all streams are in use, the holder with the most loses its latest, unless this one would
   * have as many. Throws `ApiError`.
   */
  open(request: StreamRequest): void {
    const { holder } = request;
    const since = positionOf(request.connection.headers.lastEventId);
    if (this.#open.size >= STREAMS_MAX) {
      const largest = this.#open.next((_, streams) => -streams.length)!;
      const streams = this.#open.of(largest);
      if (streams.length <= this.#open.of(holder).length + 1) {
        throw new ApiError('too_many_search_requests', `${STREAMS_MAX} streams are open already.`);
      }
      streams.at(-1)!.end();
    }
    const stream = new TaskStream(request, this.#tasks, since, () => this.#closed(holder, stream));
    this.#open.push(holder, stream);
    this.#unwatch ??= this.#tasks.watch((change) => {
      for (const one of [...this.#open]) one.push(change);
    });
    this.#heartbeat ??= setInterval(() => this.beat(), HEARTBEAT_MS).unref();
    stream.start();
  }

  /** Sends every client a heartbeat, and drops those that have taken nothing since the last. */
  beat(): void {
    for (const stream of [...this.#open]) stream.beat();
  }

  closeAll(): void {
    for (const stream of [...this.#open]) stream.end();
  }

  #closed(holder: string, stream: TaskStream): void {
    this.#open.remove(holder, stream);
    if (this.#open.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = null;
    clearInterval(this.#heartbeat ?? undefined);
    this.#heartbeat = null;
  }
}

/** See the id of an event above. */
interface Position {
  uid: number;
  endedAt: number;
}

/** Throws `ApiError`. @returns null: from now on */
function positionOf(header: string | undefined): Position | null {
  if (header === undefined || header === '') return null;
  const parts = /^(-1|\d{1,10})-(\d{1,16})$/.exec(header);
  const uid = Number(parts?.[1]);
  if (parts === null || uid > TASK_UID_MAX) {
    throw new ApiError('bad_request', 'The header `Last-Event-ID` is not the id of an event here.');
  }
  return { uid, endedAt: Number(parts[2]) };
}

class TaskStream {
  readonly #request: StreamRequest;
  readonly #tasks: TaskService;
  readonly #stream: ResponseStream;
  readonly #since: Position | null;
  readonly #onClosed: () => void;
  readonly #waiting: TaskChange[] = [];
  #waitingUids = 0;
  #position: Position;
  #isOpen = true;
  /** Resolves when the client takes data again; null: it does. */
  #blocked: Promise<void> | null = null;
  #drained: () => void = () => {};
  /** The client took nothing at the last heartbeat. */
  #isStuck = false;
  #isPumping = false;

  constructor(
    request: StreamRequest,
    tasks: TaskService,
    since: Position | null,
    onClosed: () => void,
  ) {
    this.#request = request;
    this.#tasks = tasks;
    this.#since = since;
    this.#onClosed = onClosed;
    const next = tasks.nextUids[request.kind];
    this.#position = since ?? { uid: next - 1, endedAt: Date.now() };
    const { connection, requestId } = request;
    this.#stream = connection.stream(200, [...HEADERS, ['x-request-id', requestId]]);
    this.#stream.onDrain(() => {
      this.#isStuck = false;
      this.#blocked = null;
      this.#drained();
    });
    connection.onAbort(() => this.#close());
  }

  start(): void {
    // Sends the head.
    void this.#write(':\n\n');
    void this.#pump();
  }

  push(change: TaskChange): void {
    if (this.#request.kind === 'batch' && change.batchUid === null) return;
    this.#waiting.push(change);
    this.#waitingUids += change.uids.length;
    if (this.#blocked !== null && this.#waitingUids > WAITING_UIDS_MAX) this.#drop();
    else void this.#pump();
  }

  beat(): void {
    if (!this.#request.authorize().ok) this.end();
    else if (this.#blocked === null) void this.#write(':\n\n');
    else if (this.#isStuck) this.#drop();
    else this.#isStuck = true;
  }

  end(): void {
    if (!this.#isOpen) return;
    this.#close();
    this.#stream.end();
  }

  #drop(): void {
    if (!this.#isOpen) return;
    this.#close();
    this.#stream.abort();
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#waiting.length = 0;
    this.#drained();
    this.#onClosed();
  }

  /** Sends what waits. Runs once at a time. */
  async #pump(): Promise<void> {
    if (this.#isPumping || !this.#isOpen) return;
    this.#isPumping = true;
    try {
      if (this.#position === this.#since) await this.#sendMissed(this.#since);
      for (;;) {
        const change = this.#waiting.shift();
        if (change === undefined || !this.#isOpen) break;
        this.#waitingUids -= change.uids.length;
        await this.#sendChange(change);
      }
    } catch {
      this.#drop();
    } finally {
      this.#isPumping = false;
    }
  }

  /** What has happened since an event that the client has received. */
  async #sendMissed(since: Position): Promise<void> {
    const { filter } = this.#request;
    const now = Date.now();
    const after = Math.max(since.endedAt - CLOCK_MARGIN_MS, filter.afterFinishedAt ?? 0);
    if (since.uid >= 0) {
      await this.#sendPages({ ...filter, afterFinishedAt: after }, 0, since.uid, () => since);
    }
    await this.#sendPages(filter, since.uid + 1, Infinity, (uid) => ({ ...since, uid }));
    this.#position = { uid: this.#position.uid, endedAt: now };
  }

  async #sendChange({ uids, batchUid, finishedAt }: TaskChange): Promise<void> {
    const { kind, filter } = this.#request;
    const sent = kind === 'task' ? uids : [batchUid!];
    const position = {
      uid: sent.reduce((a, b) => Math.max(a, b), this.#position.uid),
      endedAt: Math.max(this.#position.endedAt, finishedAt ?? 0),
    };
    for (let at = 0; at < sent.length && this.#isOpen; at += SLICE) {
      const slice = sent.slice(at, at + SLICE);
      const wanted = kind === 'task' ? filter.uids : filter.batchUids;
      const chosen = wanted === undefined ? slice : slice.filter((uid) => wanted.includes(uid));
      if (chosen.length === 0) continue;
      const own = kind === 'task' ? { uids: chosen } : { batchUids: chosen };
      const isLast = at + SLICE >= sent.length;
      // The position is reached with the last event, which may be sent several times.
      await this.#sendPages({ ...filter, ...own }, 0, Infinity, () =>
        isLast ? position : this.#position,
      );
    }
    this.#position = position;
  }

  /** Sends the tasks or batches that match, from a uid to another, ascending. */
  async #sendPages(
    filter: TaskFilter,
    first: number,
    last: number,
    positionAt: (uid: number) => Position,
  ): Promise<void> {
    const { kind, authorize } = this.#request;
    let from: number | null = first;
    while (from !== null && this.#isOpen) {
      const access = authorize();
      if (!access.ok) {
        this.end();
        return;
      }
      const paging = { limit: SLICE, from, reverse: true };
      const { visible } = access.value;
      const page: Page = await (kind === 'task'
        ? this.#tasks.page(filter, paging, visible)
        : this.#tasks.batchPage(filter, paging, visible));
      for (const view of page.results) {
        if (view.uid > last) return;
        const { uid, endedAt } = positionAt(view.uid);
        const id = `${uid}-${Math.floor(endedAt)}`;
        await this.#write(`id: ${id}\nevent: ${kind}\ndata: ${jsonString(view)}\n\n`);
      }
      from = page.next === null || page.next > last ? null : page.next;
      await setImmediate();
    }
  }

  /** Resolves when the client takes more. */
  async #write(text: string): Promise<void> {
    while (this.#blocked !== null && this.#isOpen) await this.#blocked;
    if (!this.#isOpen || this.#stream.write(text)) return;
    this.#blocked = new Promise((resolve) => (this.#drained = resolve));
    await this.#blocked;
  }
}

interface Page {
  results: readonly { uid: number }[];
  next: number | null;
}

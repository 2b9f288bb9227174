import { type TaskType, taskTypeEntry } from '../contract/task-types.ts';
import { FLAG, type TaskKind } from '../contract/task-types/task-type.ts';
import type { TaskRecord } from '../store/memory-table.ts';
import type { TaskStore } from '../store/task-store.ts';
import type { PendingConcurrently } from './batcher.ts';
import { kindOf, type PendingTask, pendingTask } from './task.ts';

/**
 * The waiting tasks, in the orders that the batcher needs. Only uids are kept, 8 MB for a million
 * tasks; everything else is read from the columns when needed.
 */
export class Pending implements PendingConcurrently {
  readonly #store: TaskStore;
  readonly #byType = new Map<TaskType, UidQueue>();
  readonly #byIndex = new Map<string, UidQueue>();
  /** Swaps of no indexes. */
  readonly #ofNoIndex = new UidQueue();
  /** Tasks of several indexes, and tasks of none. */
  readonly #ofSeveral = new UidQueue();
  /** See `setAside`. */
  readonly #aside = new Set<number>();
  /** Uids of the tasks that make branches. */
  readonly branchings = new Set<number>();
  #count = 0;

  constructor(store: TaskStore) {
    this.#store = store;
    this.reload();
  }

  get count(): number {
    return this.#count;
  }

  /** Reads all tasks again; needed after index uids have changed. */
  reload(): void {
    this.#byType.clear();
    this.#byIndex.clear();
    this.#ofNoIndex.clear();
    this.#ofSeveral.clear();
    this.branchings.clear();
    this.#count = 0;
    for (const uid of this.#store.enqueued()) this.add(this.#store.record(uid)!);
  }

  /** REQUIRES: the uid is greater than all uids added before. */
  add(record: TaskRecord): void {
    this.#count++;
    if (record.type === 'indexBranch') this.branchings.add(record.uid);
    for (const queue of this.#queuesOf(record)) queue.push(record.uid);
  }

  remove(uids: readonly number[]): void {
    const removed = new Set(uids);
    for (const uid of uids) this.branchings.delete(uid);
    for (const uid of uids) if (this.#aside.delete(uid)) removed.delete(uid);
    const touched = new Set<UidQueue>();
    for (const uid of removed) {
      const record = this.#store.record(uid);
      if (record !== undefined) for (const queue of this.#queuesOf(record)) touched.add(queue);
    }
    for (const queue of touched) queue.remove(removed);
    this.#count -= removed.size;
    for (const [indexUid, queue] of this.#byIndex) {
      if (queue.first() === undefined) this.#byIndex.delete(indexUid);
    }
  }

  /** Hides tasks that run detached: they no longer wait, although they have not ended. */
  setAside(uids: readonly number[]): void {
    this.remove(uids);
    for (const uid of uids) this.#aside.add(uid);
  }

  /** Makes those of the tasks that were set aside wait again. */
  putBack(uids: readonly number[]): void {
    for (const uid of uids) {
      if (!this.#aside.delete(uid)) continue;
      const record = this.#store.record(uid)!;
      this.#count++;
      for (const queue of this.#queuesOf(record)) queue.insert(uid);
    }
  }

  #queuesOf({ uid, type, indexUid, flags }: TaskRecord): UidQueue[] {
    if ('priority' in taskTypeEntry(type).batching) return [queueIn(this.#byType, type)];
    if ((flags & FLAG.linked) === 0) {
      if (indexUid === null) return [this.#ofNoIndex, this.#ofSeveral];
      return [queueIn(this.#byIndex, indexUid)];
    }
    const names = new Set(this.#store.indexesOf(uid));
    return [this.#ofSeveral, ...[...names].map((name) => queueIn(this.#byIndex, name))];
  }

  ofType(type: TaskType): readonly number[] {
    return this.#byType.get(type)?.toArray() ?? [];
  }

  indexOf(uid: number): string | null {
    return this.#store.record(uid)?.indexUid ?? null;
  }

  first(): { uid: number; indexUid: string | null } | null {
    const swap = this.#ofNoIndex.first();
    let first: { uid: number; indexUid: string | null } | null =
      swap === undefined ? null : { uid: swap, indexUid: null };
    for (const [indexUid, queue] of this.#byIndex) {
      const uid = queue.first();
      if (uid !== undefined && (first === null || uid < first.uid)) first = { uid, indexUid };
    }
    return first;
  }

  firstOfSeveral(): number {
    return this.#ofSeveral.first() ?? Infinity;
  }

  documentsFirst(): string[] {
    const found: { uid: number; indexUid: string }[] = [];
    for (const [indexUid, queue] of this.#byIndex) {
      const uid = queue.first();
      if (uid === undefined) continue;
      const { type, flags } = this.#store.record(uid)!;
      if (DOCUMENT_KINDS.has(kindOf(type, flags))) found.push({ uid, indexUid });
    }
    return found.sort((a, b) => a.uid - b.uid).map(({ indexUid }) => indexUid);
  }

  *ofIndex(indexUid: string): Generator<PendingTask> {
    for (const uid of this.#byIndex.get(indexUid)?.toArray() ?? []) {
      yield pendingTask(this.#store.record(uid)!, () => {
        const row = this.#store.row(uid);
        return row?.type === 'documentAdditionOrUpdate' ? row.primaryKey : null;
      });
    }
  }
}

const DOCUMENT_KINDS: ReadonlySet<TaskKind> = new Set<TaskKind>([
  'add',
  'deleteIds',
  'deleteFilter',
  'clear',
]);

function queueIn<K>(queues: Map<K, UidQueue>, key: K): UidQueue {
  let queue = queues.get(key);
  if (queue === undefined) queues.set(key, (queue = new UidQueue()));
  return queue;
}

/** Ascending uids, removed mostly at the front. */
class UidQueue {
  #uids: number[] = [];
  #head = 0;

  push(uid: number): void {
    this.#uids.push(uid);
  }

  /** Inserts the uid in order. */
  insert(uid: number): void {
    let at = this.#head;
    while (at < this.#uids.length && this.#uids[at]! < uid) at++;
    this.#uids.splice(at, 0, uid);
  }

  first(): number | undefined {
    return this.#uids[this.#head];
  }

  remove(removed: ReadonlySet<number>): void {
    while (this.#head < this.#uids.length && removed.has(this.#uids[this.#head]!)) this.#head++;
    const left = this.#uids.length - this.#head;
    if (left === 0 || this.#head > 1024 || removed.size > 1) {
      this.#uids = this.#uids.slice(this.#head).filter((uid) => !removed.has(uid));
      this.#head = 0;
    } else if (removed.size === 1) {
      const [uid] = removed;
      const at = this.#uids.indexOf(uid!, this.#head);
      if (at >= 0) this.#uids.splice(at, 1);
    }
  }

  toArray(): readonly number[] {
    return this.#head === 0 ? this.#uids : this.#uids.slice(this.#head);
  }

  clear(): void {
    this.#uids = [];
    this.#head = 0;
  }
}

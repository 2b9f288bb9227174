import type { MemoryTable, TaskRecord } from './memory-table.ts';
import type { PayloadFolder } from './payload-folder.ts';
import type { PayloadFile, Store, Transaction } from './store.ts';
import { TaskChunk, TASKS_PER_CHUNK } from './task-chunk.ts';
import type { TaskSweeper } from './task-sweeper.ts';

/** What a transaction on tasks needs. */
export interface TransactionContext {
  readonly store: Store;
  readonly table: MemoryTable;
  readonly payloads: PayloadFolder;
  readonly sweeper: TaskSweeper;
  /** A time later than all assigned before. */
  now(): number;
  /** Returns what else the end of a batch writes; see `TaskStore.onFinish`. */
  finished(batchUid: number): Omit<TransactionPart, 'fail'> | null;
  /** Called with each new task when it becomes visible. */
  appended(record: TaskRecord): void;
}

/** A prepared part of a transaction. Exactly one of `publish` and `fail` is called. */
export interface TransactionPart {
  /** Files that the tasks of the transaction need. */
  readonly files?: readonly PayloadFile[];
  write(tx: Transaction): void;
  /** Called when the transaction is on disk. */
  publish(): void;
  /** Called when nothing was stored. */
  fail(error: unknown): void;
}

/** Copies of the chunks that a transaction changes. They become visible only by `publish`. */
export class Stage {
  readonly #table: MemoryTable;
  readonly #edited = new Map<number, TaskChunk>();

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  /** Returns the chunk of a task for changes. */
  edit(uid: number): TaskChunk {
    const number = Math.floor(uid / TASKS_PER_CHUNK);
    let chunk = this.#edited.get(number);
    if (chunk === undefined) {
      chunk = this.#table.chunks[number]?.clone() ?? TaskChunk.empty();
      this.#edited.set(number, chunk);
    }
    return chunk;
  }

  peek(uid: number): TaskChunk | undefined {
    const number = Math.floor(uid / TASKS_PER_CHUNK);
    return this.#edited.get(number) ?? this.#table.chunks[number];
  }

  write(store: Store, tx: Transaction): void {
    for (const [number, chunk] of this.#edited) {
      if (isVoid(chunk)) tx.remove(store.chunks, number);
      else tx.put(store.chunks, number, chunk.encode());
    }
  }

  publish(): void {
    for (const [number, chunk] of this.#edited) {
      this.#table.chunks[number] = isVoid(chunk) ? undefined : chunk;
    }
  }
}

function isVoid(chunk: TaskChunk): boolean {
  return chunk.type.every((type) => type === 0);
}

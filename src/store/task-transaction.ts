import type { MemoryTable, TaskRecord } from './memory-table.ts';
import type { PayloadFolder } from './payload-folder.ts';
import type { PayloadFile, Store, Transaction } from './store.ts';
import { TaskChunk, TASKS_PER_CHUNK } from './task-chunk.ts';
import type { TaskSweeper } from './task-sweeper.ts';

/** What a transaction on tasks is made with. */
export interface TransactionContext {
  readonly store: Store;
  readonly table: MemoryTable;
  readonly payloads: PayloadFolder;
  readonly sweeper: TaskSweeper;
  /** A moment later than every one given out before. */
  now(): number;
  /** What else the end of a batch writes; see `TaskStore.onFinish`. */
  finished(batchUid: number): Omit<TransactionPart, 'fail'> | null;
  /** Told of each new task in the moment it can be seen. */
  appended(record: TaskRecord): void;
}

/** A part of a transaction, prepared. Exactly one of `publish` and `fail` is called. */
export interface TransactionPart {
  /** Files that the tasks of the transaction need. */
  readonly files?: readonly PayloadFile[];
  write(tx: Transaction): void;
  /** It is on disk. */
  publish(): void;
  /** Nothing is stored. */
  fail(error: unknown): void;
}

/** Copies of the chunks that a transaction changes. Nobody else sees them before `publish`. */
export class Stage {
  readonly #table: MemoryTable;
  readonly #edited = new Map<number, TaskChunk>();

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  /** The chunk of a task, to be changed. */
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
      this.#table.digest.changed(number);
    }
  }
}

function isVoid(chunk: TaskChunk): boolean {
  return chunk.type.every((type) => type === 0);
}

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { IndexRecord } from '../engine/registry.ts';
import { Store } from './store.ts';
import type { Table } from './table.ts';
import { FLAG } from '../contract/task-types/task-type.ts';
import {
  NONE,
  STATUS_CODES,
  STATUS_OF_CODE,
  TaskChunk,
  TASKS_PER_CHUNK,
  TYPE_OF_CODE,
} from './task-chunk.ts';
import { runsOf } from '../base/uid-runs.ts';

/** A deviation from what the server writes. */
export interface Fault {
  /** Path within the data folder. */
  file: string;
  /** The part of the file: a table, a section. */
  structure: string;
  message: string;
}

export interface StoreReport {
  faults: Fault[];
  tasks: number;
  /** Uids of the waiting tasks, as alternating first uids of runs and their lengths. */
  enqueued: number[];
  batches: number;
  indexes: [uid: string, record: IndexRecord][];
}

/** Columns of a task that its other records are compared with. */
interface Task {
  status: string;
  inFile: boolean;
  payloadBytes: number;
}

const FINISHED = new Set(['succeeded', 'failed', 'canceled']);

/**
 * Reads every record of the task store, and the folders next to it. Writes nothing.
 * REQUIRES: no process has the folder open
 */
export async function verifyStore(dir: string): Promise<StoreReport> {
  const store = new Store(join(dir, 'store'), { readOnly: true });
  try {
    return new StoreCheck(store, dir).run();
  } finally {
    await store.close();
  }
}

class StoreCheck {
  readonly #store: Store;
  readonly #dir: string;
  readonly #faults: Fault[] = [];
  readonly #names = new Set<number>();
  readonly #tasks = new Map<number, Task>();
  readonly #batchesOfTasks = new Set<number>();
  /** Uids whose rows may remain until they are swept. */
  readonly #garbage = { tasks: new Set<number>(), batches: new Set<number>() };

  constructor(store: Store, dir: string) {
    this.#store = store;
    this.#dir = dir;
  }

  run(): StoreReport {
    this.#readNames();
    this.#readMeta();
    this.#readChunks();
    this.#readRows();
    const batches = this.#readBatches();
    this.#readLong();
    this.#readPayloads();
    const indexes = this.#readIndexes();
    for (const name of this.#store.partNames()) {
      const table = this.#store.table<unknown>(name);
      this.#each(`x-${name}`, table, (key, value) => {
        if (typeof value !== 'object' || value === null)
          this.#fault(`x-${name}`, `\`${key}\` is not an object`);
      });
    }
    const waiting = [...this.#tasks].filter(([, { status }]) => status === 'enqueued');
    const enqueued = runsOf(waiting.map(([uid]) => uid).toSorted((a, b) => a - b));
    return { faults: this.#faults, tasks: this.#tasks.size, enqueued, batches, indexes };
  }

  #fault(structure: string, message: string, file = 'store/data.mdb'): void {
    this.#faults.push({ file, structure, message });
  }

  /** Reads a table. Reports one fault when it cannot be read to its end. */
  #each<V, K extends string | number>(
    name: string,
    table: Table<V, K>,
    check: (key: K, value: V) => void,
  ): void {
    // A store that is opened read-only does not create missing tables.
    if (table.isMissing) {
      if (!name.startsWith('x-')) this.#fault(name, 'the table is missing');
      return;
    }
    let last: K | undefined;
    try {
      for (const { key, value } of table.getRange()) {
        last = key;
        check(key, value);
      }
    } catch (error) {
      const where = last === undefined ? 'at its beginning' : `after \`${last}\``;
      this.#fault(name, `it cannot be read ${where}: ${(error as Error).message}`);
    }
  }

  #readNames(): void {
    const seen = new Set<string>();
    this.#each('indexNames', this.#store.indexNames, (number, name) => {
      this.#names.add(number);
      if (typeof name !== 'string' || name === '' || seen.has(name)) {
        this.#fault('indexNames', `number ${number} has no name of its own`);
      }
      seen.add(name);
    });
  }

  #readMeta(): void {
    this.#each('meta', this.#store.meta, (key, value) => {
      if (key === 'nextBatchUid') {
        if (!Number.isSafeInteger(value)) this.#fault('meta', '`nextBatchUid` is not a number');
      } else if (key === 'garbage') {
        const { tasks, batches } = value as { tasks: number[]; batches: number[] };
        for (const uid of inRuns(tasks)) this.#garbage.tasks.add(uid);
        for (const uid of inRuns(batches)) this.#garbage.batches.add(uid);
      } else if (key === 'cluster') {
        const { id, applied } = value as { id: string; applied: number };
        if (typeof id !== 'string' || !Number.isSafeInteger(applied)) {
          this.#fault('meta', '`cluster` is not a position in a log');
        }
      } else this.#fault('meta', `the unknown key \`${key}\``);
    });
  }

  #readChunks(): void {
    this.#each('chunks', this.#store.chunks, (number, bytes) => {
      const chunk = TaskChunk.decode(bytes);
      for (let i = 0; i < TASKS_PER_CHUNK; i++) {
        if (chunk.type[i] === 0) continue;
        const uid = number * TASKS_PER_CHUNK + i;
        const status = STATUS_OF_CODE[chunk.status[i]!];
        if (TYPE_OF_CODE[chunk.type[i]!] === undefined || status === undefined) {
          this.#fault('chunks', `task ${uid} has an unknown type or status`);
          continue;
        }
        if (chunk.status[i] === STATUS_CODES.processing) {
          this.#fault('chunks', `task ${uid} is stored as processing`);
        }
        const index = chunk.index[i]!;
        if (index !== NONE && !this.#names.has(index)) {
          this.#fault('chunks', `task ${uid} belongs to the unknown index number ${index}`);
        }
        const finished = FINISHED.has(status);
        if (
          finished !== (chunk.batchUid[i] !== NONE) ||
          finished === Number.isNaN(chunk.finishedAt[i])
        ) {
          this.#fault('chunks', `task ${uid} is ${status}, but its batch or dates say otherwise`);
        }
        if (Number.isNaN(chunk.enqueuedAt[i])) this.#fault('chunks', `task ${uid} has no date`);
        if (finished) this.#batchesOfTasks.add(chunk.batchUid[i]!);
        this.#tasks.set(uid, {
          status,
          inFile: (chunk.flags[i]! & FLAG.payloadFile) !== 0,
          payloadBytes: chunk.payloadBytes[i]!,
        });
      }
    });
  }

  #readRows(): void {
    const without = new Set(this.#tasks.keys());
    this.#each('tasks', this.#store.tasks, (uid, row) => {
      without.delete(uid);
      if (TYPE_OF_CODE.includes(row.type) && (this.#tasks.has(uid) || this.#garbage.tasks.has(uid)))
        return;
      this.#fault('tasks', `task ${uid} is of an unknown type, or not in its chunk`);
    });
    for (const uid of without) this.#fault('tasks', `task ${uid} has no row`);
    this.#each('outcomes', this.#store.outcomes, (uid, outcome) => {
      const status = this.#tasks.get(uid)?.status;
      const isKnown = status === undefined ? this.#garbage.tasks.has(uid) : FINISHED.has(status);
      if (!isKnown || typeof outcome !== 'object') {
        this.#fault('outcomes', `task ${uid} has an outcome but has not ended`);
      }
    });
  }

  #readBatches(): number {
    let count = 0;
    const without = new Set(this.#batchesOfTasks);
    this.#each('batches', this.#store.batches, (uid, row) => {
      count++;
      without.delete(uid);
      if (!(row.startedAt <= row.finishedAt)) this.#fault('batches', `batch ${uid} has no dates`);
      if (!this.#batchesOfTasks.has(uid) && !this.#garbage.batches.has(uid)) {
        this.#fault('batches', `batch ${uid} has no tasks`);
      }
    });
    for (const uid of without) this.#fault('batches', `batch ${uid} has tasks but no row`);
    return count;
  }

  #readLong(): void {
    this.#each('long', this.#store.long, (key, bytes) => {
      const [table, uid] = key.split('/');
      const { tasks, batches } = this.#store;
      const owner = table === 'tasks' ? tasks : table === 'batches' ? batches : null;
      if (owner === null || owner.sizeOf(Number(uid)) === 0 || !isJson(bytes))
        this.#fault('long', `\`${key}\` is not a value of a stored task or batch`);
    });
  }

  #readPayloads(): void {
    const stored = new Map<number, number>();
    this.#each('payloads', this.#store.payloads, (uid, bytes) => stored.set(uid, bytes.length));
    for (const [uid, task] of this.#tasks) {
      if (task.status !== 'enqueued' || task.payloadBytes === 0) continue;
      const file = `payloads/${uid}`;
      const size = task.inFile
        ? statSync(join(this.#dir, file), { throwIfNoEntry: false })?.size
        : stored.get(uid);
      if (size !== undefined && Math.min(size, NONE) === task.payloadBytes) continue;
      const found = size === undefined ? 'is missing' : `has ${size} bytes`;
      const message = `the payload of task ${uid} ${found}; ${task.payloadBytes} were stored`;
      this.#fault('payloads', message, task.inFile ? file : undefined);
    }
  }

  #readIndexes(): [string, IndexRecord][] {
    const records: [string, IndexRecord][] = [];
    const uuids = new Set<string>();
    const folders = new Set(readdirSync(join(this.#dir, 'indexes')));
    // A start would remove these folders, so it refuses.
    if (this.#store.isEmpty() && folders.size > 0)
      this.#fault('indexes', 'it holds nothing, but there are folders of indexes');
    this.#each('indexes', this.#store.indexes, (uid, record) => {
      records.push([uid, record]);
      if (uuids.has(record.uuid))
        this.#fault('indexes', `\`${uid}\` and another index share a folder`);
      uuids.add(record.uuid);
      if (!folders.has(record.uuid)) {
        this.#fault(
          'folder',
          `the folder of the index \`${uid}\` is missing`,
          `indexes/${record.uuid}`,
        );
      }
    });
    return records;
  }
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}

function* inRuns(runs: readonly number[]): Generator<number> {
  for (let r = 0; r < runs.length; r += 2) {
    for (let n = 0; n < runs[r + 1]!; n++) yield runs[r]! + n;
  }
}

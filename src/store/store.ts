import {
  closeSync,
  openSync,
  readSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { open, type Database, type RootDatabase } from 'lmdb';
import { makeFolder } from '../base/make-folder.ts';
import { decodeDelta, encodeDelta, type Write } from '../cluster/delta.ts';
import { NoLeaderError } from '../cluster/errors.ts';
import { loadAddon } from '../engine/addon.ts';
import type { IndexRecord } from '../engine/registry.ts';
import type { TaskRow } from '../contract/task-types.ts';
import { DataFolderError } from './data-folder.ts';
import { type Encoding, type PreparedWrite, Table } from './table.ts';
import type { BatchRow, TaskOutcome } from './task-row.ts';

/** Name of the LMDB file in the folder of a store. */
export const STORE_FILE = 'data.mdb';

/**
 * This table has the form of the store: values carry checksums, and long values are stored
 * separately; see `Table`.
 */
const SUMS_TABLE = 'sums';
const SUMS_KEY = 'form';
const SUMS_FORM = '2';

/** Key in `meta` of the position of the data in the log of its cluster. */
const CLUSTER_KEY = 'cluster';

export interface ClusterState {
  /** Id of the cluster. */
  id: string;
  /** Sequence of the last applied record. */
  applied: number;
}

/** The file of a payload, which belongs to the task with this uid. */
export interface PayloadFile {
  readonly uid: number;
  readonly path: string;
}

/** Receives the commits of the store in a cluster. */
export interface StoreLog {
  /**
   * Resolves once `Store.applyRecord` has applied the record. Rejects when it never will be
   * applied, or when that is unknown.
   * @param build called once all earlier records are applied
   */
  commit(files: readonly PayloadFile[], build: () => Buffer): Promise<void>;
}

/** Changed keys by table. */
export type ChangedKeys = ReadonlyMap<string, readonly (string | number)[]>;

/** The keys of a table that a record has changed. */
export function keysOf<K extends string | number>(
  changed: ChangedKeys,
  { name }: Table<never, K> | Table<unknown, K>,
): readonly K[] {
  return (changed.get(name) ?? []) as readonly K[];
}

export type ForeignListener = (changed: ChangedKeys) => void;

/** Prefix of tables of other parts of the server. */
const PART_PREFIX = 'x-';

/**
 * All durable data except indexes, in one LMDB environment. So the end of a batch and its changes
 * to the list of indexes are one transaction.
 *
 * Invariants: a commit that has resolved is on disk, and one that has rejected has changed nothing.
 * Commits are applied in the order of the calls.
 *
 * The whole file is checked before LMDB opens it, and each value carries a checksum. So a damaged
 * file or record is refused, and neither ends the process. The lock file of LMDB is created again
 * each time: the lock of the data folder is what separates processes.
 */
export class Store {
  readonly #root: RootDatabase<Buffer, string>;
  readonly #open = new Map<string, Table<never, never>>();
  readonly #dir: string;
  #log: StoreLog | null = null;
  /** The commit that is a record at present. `changed` is set once it is applied. */
  #own: { delta: Buffer | null; changed: ChangedKeys | null } | null = null;
  readonly #listeners: ForeignListener[] = [];
  /** Number of records of other nodes. */
  #foreign = 0;
  #cluster: ClusterState | null = null;
  /** Task uid -> the request; written once, except for its outcome on other servers. */
  readonly tasks: Table<TaskRow, number>;
  /** Task uid -> properties of a finished task that are not in its columns: error, texts. */
  readonly outcomes: Table<TaskOutcome, number>;
  /** Long values of other tables, see `Table`: table, key and path -> JSON. */
  readonly long: Table<Buffer, string>;
  /** Chunk number -> columns of 256 tasks, see `task-chunk.ts`. */
  readonly chunks: Table<Buffer, number>;
  readonly batches: Table<BatchRow, number>;
  /** Task uid -> small payload; not needed once the task is finished. */
  readonly payloads: Table<Buffer, number>;
  /**
   * Number of an index uid in the columns -> the uid. Never removed, because the history may refer
   * to it.
   */
  readonly indexNames: Table<string, number>;
  /** Index uid -> its folder and summary. */
  readonly indexes: Table<IndexRecord, string>;
  readonly meta: Table<unknown, string>;

  /**
   * Throws `DataFolderError` when the file is damaged.
   * @param mode size of the address space (the file grows as needed), or `readOnly`
   */
  constructor(dir: string, mode: number | { readOnly: true }) {
    checkFile(dir, typeof mode !== 'number');
    this.#dir = dir;
    try {
      this.#root = open<Buffer, string>({
        path: dir,
        encoding: 'binary',
        ...(typeof mode === 'number' ? { mapSize: mode } : mode),
        maxDbs: 64,
        // A commit then resolves after the sync, and the file is always in the format of plain
        // LMDB.
        overlappingSync: false,
        // Commits are explicit batches. If a commit of an implicit batch failed, it would leave a
        // rejected promise that nobody can handle.
        eventTurnBatching: false,
      });
      this.long = this.#table<Buffer, string>('long', 'binary');
      this.tasks = this.#table<TaskRow, number>('tasks', 'json', 'uint32', this.long);
      this.outcomes = this.#table<TaskOutcome, number>('outcomes', 'json', 'uint32');
      this.chunks = this.#table<Buffer, number>('chunks', 'binary', 'uint32');
      this.batches = this.#table<BatchRow, number>('batches', 'json', 'uint32', this.long);
      this.payloads = this.#table<Buffer, number>('payloads', 'binary', 'uint32');
      this.indexNames = this.#table<string, number>('indexNames', 'string', 'uint32');
      this.indexes = this.#table<IndexRecord, string>('indexes', 'json');
      this.meta = this.#table<unknown, string>('meta', 'json');
      this.#checkForm(typeof mode === 'number');
    } catch (error) {
      throw systemErrorOf(error, dir);
    }
  }

  /** A table of JSON values for another part of the server, such as its keys. */
  table<V>(name: string): Table<V, string> {
    return this.#table<V, string>(`${PART_PREFIX}${name}`, 'json');
  }

  /** A table of another part, for `Records`. */
  records<V>(name: string) {
    const table = this.table<V>(name);
    return {
      get: (key: string) => table.get(key),
      entries: () => table.getRange(),
      onForeign: (listener: (keys: readonly string[]) => void) =>
        this.onForeign((changed) => {
          const keys = keysOf(changed, table);
          if (keys.length > 0) listener(keys);
        }),
      put: (transaction: Transaction, key: string, value: V) => transaction.put(table, key, value),
      remove: (transaction: Transaction, key: string) => transaction.remove(table, key),
      commit: (write: (transaction: Transaction) => void) => this.commit(write),
    };
  }

  /** The names of the tables of other parts that exist. */
  partNames(): string[] {
    return [...this.#root.getKeys()]
      .filter((name) => name.startsWith(PART_PREFIX))
      .map((name) => name.slice(PART_PREFIX.length));
  }

  #table<V, K extends string | number>(
    name: string,
    encoding: Encoding,
    keyEncoding?: 'uint32',
    long: Table<Buffer, string> | null = null,
  ): Table<V, K> {
    const known = this.#open.get(name);
    if (known !== undefined) return known as unknown as Table<V, K>;
    const database: Database<Buffer, K> = this.#root.openDB<Buffer, K>({
      name,
      encoding: 'binary',
      ...(keyEncoding === undefined ? {} : { keyEncoding }),
    });
    const table = new Table<V, K>(name, database, encoding, keyEncoding, long);
    this.#open.set(name, table as unknown as Table<never, never>);
    return table;
  }

  /** Throws `DataFolderError` unless the store has our form, or is new: then it gets it. */
  #checkForm(writes: boolean): void {
    const sums = this.#table<Buffer, string>(SUMS_TABLE, 'binary');
    const form = sums.isMissing ? undefined : sums.get(SUMS_KEY)?.toString();
    if (form === SUMS_FORM) return;
    if (form !== undefined) {
      throw new DataFolderError(`The store was written by another version: it has form ${form}.`);
    }
    const tables = [...this.#open.values(), ...this.partNames().map((name) => this.table(name))];
    if (tables.some((table) => !table.isMissing && table.getCount() > 0)) {
      throw new DataFolderError('The store is damaged: it has lost a table.');
    }
    if (!writes) return;
    this.#root.transactionSync(() => sums.putSync(SUMS_KEY, Buffer.from(SUMS_FORM)));
  }

  /**
   * Commits everything that `write` puts and removes as one transaction. Resolves once it is on
   * disk.
   * REQUIRES: `write` does not read what it has written, and neither awaits nor throws
   * @param files payloads that tasks of the transaction refer to; a cluster stores them with it
   */
  async commit(
    write: (transaction: Transaction) => void,
    files: readonly PayloadFile[] = [],
  ): Promise<void> {
    if (this.#log !== null) return this.#commitByLog(this.#log, write, files);
    await this.#batch(() => write(new Transaction()));
  }

  async #batch(write: () => void): Promise<void> {
    try {
      await this.#root.batch(write);
    } catch (error) {
      throw await causeOf(error, this.#dir);
    }
  }

  // --- Records of a cluster ----------------------------------------------------------------------

  /** From now on, every commit first becomes a record, which `log` passes to `applyRecord`. */
  useLog(log: StoreLog): void {
    this.#log = log;
  }

  /** Calls `listener` after each record of another node, with the keys that it has changed. */
  onForeign(listener: ForeignListener): void {
    this.#listeners.push(listener);
  }

  async #commitByLog(
    log: StoreLog,
    write: (transaction: Transaction) => void,
    files: readonly PayloadFile[],
  ): Promise<void> {
    const writes: Write[] = [];
    write(new Transaction(writes));
    const seen = this.#foreign;
    const own = { delta: null as Buffer | null, changed: null as ChangedKeys | null };
    try {
      await log.commit(files, () => {
        // The commit was computed from data that another leader has changed since.
        if (this.#foreign !== seen) throw new NoLeaderError('Another node has led meanwhile');
        own.delta = encodeDelta(this.#asPatches(writes));
        this.#own = own;
        return own.delta;
      });
    } catch (error) {
      // If not set, another leader's record with the same bytes was applied.
      if (own.changed !== null) this.#tell(own.changed);
      throw error;
    } finally {
      if (this.#own === own) this.#own = null;
    }
  }

  /**
   * The writes of a record that is to follow those applied here. A patch changes what is stored, so
   * a key that the record has written before is not patched.
   */
  #asPatches(writes: readonly Write[]): Write[] {
    const seen = new Set<string>();
    this.#root.resetReadTxn();
    return writes.map((write) => {
      if (write.kind === 'clear') return write;
      const name = `${write.table}/${write.key.toString('latin1')}`;
      if (seen.has(name)) return write;
      seen.add(name);
      return this.#tableNamed(write.table)!.asPatch(write);
    });
  }

  /** Whether a record is that of the commit under way. */
  isOwn(delta: Buffer): boolean {
    return this.#own?.delta?.equals(delta) === true;
  }

  /**
   * Applies a record: makes it durable, then visible. Throws `DamagedError`, or the error of a
   * damaged value; nothing has changed then.
   */
  async applyRecord(state: ClusterState, delta: Buffer): Promise<void> {
    const own = this.isOwn(delta) ? this.#own : null;
    this.#root.resetReadTxn();
    const writes = decodeDelta(delta, (name) => this.#tableNamed(name) !== null).map((write) => {
      const table = this.#tableNamed(write.table)!;
      return { table, prepared: table.prepared(write) };
    });
    await this.#batch(() => {
      const transaction = new Transaction();
      for (const { table, prepared } of writes) transaction.apply(table, prepared);
      transaction.put(this.meta, CLUSTER_KEY, state);
    });
    this.#cluster = state;
    const changed = new Map<string, (string | number)[]>();
    for (const { table, prepared } of writes) {
      const keys = changed.get(table.name) ?? [];
      changed.set(table.name, keys);
      keys.push(prepared.key);
    }
    if (own !== null) own.changed = changed;
    else this.#tell(changed);
  }

  #tell(changed: ChangedKeys): void {
    this.#foreign++;
    for (const listener of this.#listeners) listener(changed);
  }

  /** The position of this data in the log of its cluster; null: it belongs to none. */
  get cluster(): ClusterState | null {
    return (this.#cluster ??= (this.meta.get(CLUSTER_KEY) as ClusterState | undefined) ?? null);
  }

  /** Makes the data that of no cluster, durably. */
  async leaveCluster(): Promise<void> {
    await this.#batch(() => new Transaction().remove(this.meta, CLUSTER_KEY));
    this.#cluster = null;
  }

  /** Durable once resolved. */
  async setCluster(state: ClusterState): Promise<void> {
    await this.#batch(() => new Transaction().put(this.meta, CLUSTER_KEY, state));
    this.#cluster = state;
  }

  #tableNamed(name: string): Table<unknown, string | number> | null {
    const known = this.#open.get(name) as unknown as Table<unknown, string | number> | undefined;
    if (known !== undefined) return known;
    if (!name.startsWith(PART_PREFIX)) return null;
    return this.#table<unknown, string | number>(name, 'json');
  }

  /** Whether nothing was ever stored: a new store, or one whose file was lost. */
  isEmpty(): boolean {
    const tables = [this.tasks, this.indexes, this.meta];
    return tables.every((table) => table.isMissing || table.getCount() === 0);
  }

  /** Size of the file, and of the pages that hold live data, in bytes. */
  size(): { diskBytes: number; usedBytes: number } {
    let pages = 2;
    let pageSize = 4096;
    for (const table of this.#open.values()) {
      const stats = table.getStats() as TableStats;
      pageSize = stats.pageSize;
      pages += stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages;
    }
    const { lastPageNumber } = this.#root.getStats() as { lastPageNumber: number };
    const diskBytes = (lastPageNumber + 1) * pageSize;
    return { diskBytes, usedBytes: Math.min(diskBytes, pages * pageSize) };
  }

  /**
   * Writes the last committed state to a store in another folder, which is created. Does not sync.
   */
  async copyTo(dir: string): Promise<void> {
    makeFolder(dir);
    try {
      await this.#root.backup(dir, true);
    } catch (error) {
      throw systemErrorOf(error, dir);
    }
  }

  async close(): Promise<void> {
    await this.#root.close();
  }
}

/** The part of a lock file that is used: its header, and dozens of readers. */
const LOCK_BYTES = 4096;

/**
 * Makes the folder of a store, with a new lock file, unless it is only read.
 *
 * Throws `DataFolderError` when the file of a store is damaged, or when its lock file cannot be
 * recreated.
 */
export function checkFile(dir: string, readOnly: boolean): void {
  const file = join(dir, STORE_FILE);
  const lock = join(dir, 'lock.mdb');
  const isThere = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const damage = isThere ? loadAddon().checkDatabase(file) : null;
  if (damage !== null) throw new DataFolderError(damage);
  // LMDB would refuse it, and lmdb-js does not survive that.
  if (isThere && !hasFormatOfStores(file)) {
    throw new DataFolderError(`The file ${file} is the database of an index, not of a store`);
  }
  if (readOnly) return;
  makeFolder(dir);
  try {
    rmSync(lock, { force: true });
    // LMDB writes to it through memory: where the disk is full, that would end the process.
    writeFileSync(lock, Buffer.alloc(LOCK_BYTES), { mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOSPC' || code === 'EDQUOT') throw error;
    throw new DataFolderError(`The file ${lock} cannot be replaced: ${(error as Error).message}`);
  }
}

/**
 * Whether a valid LMDB file has data format 2, which lmdb-js writes; the engine writes format 1.
 */
function hasFormatOfStores(file: string): boolean {
  const begin = Buffer.alloc(32);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, begin);
  } finally {
    closeSync(descriptor);
  }
  // After the page header, which is longer than in format 1.
  return begin.readUInt32LE(24) === 0xbeefc0de && begin.readUInt32LE(28) === 2;
}

/** The writes of one commit. */
export class Transaction {
  readonly #record: Write[] | null;
  #seen: Promise<boolean> | null = null;

  /** @param record collects the writes, which then do not reach the database */
  constructor(record: Write[] | null = null) {
    this.#record = record;
  }

  put<V, K extends string | number>(table: Table<V, K>, key: K, value: V): void {
    if (this.#record !== null) this.#record.push(...table.putWrites(key, value));
    else this.#watch(table.put(key, value));
  }

  remove<V, K extends string | number>(table: Table<V, K>, key: K): void {
    if (this.#record !== null) this.#record.push(...table.removeWrites(key));
    else this.#watch(table.remove(key));
  }

  apply<V, K extends string | number>(table: Table<V, K>, write: PreparedWrite<K>): void {
    this.#watch(table.apply(write));
  }

  /** The commit reports a failure. The writes share one promise whose rejection must be handled. */
  #watch(written: Promise<boolean>): void {
    if (written === this.#seen) return;
    this.#seen = written;
    written.catch(() => {});
  }
}

/** Error numbers of the operating system in errors of the store. */
const SYSTEM_ERRORS: Readonly<Record<number, string>> = { 5: 'EIO', 28: 'ENOSPC', 122: 'EDQUOT' };
const SYSTEM_MESSAGES: Readonly<Record<string, string>> = {
  'Input/output error': 'EIO',
  'No space left on device': 'ENOSPC',
  'Disk quota exceeded': 'EDQUOT',
};

/**
 * lmdb-js reports the cause of a failed commit shortly after the failure. Wait at most this long,
 * ms.
 */
const CAUSE_WAIT_MS = 1000;

/** Space, in bytes, in which a commit may not fit. */
const LITTLE_SPACE = 4 * 2 ** 20;

/**
 * The error of the operating system for one of LMDB. A write that the disk takes in part is `EIO`
 * for LMDB: if the disk is nearly full, that is the reason.
 */
function systemErrorOf(error: unknown, dir: string): unknown {
  const { code, message } = error as { code?: unknown; message?: string };
  // The copy of a database fails with a message alone.
  let name = typeof code === 'number' ? SYSTEM_ERRORS[code] : SYSTEM_MESSAGES[message ?? ''];
  if (name === undefined) return error;
  if (name === 'EIO') {
    const { bavail, bsize } = statfsSync(dir);
    if (bavail * bsize < LITTLE_SPACE) name = 'ENOSPC';
  }
  return Object.assign(new Error(message), { code: name });
}

/**
 * Why a commit failed: the rejection itself, or the error of the operating system that caused it.
 * @param dir the folder of the store
 */
export async function causeOf(error: unknown, dir: string): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<never> };
  if (commitError === undefined) return error;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((done) => (timer = setTimeout(done, CAUSE_WAIT_MS, error)));
  const cause = await Promise.race([commitError.catch((reason: unknown) => reason), late]);
  clearTimeout(timer);
  return systemErrorOf(cause, dir);
}

interface TableStats {
  pageSize: number;
  treeBranchPageCount: number;
  treeLeafPageCount: number;
  overflowPages: number;
}

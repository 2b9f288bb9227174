import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { link, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath } from '../base/sync-folder.ts';
import { ByteWriter } from '../cluster/bytes.ts';
import { decodeDelta, encodeDelta } from '../cluster/delta.ts';
import type { BlobSource } from '../cluster/blobs/blobs.ts';
import { DamagedError, RefusedError, UnavailableError } from '../cluster/errors.ts';
import type { CommitRecord, Epoch, FileRef, Sequence } from '../cluster/record.ts';
import type { LocalCheckpoint, LocalFile, Replica } from '../cluster/replica.ts';
import { isDamage } from '../engine/errors.ts';
import type { IndexRegistry } from '../engine/registry.ts';
import { keysOf, type Store, STORE_FILE } from '../store/store.ts';
import type { TaskStore } from '../store/task-store.ts';
import { digestOf, fileSource, sourceOf, writeDurably } from './local-files.ts';

export const STORE = 'store';
/** The engine's database, in the folder of an index. */
const INDEX_FILE = 'index.mdb';
const INDEX = /^index\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const SEGMENT = /^[1-9][0-9]*$/;
const PAYLOAD = /^payload-(0|[1-9][0-9]*)$/;

export const databaseOf = (uuid: string): string => `index/${uuid}`;
export const payloadName = (uid: number): string => `payload-${uid}`;

export interface ReplicaParts {
  readonly store: Store;
  readonly taskStore: TaskStore;
  readonly registry: IndexRegistry;
  readonly indexDir: string;
  /** Files that were fetched for records which are not applied yet. */
  readonly incomingDir: string;
  /** Holds the files of a checkpoint while it is written. */
  readonly checkpointDir: string;
  /** The log no longer holds what this node lacks. */
  readonly onTooFarBehind: () => void;
  /** A database is damaged: the node cannot go on with it. */
  readonly onDatabaseDamaged: (database: string) => void;
  /** Resolves once this node has stopped all work of a leader. */
  readonly notLeading: () => Promise<void>;
}

/**
 * The store and the indexes of this server as a cluster sees them.
 *
 * `applied` is stored with each record of the store, and after each record of an index. The index
 * stores it too, so a record that is repeated after a crash in between changes nothing.
 *
 * Fetched files wait in a separate folder: in the folder of an index, a file that no record names
 * yet would be removed.
 */
export class ServerReplica implements Replica {
  readonly #parts: ReplicaParts;
  /** Files whose content this process has written or read, with their checksums in hexadecimal. */
  readonly #known = new Map<string, string>();
  /** Checksums of files of records: a checkpoint names those that still count. */
  readonly #sums = new Map<string, Buffer>();
  /** Commits of indexes that this node makes: their deltas, by database. */
  readonly #own = new Map<string, Buffer>();
  /** Epoch of the last record. 0: none was applied since the start. */
  #epoch: Epoch = 0;
  /** Folders of indexes that records of this epoch name. */
  readonly #touched = new Set<string>();
  /** Whether indexes of earlier epochs may be left that never got a uid. */
  #hasOrphans = false;

  constructor(parts: ReplicaParts) {
    this.#parts = parts;
    // A process that was killed may have left incomplete files, and copies of a checkpoint.
    for (const dir of [parts.incomingDir, parts.checkpointDir]) {
      rmSync(dir, { recursive: true, force: true });
    }
    const { store, registry } = parts;
    store.onForeign((changed) => {
      const uids = keysOf(changed, store.indexes);
      const records = new Map(uids.map((uid) => [uid, store.indexes.get(uid)]));
      void registry.reload(records).catch(() => {});
    });
  }

  /** Epoch of the last record that this process has applied. */
  get epoch(): Epoch {
    return this.#epoch;
  }

  get applied(): Sequence {
    return this.#parts.store.cluster?.applied ?? 0;
  }

  get cluster(): string | null {
    return this.#parts.store.cluster?.id ?? null;
  }

  get isEmpty(): boolean {
    return this.applied === 0 && this.#parts.store.isEmpty();
  }

  async adopt(cluster: string, applied: 0 | 1): Promise<void> {
    await this.#parts.store.setCluster({ id: cluster, applied });
  }

  /** This process has made a file that it is about to commit. */
  know(database: string, file: FileRef): void {
    this.#known.set(fileKey(database, file.name), file.sha256.toString('hex'));
  }

  /** The next record of an index with this delta is this node's own. */
  expectOwn(database: string, delta: Buffer): void {
    this.#own.set(database, delta);
  }

  forgetOwn(database: string): void {
    this.#own.delete(database);
  }

  /**
   * Whether an index has a uid or may get one. If it was deleted, other nodes have erased its
   * files, and a commit of a merge that was under way could be applied nowhere.
   */
  isLive(uuid: string): boolean {
    const { store, registry } = this.#parts;
    const uid = registry.uidOf(uuid);
    if (uid === null) return registry.isUnnamed(uuid);
    // The registry lags behind the store for a moment.
    if (store.indexes.get(uid)?.uuid === uuid) return true;
    return [...store.indexes.getRange()].some(({ value }) => value.uuid === uuid);
  }

  async hasFile(database: string, file: FileRef): Promise<boolean> {
    const paths = [this.#incoming(database, file), this.fileOf(database, file)].filter((path) =>
      existsSync(path),
    );
    const known = this.#known.get(fileKey(database, file.name));
    if (known !== undefined && paths.length > 0) return known === file.sha256.toString('hex');
    for (const path of paths) {
      const { size, sum } = await digestOf(path);
      if (size === file.size && sum.equals(file.sha256)) return true;
    }
    return false;
  }

  /** Where a file of a record is kept. */
  fileOf(database: string, { name }: FileRef): string {
    const { indexDir, taskStore } = this.#parts;
    checkName(database, name);
    if (database !== STORE) return join(indexDir, uuidOf(database), 'segments', name);
    return taskStore.payloadFile(Number(PAYLOAD.exec(name)![1]));
  }

  async sourceOf(database: string, file: FileRef): Promise<BlobSource | null> {
    // Each node has databases of its own.
    if ([STORE_FILE, INDEX_FILE].includes(file.name)) return null;
    const path = this.fileOf(database, file);
    const source = existsSync(path) ? await fileSource(path) : null;
    return source?.sha256.equals(file.sha256) === true ? source : null;
  }

  async writeFile(
    database: string,
    file: FileRef,
    content: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    await writeDurably(this.#incoming(database, file), content);
    this.know(database, file);
  }

  async apply(record: CommitRecord): Promise<void> {
    if (record.epoch !== this.#epoch) {
      this.#hasOrphans = this.#epoch !== 0;
      this.#epoch = record.epoch;
      this.#touched.clear();
    }
    if (record.database === STORE) await this.#demandWhole(() => this.#applyToStore(record));
    else await this.#applyToIndex(record);
    for (const { name, sha256 } of record.files) {
      this.#known.delete(fileKey(record.database, name));
      this.#sums.set(fileKey(record.database, name), sha256);
    }
  }

  /** Ends the node when a record changes a value that is damaged here. */
  async #demandWhole(apply: () => Promise<void>): Promise<void> {
    try {
      await apply();
    } catch (error) {
      if (isDamage(error)) this.#parts.onDatabaseDamaged(STORE);
      throw error;
    }
  }

  async #applyToStore(record: CommitRecord): Promise<void> {
    const { store, taskStore, notLeading } = this.#parts;
    const state = { id: this.cluster!, applied: record.sequence };
    if (store.isOwn(record.delta)) {
      await store.applyRecord(state, record.delta);
      return;
    }
    await notLeading();
    // A leader gives a uid only to an index that it has made itself.
    if (this.#hasOrphans) void this.#parts.registry.sweepUnnamed(this.#touched).catch(() => {});
    this.#hasOrphans = false;
    await taskStore.exclusively(async () => {
      await this.#takeIn(record);
      await store.applyRecord(state, record.delta);
    });
  }

  async #applyToIndex(record: CommitRecord): Promise<void> {
    const { store, registry } = this.#parts;
    const uuid = uuidOf(record.database);
    this.#touched.add(uuid);
    const origin = branchedFrom(record.delta);
    if (origin !== null) {
      // Earlier records are applied: the origin has the same content on each node.
      await registry.copy(origin, uuid);
      const prefix = fileKey(databaseOf(origin), '');
      for (const [key, sum] of [...this.#sums]) {
        if (!key.startsWith(prefix)) continue;
        this.#sums.set(fileKey(record.database, key.slice(prefix.length)), sum);
      }
      await store.setCluster({ id: this.cluster!, applied: record.sequence });
      return;
    }
    const entry = registry.byUuid(uuid);
    const isOwn = this.#own.get(record.database)?.equals(record.delta) === true;
    const { handle } = entry;
    if (!isOwn) await this.#takeIn(record);
    await handle.applyRecord(this.cluster!, record.sequence, record.delta);
    if (!isOwn) entry.refresh();
    await store.setCluster({ id: this.cluster!, applied: record.sequence });
  }

  /**
   * Moves fetched files to their final paths. Throws `UnavailableError` when one is missing: a
   * commit of this node that was refused has removed a file with the name and content of one that
   * the record names, so it was not fetched.
   */
  async #takeIn({ database, files }: Pick<CommitRecord, 'database' | 'files'>): Promise<void> {
    const folders = new Set<string>();
    for (const file of files) {
      const from = this.#incoming(database, file);
      const to = this.fileOf(database, file);
      if (!existsSync(from)) {
        if (existsSync(to)) continue;
        throw new UnavailableError(`The file ${file.name} of ${database} has to be fetched again`);
      }
      const folder = join(to, '..');
      mkdirSync(folder, { recursive: true });
      renameSync(from, to);
      folders.add(folder);
    }
    for (const folder of folders) await syncPath(folder);
  }

  /** Moves fetched files to the place of those that were damaged. */
  async replace(database: string, files: readonly FileRef[]): Promise<void> {
    await this.#takeIn({ database, files });
    for (const { name } of files) this.#known.delete(fileKey(database, name));
  }

  /**
   * Segments and payloads get hard links, because they may be removed while they are uploaded.
   */
  async checkpoint(): Promise<LocalCheckpoint> {
    const { store, taskStore, registry, checkpointDir } = this.#parts;
    const release = (): Promise<void> => rm(checkpointDir, { recursive: true, force: true });
    await release();
    try {
      const files: LocalFile[] = [];
      const add = (database: string, name: string, path: string, kind: 'file' | 'copy'): void => {
        const source = (): Promise<BlobSource> =>
          kind === 'copy' ? fileSource(path) : this.#source(database, name, path);
        files.push({ database, name, kind, source });
      };
      const storeDir = join(checkpointDir, STORE);
      await store.copyTo(storeDir);
      add(STORE, STORE_FILE, join(storeDir, STORE_FILE), 'copy');
      for (const uid of taskStore.enqueued()) {
        const payload = taskStore.payloadFile(uid);
        if (!existsSync(payload)) continue;
        const held = join(storeDir, payloadName(uid));
        await link(payload, held);
        add(STORE, payloadName(uid), held, 'file');
      }
      const uuids = new Set([...store.indexes.getRange()].map(({ value }) => value.uuid));
      // A later record may give a uid to an index whose records come before the checkpoint.
      for (const { uuid } of registry.unnamed()) uuids.add(uuid);
      for (const uuid of uuids) {
        const dir = join(checkpointDir, uuid);
        await registry.byUuid(uuid).handle.copyTo(dir);
        add(databaseOf(uuid), INDEX_FILE, join(dir, INDEX_FILE), 'copy');
        for (const name of await readdir(join(dir, 'segments'))) {
          add(databaseOf(uuid), name, join(dir, 'segments', name), 'file');
        }
      }
      return { files, release };
    } catch (error) {
      await release();
      throw error;
    }
  }

  async #source(database: string, name: string, path: string): Promise<BlobSource> {
    const key = fileKey(database, name);
    let sum = this.#sums.get(key);
    if (sum === undefined) {
      sum = (await digestOf(path)).sum;
      this.#sums.set(key, sum);
    }
    return sourceOf(path, (await stat(path)).size, sum);
  }

  /** Databases that are open cannot be replaced. */
  prepareInstall(): never {
    this.#parts.onTooFarBehind();
    throw new RefusedError('This node is further behind than the log reaches: start it again');
  }

  async install(): Promise<never> {
    return this.prepareInstall();
  }

  #incoming(database: string, { name }: FileRef): string {
    return join(this.#parts.incomingDir, pathOf(database, name));
  }
}

/** The only table of a delta that makes a branch; its value is the folder of the origin. */
const BRANCH_TABLE = 'branch';
const BRANCH_HEAD = new ByteWriter().number(1).text(BRANCH_TABLE).done();

/** The delta of a new index with the content that the index in the folder `origin` has then. */
export function branchDelta(origin: string): Buffer {
  const value = Buffer.from(origin);
  return encodeDelta([{ kind: 'put', table: BRANCH_TABLE, key: Buffer.alloc(0), value }]);
}

/** null: the delta makes no branch. */
function branchedFrom(delta: Buffer): string | null {
  if (!delta.subarray(0, BRANCH_HEAD.length).equals(BRANCH_HEAD)) return null;
  const [write] = decodeDelta(delta, (table) => table === BRANCH_TABLE);
  if (write?.kind !== 'put') throw new DamagedError('A branch without an origin');
  return uuidOf(databaseOf(write.value.toString()));
}

/** Refuses names that the server does not give, because names become paths. */
function checkName(database: string, name: string): void {
  if (!(database === STORE ? PAYLOAD : SEGMENT).test(name)) {
    throw new DamagedError(`A record of ${database} names the file ${JSON.stringify(name)}`);
  }
}

/** The path of a fetched file, relative to the folder of such files. */
function pathOf(database: string, name: string): string {
  checkName(database, name);
  return join(database === STORE ? STORE : uuidOf(database), name);
}

/** The path of a file of a checkpoint, relative to a data folder. */
export function checkpointPath(database: string, name: string): string {
  if (database === STORE && name === STORE_FILE) return join('store', name);
  if (database !== STORE && name === INDEX_FILE) return join('indexes', uuidOf(database), name);
  checkName(database, name);
  if (database === STORE) return join('payloads', PAYLOAD.exec(name)![1]!);
  return join('indexes', uuidOf(database), 'segments', name);
}

export function uuidOf(database: string): string {
  const uuid = INDEX.exec(database)?.[1];
  if (uuid === undefined) throw new DamagedError(`There is no database ${database}`);
  return uuid;
}

function fileKey(database: string, name: string): string {
  return `${database}\n${name}`;
}

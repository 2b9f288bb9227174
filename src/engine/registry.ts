import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { rfc3339 } from '../base/clock.ts';
import { compareUtf8 } from '../base/json.ts';
import { openFilesMax } from '../base/machine.ts';
import { syncPath, syncTree } from '../base/sync-folder.ts';
import { ApiError } from '../contract/errors.ts';
import { embedsLater } from '../contract/embedders/sources.ts';
import { completeSettings, type SettingsObject } from '../contract/settings.ts';
import { isDamage } from './errors.ts';
import { IndexHandle } from './handle.ts';
import type { IndexState, NativeAddon } from './native.ts';
import type { SearchedIndex, SearchedIndexes } from './searched-index.ts';
import type { SharedHandles } from './shared-handles.ts';

/**
 * Indexes kept open; beyond that, the least recently used one is closed. Bounds mapped memory and
 * open files; fewer where the process may have few files open.
 */
export const OPEN_INDEXES_MAX = 256;

/** Maximum number of files of an open index while nothing is written. */
const INDEX_FILES = 4;

/** Files left for everything else: connections, stores, the files of a batch. */
const OTHER_FILES = 128;

/** @param files maximum for the process, at least 256 */
export function openIndexesMax(files: number): number {
  return Math.min(OPEN_INDEXES_MAX, Math.floor((files - OTHER_FILES) / INDEX_FILES));
}

/**
 * This many stay open however long they are idle: a server with few indexes never waits for one.
 */
export const RESTING_INDEXES_MAX = 32;

/** An index idle for this long is at rest. */
export const REST_MS = 60_000;

export interface OpenLimits {
  open: number;
  resting: number;
  /** Milliseconds of a steady clock. */
  now: () => number;
}

/** What the store knows about an index: enough for every list and statistic without opening it. */
export interface IndexRecord {
  /** Name of its folder. */
  uuid: string;
  /** RFC 3339. */
  createdAt: string;
  summary: IndexSummary;
}

export interface IndexSummary {
  primaryKey: string | null;
  /** RFC 3339. */
  updatedAt: string;
  numberOfDocuments: number;
  rawDocumentDbSize: number;
  diskBytes: number;
  usedBytes: number;
  numberOfEmbeddings: number;
  numberOfEmbeddedDocuments: number;
  fieldDistribution: Record<string, number>;
  /** See `IndexState`. */
  firstExpiry?: number;
  /** It has embedders in the mode `background`. */
  embedsLater?: true;
}

/** Gets every change of the registry at once. */
export interface RegistryWatcher {
  /** A uid stands for the index of a folder from now on; null: for none. */
  named(uid: string, entry: IndexEntry | null): void;
  /** An index was opened or closed, or its state is another. */
  changed(entry: IndexEntry): void;
}

/**
 * An index and its state. It does not include the uid, which can change while the content moves.
 */
export class IndexEntry implements SearchedIndex {
  readonly uuid: string;
  createdAt: string;
  summary: IndexSummary;
  /** A batch of the index is running. */
  isIndexing = false;
  /** The index is not on disk yet. */
  isNew = false;
  readonly #registry: IndexRegistry;
  #handle: IndexHandle | null = null;
  #discarded = false;
  #suspended = false;
  #settings: SettingsObject | null = null;
  #stored: ReturnType<IndexHandle['settings']> = null;
  /** Where other threads find the handle; null: nowhere. */
  #slot: number | null = null;

  constructor(registry: IndexRegistry, record: IndexRecord) {
    this.#registry = registry;
    this.uuid = record.uuid;
    this.createdAt = record.createdAt;
    this.summary = record.summary;
  }

  get record(): IndexRecord {
    return { uuid: this.uuid, createdAt: this.createdAt, summary: this.summary };
  }

  /** Opens the index when needed. Throws `ApiError`. */
  get handle(): IndexHandle {
    if (this.#discarded) throw new ApiError('index_not_found', 'The index was deleted meanwhile.');
    if (this.#suspended) {
      const message = 'The index is damaged on this node, which fetches it again.';
      throw new ApiError('cluster_unavailable', message);
    }
    const handle = this.#handle ?? this.#open();
    handle.lastUse = this.#registry.now();
    return handle;
  }

  /** Bytes on disk by kind of data, for people: `main`, which changes in place, and `segments`. */
  partSizes(): Record<string, number> {
    return this.#registry.partSizes(this);
  }

  get openHandle(): IndexHandle | null {
    return this.#handle;
  }

  get slot(): number | null {
    return this.#slot;
  }

  /** The settings if they were read already. */
  get knownSettings(): SettingsObject | null {
    return this.#settings;
  }

  #open(): IndexHandle {
    this.#handle = this.#registry.open(this);
    this.offer();
    this.#registry.changed(this);
    return this.#handle;
  }

  /** Lets other threads use the open index. Returns its slot; null: they cannot use it. */
  offer(): number | null {
    if (this.#slot !== null || this.#handle === null) return this.#slot;
    this.#slot = this.#registry.shared?.offer(this.#handle.number) ?? null;
    if (this.#slot !== null) this.#registry.changed(this);
    return this.#slot;
  }

  /** The complete settings; parsed once per change. Shared: do not modify. */
  get settings(): SettingsObject {
    return this.#settings ?? this.#readSettings();
  }

  /** The settings as stored, with `embedderStates`; null when they were never set. */
  get storedSettings(): Readonly<Record<string, unknown>> | null {
    if (this.#settings === null) this.#readSettings();
    return this.#stored;
  }

  #readSettings(): SettingsObject {
    this.#stored = this.handle.settings();
    this.#settings = completeSettings(this.#stored as Partial<SettingsObject> | null);
    this.#registry.changed(this);
    return this.#settings;
  }

  /**
   * Takes over the state that the engine has committed. Call after each batch.
   * @param withSettings the batch may have changed the settings
   */
  refresh(withSettings = true): IndexState {
    const state = this.handle.state();
    let hasLater = this.summary.embedsLater === true;
    if (withSettings) {
      const embedders = Object.values(this.#readSettings().embedders);
      hasLater = embedders.some(embedsLater);
    }
    this.summary = summaryOf(state, this.createdAt);
    if (hasLater) this.summary.embedsLater = true;
    this.#registry.changed(this);
    return state;
  }

  /** Closes it permanently: the index cannot be opened again. */
  discard(): Promise<void> {
    this.#discarded = true;
    return this.close();
  }

  /** Closes it, and lets nobody open it until `resume`. */
  suspend(): Promise<void> {
    this.#suspended = true;
    return this.close();
  }

  resume(): void {
    this.#suspended = false;
  }

  /** Whether the index may be closed: no other thread uses it, and none will. */
  withdraw(): boolean {
    const { shared } = this.#registry;
    if (this.#slot === null || shared === null) return true;
    if (!shared.withdraw(this.#slot)) return false;
    this.#slot = null;
    return true;
  }

  /** Takes into account that other threads have used the index. */
  noteUse(): void {
    const { shared } = this.#registry;
    if (this.#slot === null || this.#handle === null || shared === null) return;
    if (shared.takeTouched(this.#slot)) this.#handle.lastUse = this.#registry.now();
  }

  /** Resolves once the files are closed. */
  async close(): Promise<void> {
    const handle = this.#handle;
    if (this.#slot !== null) this.#registry.shared?.remove(this.#slot);
    this.#slot = null;
    this.#handle = null;
    if (handle === null) return;
    this.#registry.changed(this);
    await handle.close();
  }
}

/**
 * The indexes by uid. Only the end of a batch changes it, after the store has committed the same
 * change. Exception: unlisted indexes, which the store does not know.
 */
export class IndexRegistry implements SearchedIndexes {
  readonly #native: NativeAddon;
  readonly #dir: string;
  readonly #entries = new Map<string, IndexEntry>();
  readonly #unlisted = new Set<string>();
  /** Without a uid: of a batch that has not ended, or known by records of a cluster only. */
  readonly #unnamed = new Set<IndexEntry>();
  readonly #open = new Set<IndexEntry>();
  /** Folders of indexes that could not be opened because they are damaged. */
  readonly #unreadable = new Set<string>();
  #sorted: [string, IndexEntry][] | null = null;
  #aliases: (alias: string) => string | undefined = () => undefined;
  readonly #limits: OpenLimits;
  #watcher: RegistryWatcher | null = null;
  /** The handles that other threads use; null: there are no such threads. */
  shared: SharedHandles | null = null;

  /** @param dir folder that holds one folder per index, named by its uuid */
  constructor(
    native: NativeAddon,
    dir: string,
    records: Iterable<readonly [uid: string, record: IndexRecord]>,
    limits: Partial<OpenLimits> = {},
  ) {
    this.#native = native;
    this.#dir = dir;
    this.#limits = {
      open: openIndexesMax(openFilesMax()),
      resting: RESTING_INDEXES_MAX,
      now: () => performance.now(),
      ...limits,
    };
    for (const [uid, record] of records) this.#entries.set(uid, new IndexEntry(this, record));
  }

  /** Tells `watcher` every index now, and every change from now on. One watcher. */
  watch(watcher: RegistryWatcher): void {
    this.#watcher = watcher;
    for (const [uid, entry] of this.#entries) watcher.named(uid, entry);
  }

  /** For `IndexEntry` only. */
  changed(entry: IndexEntry): void {
    this.#watcher?.changed(entry);
  }

  get native(): NativeAddon {
    return this.#native;
  }

  /** The index with that uid, or the one that the alias stands for. */
  get(name: string): IndexEntry | undefined {
    const entry = this.#entries.get(name);
    if (entry !== undefined) return entry;
    const target = this.#aliases(name);
    return target === undefined ? undefined : this.#entries.get(target);
  }

  /** Whether there is an index with that uid. Aliases do not count. */
  has(uid: string): boolean {
    return this.#entries.has(uid);
  }

  /** The uid that an alias stands for, whether there is such an index or not. */
  targetOf(alias: string): string | undefined {
    return this.#entries.has(alias) ? undefined : this.#aliases(alias);
  }

  /** @param targetOf returns the uid that an alias stands for */
  useAliases(targetOf: (alias: string) => string | undefined): void {
    this.#aliases = targetOf;
  }

  /** Ascending uid. */
  list(): readonly (readonly [uid: string, entry: IndexEntry])[] {
    this.#sorted ??= [...this.#entries]
      .filter(([uid]) => !this.#unlisted.has(uid))
      .sort(([a], [b]) => compareUtf8(a, b));
    return this.#sorted;
  }

  /**
   * A new, empty, open index. It has no uid until `apply`, and its folder is not found after a
   * crash.
   */
  create(createdAt: string): IndexEntry {
    const entry = new IndexEntry(this, newRecord(randomUUID(), createdAt));
    entry.isNew = true;
    this.#unnamed.add(entry);
    mkdirSync(this.#dirOf(entry.uuid), { recursive: true });
    entry.refresh();
    return entry;
  }

  /**
   * A new open index with the content of another, whose files it shares. Otherwise like `create`.
   */
  async branch(origin: IndexEntry, createdAt: string): Promise<IndexEntry> {
    const uuid = randomUUID();
    await this.makeBranch(origin.uuid, uuid);
    const entry = this.byUuid(uuid);
    entry.createdAt = createdAt;
    entry.refresh();
    return entry;
  }

  /** In a cluster, makes every node call `copy`. */
  makeBranch = (from: string, to: string): Promise<void> => this.copy(from, to);

  /**
   * Makes the folder of an index from that of another, durably: all or nothing. Does nothing when
   * it exists.
   */
  async copy(from: string, to: string): Promise<void> {
    const dir = this.#dirOf(to);
    if (existsSync(dir)) return;
    const stage = `${dir}.new`;
    await rm(stage, { recursive: true, force: true });
    try {
      await this.byUuid(from).handle.copyTo(stage);
      await syncTree(stage);
      await rename(stage, dir);
    } catch (error) {
      await rm(stage, { recursive: true, force: true });
      throw error;
    }
    await syncPath(this.#dir);
    this.byUuid(to);
  }

  /** Bytes of the files of these indexes that are counted for each of them but exist once. */
  async sharedBytes(uids: Iterable<string>): Promise<number> {
    const seen = new Set<string>();
    let bytes = 0;
    for (const uid of uids) {
      const entry = this.#entries.get(uid);
      const dir = entry === undefined ? null : join(this.#dirOf(entry.uuid), 'segments');
      for (const name of dir === null ? [] : namesIn(dir)) {
        const file = await stat(join(dir!, name)).catch(() => null);
        if (file === null || file.nlink === 1) continue;
        const id = `${file.dev}:${file.ino}`;
        if (seen.has(id)) bytes += file.size;
        seen.add(id);
      }
    }
    return bytes;
  }

  /**
   * Assigns entries to uids; null frees a uid. Entries without a uid afterwards are erased by
   * `discard`.
   */
  apply(changes: ReadonlyMap<string, IndexEntry | null>): void {
    for (const [uid, entry] of changes) {
      if (entry === null) this.#entries.delete(uid);
      else {
        this.#entries.set(uid, entry);
        this.#unnamed.delete(entry);
      }
      this.#watcher?.named(uid, entry);
    }
    this.#sorted = null;
  }

  /** Lets requests find an index that appears in no list and is not found after a restart. */
  publishUnlisted(uid: string, entry: IndexEntry): void {
    this.#unlisted.add(uid);
    this.apply(new Map([[uid, entry]]));
  }

  /** Reverts `publishUnlisted`. Discard the entry afterwards. */
  withdrawUnlisted(uid: string): void {
    this.apply(new Map([[uid, null]]));
    this.#unlisted.delete(uid);
  }

  /** Opens the index of a folder for another thread, which is counted in. Throws `ApiError`. */
  openFor(folder: string): { handle: number; slot: number } {
    const uid = this.uidOf(folder);
    if (uid === null) throw new ApiError('index_not_found', 'The index was deleted meanwhile.');
    const entry = this.#entries.get(uid)!;
    const { number: handle } = entry.handle;
    void entry.settings;
    const slot = entry.offer();
    if (slot !== null && this.shared?.enter(slot, handle) === true) return { handle, slot };
    throw new ApiError('internal', `The index \`${uid}\` cannot be shared: too many are open.`);
  }

  // --- Records of a cluster ----------------------------------------------------------------------

  /** The uid of the index in a folder; null: it has none. */
  uidOf(uuid: string): string | null {
    for (const [uid, entry] of this.#entries) if (entry.uuid === uuid) return uid;
    return null;
  }

  isUnnamed(uuid: string): boolean {
    for (const entry of this.#unnamed) if (entry.uuid === uuid) return true;
    return false;
  }

  /**
   * The index of a folder, as records name it: also one that has no uid yet, and whose folder does
   * not exist yet.
   */
  byUuid(uuid: string): IndexEntry {
    for (const entry of [...this.#entries.values(), ...this.#unnamed]) {
      if (entry.uuid === uuid) return entry;
    }
    const entry = new IndexEntry(this, newRecord(uuid, rfc3339(0)));
    this.#unnamed.add(entry);
    this.#ensureFolder(entry);
    return entry;
  }

  /**
   * Takes over what another node has recorded. Resolves once the folders of indexes that no uid has
   * any more are erased.
   * @param changes by uid; undefined: removed
   */
  async reload(changes: ReadonlyMap<string, IndexRecord | undefined>): Promise<void> {
    const left = new Set<IndexEntry>();
    const next = new Map<string, IndexEntry | null>();
    for (const [uid, record] of changes) {
      const before = this.#entries.get(uid);
      if (before !== undefined) left.add(before);
      next.set(uid, record === undefined ? null : this.#entryOf(record));
    }
    this.apply(next);
    const named = new Set(this.#entries.values());
    for (const entry of left) if (!named.has(entry)) await this.discard(entry);
  }

  #entryOf(record: IndexRecord): IndexEntry {
    const entry = this.byUuid(record.uuid);
    entry.createdAt = record.createdAt;
    entry.summary = record.summary;
    this.changed(entry);
    return entry;
  }

  #ensureFolder(entry: IndexEntry): void {
    const dir = this.#dirOf(entry.uuid);
    entry.isNew = !existsSync(join(dir, 'index.mdb'));
    mkdirSync(dir, { recursive: true });
  }

  /** Closes an index and erases its folder. */
  async discard(entry: IndexEntry): Promise<void> {
    this.#open.delete(entry);
    this.#unnamed.delete(entry);
    await entry.discard();
    await rm(this.#dirOf(entry.uuid), { recursive: true, force: true });
  }

  /** Indexes without a uid. */
  unnamed(): readonly IndexEntry[] {
    return [...this.#unnamed];
  }

  /**
   * Erases the indexes without a uid, except those of the folders in `keep`, and folders that no
   * index has. Those of this call are forgotten at once.
   */
  async sweepUnnamed(keep: ReadonlySet<string>): Promise<void> {
    const entries = this.unnamed().filter(({ uuid }) => !keep.has(uuid));
    for (const entry of entries) this.#unnamed.delete(entry);
    const known = new Set([...this.#entries.values(), ...this.#unnamed].map(({ uuid }) => uuid));
    const folders = namesIn(this.#dir).filter((name) => !known.has(name) && !keep.has(name));
    for (const entry of entries) await this.discard(entry);
    for (const name of folders) await rm(this.#dirOf(name), { recursive: true, force: true });
  }

  /** Erases the folders that no index of the store names. Call once, at start. */
  sweep(): void {
    const named = new Set([...this.#entries.values()].map(({ uuid }) => uuid));
    for (const name of readdirSync(this.#dir)) {
      if (!named.has(name)) rmSync(this.#dirOf(name), { recursive: true, force: true });
    }
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open].map((entry) => this.#close(entry)));
  }

  /** See `IndexEntry.partSizes`. */
  partSizes({ uuid }: IndexEntry): Record<string, number> {
    const folder = this.#dirOf(uuid);
    const segments = join(folder, 'segments');
    const sizes = { main: bytesOf(join(folder, 'index.mdb')), segments: 0 };
    for (const name of namesIn(segments)) sizes.segments += bytesOf(join(segments, name));
    return sizes;
  }

  /** For `IndexEntry` only. */
  open(entry: IndexEntry): IndexHandle {
    while (this.#open.size >= this.#limits.open && this.#closeOldest()) {
      // Several, if more were open because all were in use.
    }
    const handle = this.#handleOf(entry);
    try {
      if (!entry.isNew) checkAgainst(entry, handle.state());
      handle.sweep();
    } catch (error) {
      void handle.close();
      throw error;
    }
    entry.isNew = false;
    this.#open.add(entry);
    return handle;
  }

  #handleOf({ uuid, isNew }: IndexEntry): IndexHandle {
    try {
      return new IndexHandle(this.#native, this.#dirOf(uuid), isNew);
    } catch (error) {
      if (isDamage(error)) this.#unreadable.add(uuid);
      throw error;
    }
  }

  /** For `IndexEntry` only. */
  now(): number {
    return this.#limits.now();
  }

  /** Closes indexes at rest, beyond those that may stay open. Call it regularly. */
  closeResting(): void {
    const since = this.#limits.now() - REST_MS;
    for (const entry of this.#open) entry.noteUse();
    const byUse = [...this.#open].sort((a, b) => lastUse(b) - lastUse(a));
    for (const entry of byUse.slice(this.#limits.resting)) {
      if (lastUse(entry) > since || isInUse(entry) || entry.openHandle!.isMerging()) continue;
      if (entry.withdraw()) void this.#close(entry);
    }
  }

  /** Bytes of the segments that are merged next, of all indexes: one that is closed has none. */
  mergeDebt(): number {
    let bytes = 0;
    for (const { openHandle } of this.#open) bytes += openHandle?.mergeDebt() ?? 0;
    return bytes;
  }

  /** Merges the smallest segments of indexes that do not change. Call it every few seconds. */
  mergeAtRest(): void {
    for (const { openHandle } of this.#open) openHandle?.mergeAtRest();
  }

  /** Why merges have failed since the last call, by the folder of the index. */
  takeMergeFaults(): { uuid: string; fault: string }[] {
    return [...this.#open].flatMap(({ uuid, openHandle }) => {
      const fault = openHandle?.takeMergeFault() ?? null;
      return fault === null ? [] : [{ uuid, fault }];
    });
  }

  /**
   * The folders of indexes in which reads have found damage since they were opened, or that could
   * not be opened because of it since the last call.
   */
  takeDamaged(): string[] {
    const open = [...this.#open].filter(({ openHandle }) => openHandle?.isDamaged() === true);
    const damaged = [...open.map(({ uuid }) => uuid), ...this.#unreadable];
    this.#unreadable.clear();
    return damaged;
  }

  /** Closes an index whose files are damaged: requests get 503 until it is resumed. */
  suspend(entry: IndexEntry): Promise<void> {
    this.#open.delete(entry);
    return entry.suspend();
  }

  /**
   * Closes the least recently used one of those not in use, if possible one that is not merging.
   */
  #closeOldest(): boolean {
    for (const entry of this.#open) entry.noteUse();
    const closable = [...this.#open]
      .filter((entry) => !isInUse(entry))
      .sort((a, b) => lastUse(a) - lastUse(b));
    const isMerging = ({ openHandle }: IndexEntry): boolean => openHandle?.isMerging() === true;
    const closed =
      closable.find((entry) => !isMerging(entry) && entry.withdraw()) ??
      closable.find((entry) => entry.withdraw());
    if (closed === undefined) return false;
    void this.#close(closed);
    return true;
  }

  #close(entry: IndexEntry): Promise<void> {
    this.#open.delete(entry);
    return entry.close();
  }

  #dirOf(uuid: string): string {
    return join(this.#dir, uuid);
  }
}

/**
 * Throws `ApiError` when the index is older than the one that the store knows, as after a restore
 * of its folder alone. It may be newer, by a batch that a crash has kept the store from recording.
 */
function checkAgainst({ uuid, createdAt, summary }: IndexEntry, state: IndexState): void {
  const [found, expected] = [state.updatedAt ?? createdAt, summary.updatedAt];
  const isSame =
    Date.parse(found) === Date.parse(expected) &&
    state.numberOfDocuments === summary.numberOfDocuments;
  if (isSame || isLater(found, expected)) return;
  throw new ApiError(
    'invalid_store_file',
    `The index in the folder ${uuid} is not the one of the store: it has ${state.numberOfDocuments} documents of ` +
      `${state.updatedAt ?? createdAt}, and the store knows ${summary.numberOfDocuments} of ${summary.updatedAt}.`,
  );
}

/**
 * Compares dates to the microsecond: while the clock of a leader is behind that of the one before,
 * its batches are microseconds apart.
 */
function isLater(date: string, other: string): boolean {
  const difference = Date.parse(date) - Date.parse(other);
  return difference > 0 || (difference === 0 && date > other);
}

function newRecord(uuid: string, createdAt: string): IndexRecord {
  const none = { numberOfDocuments: 0, numberOfEmbeddings: 0, numberOfEmbeddedDocuments: 0 };
  const bytes = { rawDocumentDbSize: 0, diskBytes: 0, usedBytes: 0 };
  const summary = { primaryKey: null, updatedAt: createdAt, ...none, ...bytes };
  return { uuid, createdAt, summary: { ...summary, fieldDistribution: {} } };
}

function lastUse({ openHandle }: IndexEntry): number {
  return openHandle?.lastUse ?? 0;
}

function isInUse({ openHandle, isIndexing }: IndexEntry): boolean {
  return isIndexing || (openHandle !== null && openHandle.busy > 0);
}

function summaryOf(state: IndexState, createdAt: string): IndexSummary {
  return {
    primaryKey: state.primaryKey,
    updatedAt: state.updatedAt ?? createdAt,
    numberOfDocuments: state.numberOfDocuments,
    rawDocumentDbSize: state.rawDocumentDbSize,
    diskBytes: state.diskBytes,
    usedBytes: state.usedBytes,
    numberOfEmbeddings: state.numberOfEmbeddings,
    numberOfEmbeddedDocuments: state.numberOfEmbeddedDocuments,
    fieldDistribution: state.fieldDistribution,
    ...(state.firstExpiry !== undefined && { firstExpiry: state.firstExpiry }),
  };
}

/** 0 for a file that does not exist. */
function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

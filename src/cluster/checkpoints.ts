/**
 * Checkpoints. The leader writes them; a node that cannot follow the log from its position installs
 * one.
 *
 * Invariant: an object that a kept checkpoint or an entry after the newest one names is never
 * removed.
 */
import { isDeepStrictEqual } from 'node:util';
import { ConcurrencyLimit } from '../outbound/concurrency-limit.ts';
import { bufferSource, type BlobName, type Blobs } from './blobs/blobs.ts';
import { sha256 } from './bytes.ts';
import {
  blobsOf,
  type Checkpoint,
  type CheckpointDatabase,
  encodeCheckpoint,
} from './checkpoint.ts';
import { DamagedError, NoLeaderError, UnavailableError } from './errors.ts';
import type { CheckpointRef, Log, LogSettings } from './log/log.ts';
import {
  blobsOfEntry,
  type CommitRecord,
  decodeBody,
  type Entry,
  type Epoch,
  type FileRef,
  recordOf,
  type RecordRef,
  type Sequence,
} from './record.ts';
import {
  ARCHIVE,
  CHECKPOINTS,
  encodeArchive,
  FILES,
  firstOf,
  lastOf,
  loadCheckpoint,
  loadIfWhole,
  unlessDamaged,
} from './objects.ts';
import type { LocalCheckpoint, LocalFile, Replica } from './replica.ts';
import type { Runtime } from './runtime.ts';
import { epochOf, hex, type Transfers } from './transfers.ts';

const READ_ENTRIES = 64;
const RETRY_MS = 500;
/** Bytes of entries before the newest checkpoint that are kept for nodes that are behind. */
const HELD_BYTES_MAX = 64 * 1024 * 1024;
/** Maximum number of files that a checkpoint reads and stores at a time. */
const FILES_AT_A_TIME = 4;

export interface CheckpointParts {
  readonly log: Log;
  readonly blobs: Blobs;
  readonly replica: Replica;
  readonly transfers: Transfers;
  readonly runtime: Runtime;
  readonly retentionMs: number;
  readonly formatMax: number;
  readonly signal: AbortSignal;
  /** Whether the object store is that of this cluster. Throws the error of the store. */
  readonly isOwnStore: () => Promise<boolean>;
  /** Lets the leader keep the entries after a checkpoint that is about to be installed here. */
  readonly keep?: (sequence: Sequence) => Promise<void>;
  readonly heldBytesMax?: number | undefined;
}

export class Checkpoints {
  readonly #parts: CheckpointParts;
  #written = 0;
  /** Bytes of the copies of databases in the last checkpoint that this node has written. */
  copiedBytes = 0;

  constructor(parts: CheckpointParts) {
    this.#parts = parts;
  }

  /**
   * Brings the replica to the newest checkpoint. Throws when there is none, or when it cannot be
   * read completely.
   */
  async install(): Promise<void> {
    const { replica, transfers } = this.#parts;
    const ref = await this.#keepNewest();
    if (ref.sequence <= replica.applied) return;
    replica.prepareInstall();
    const checkpoint = await loadCheckpoint(this.#parts.blobs, ref.blob);
    for (const { name, copies, files } of checkpoint.databases) {
      await transfers.fetchFiles(name, [...copies, ...files]);
    }
    await replica.install(checkpoint);
  }

  /** @returns the newest checkpoint, after which the log is kept if this node starts */
  async #keepNewest(): Promise<CheckpointRef> {
    const { log, keep } = this.#parts;
    for (;;) {
      const { checkpoint } = (await log.state()).settings;
      if (checkpoint === null) throw new UnavailableError('The cluster has no checkpoint yet');
      await keep?.(checkpoint.sequence);
      const { floor } = (await log.state()).settings;
      if (checkpoint.sequence + 1 >= floor) return checkpoint;
    }
  }

  /**
   * Writes a checkpoint of the present state, trims the log, and removes objects that are no longer
   * needed.
   * @param lost objects that no node can read, and this one cannot store again. The checkpoint does
   *   not name them, and the log begins after the entries that do
   */
  async write(
    epoch: Epoch,
    exclusive: <T>(task: () => Promise<T>) => Promise<T>,
    lost: ReadonlySet<BlobName> = new Set(),
  ): Promise<void> {
    const { log, replica, transfers } = this.#parts;
    const { sequence, local } = await exclusive(async () => ({
      sequence: replica.applied,
      local: await replica.checkpoint(),
    }));
    const uploaded: BlobName[] = [];
    let isNamed = false;
    try {
      const { settings } = await log.state();
      const newest = settings.checkpoint?.sequence ?? 0;
      if (settings.checkpoint !== null && newest >= sequence && lost.size === 0) return;
      const { before, entries, named, known } = await this.#stored(
        settings,
        sequence,
        lost,
        lost.size > 0,
      );
      const databases = await this.#databases(local, known, epoch, uploaded);
      if (entries.length > 0) await this.#archive(entries, epoch);
      // A checkpoint of the same sequence is replaced.
      const { passed } = entries.length === 0 ? (before ?? known) : known;
      const at = named.at(-1)?.at ?? this.#parts.runtime.now();
      isNamed = true;
      const blob = await this.#store({ sequence, epoch, at, databases, passed }, epoch);
      for (let isSet = false; !isSet;) {
        const { floor, seen } = await this.#floorOf(settings, newest);
        const after = {
          ...settings,
          checkpoint: { sequence, blob },
          floor: Math.max(floor, known.lastLost + 1),
        };
        isSet = await this.replaceSettings(settings, after, epoch, seen);
      }
      isNamed = false;
      transfers.settle(uploaded);
      const copies = databases.flatMap((database) => database.copies);
      this.copiedBytes = copies.reduce((sum, { size }) => sum + size, 0);
      await this.#collectGarbage(epoch, newest);
    } finally {
      // If it is not known whether the checkpoint is in the settings, it may still name them.
      if (!isNamed) transfers.settle(uploaded);
      await local.release();
    }
  }

  /**
   * Where the log is to begin after a new checkpoint: after the one before, or where a node is that
   * starts or is behind, unless that is too far back. A node before it can no longer follow.
   * @param newest sequence of the checkpoint before
   */
  async #floorOf(
    { floor }: LogSettings,
    newest: Sequence,
  ): Promise<{ floor: Sequence; seen: number }> {
    const { log, heldBytesMax = HELD_BYTES_MAX } = this.#parts;
    const { running, starting, revision: seen } = await log.members();
    const behind = running.filter(({ isFit }) => !isFit).map(({ applied }) => applied);
    const positions = [...behind, ...starting.values()];
    const needed = Math.min(newest, ...positions.filter((position) => position + 1 >= floor)) + 1;
    const sizes: number[] = [];
    while (needed + sizes.length <= newest) {
      const entries = await log.read(needed + sizes.length, READ_ENTRIES);
      sizes.push(...entries.map(({ body }) => body.length));
    }
    let bytes = 0;
    let from = newest + 1;
    while (from > needed && bytes + sizes[from - 1 - needed]! <= heldBytesMax) {
      bytes += sizes[from - 1 - needed]!;
      from--;
    }
    return { floor: Math.max(floor, from), seen };
  }

  /**
   * The files of each database that the newest checkpoint or a record after it names, as far as
   * records are applied here.
   */
  async files(): Promise<ReadonlyMap<string, readonly FileRef[]>> {
    const { log, replica } = this.#parts;
    const { settings } = await log.state();
    return (await this.#stored(settings, replica.applied)).known.byDatabase();
  }

  /**
   * What is stored as of a record: the newest checkpoint, and the entries after it.
   * @param lost objects that cannot be read; null: the first one that cannot ends this
   * @param isMending the entries before that checkpoint matter too: nodes may have to apply them
   */
  async #stored(
    { checkpoint, floor }: LogSettings,
    sequence: Sequence,
    lost: ReadonlySet<BlobName> | null = null,
    isMending = false,
  ) {
    const { blobs } = this.#parts;
    const load = lost === null ? loadCheckpoint : loadIfWhole;
    const before = checkpoint === null ? null : await load(blobs, checkpoint.blob);
    const entries = await this.#entries((checkpoint?.sequence ?? floor - 1) + 1, sequence);
    const named = await this.#namedBy(entries, lost !== null);
    const passed = isMending ? await this.#entries(floor, checkpoint?.sequence ?? 0) : [];
    const early = await this.#namedBy(passed, true);
    return {
      before,
      entries,
      named,
      known: new KnownFiles(before, named, lost ?? new Set(), early),
    };
  }

  /**
   * Stores objects again that nodes have found damaged, from the files of this node.
   * @returns those of which it has no copy, and which other nodes may need
   */
  async mend(damaged: readonly BlobName[]): Promise<Set<BlobName>> {
    const { log, blobs, replica, transfers, runtime, isOwnStore } = this.#parts;
    const { settings } = await log.state();
    const { known } = await this.#stored(settings, replica.applied, new Set(), true);
    const lost = new Set<BlobName>();
    for (const object of damaged) {
      const found = known.objects.get(object);
      const isNewest = object === settings.checkpoint?.blob;
      const isWhole = await unlessDamaged(async () => {
        if (found !== undefined) await transfers.check({ ...found, blob: object });
        else if (isNewest) await loadCheckpoint(blobs, object);
        return true;
      });
      if (isWhole !== null) continue;
      const copy =
        found?.file === undefined ? null : await replica.sourceOf(found.database, found.file);
      if (copy === null) {
        runtime.log(`The object ${object} is damaged: a new checkpoint replaces it`);
        lost.add(object);
        continue;
      }
      // Another folder may have been mounted in its place.
      if (!(await isOwnStore())) throw new DamagedError('The object store has another owner');
      await blobs.put(object, copy);
      runtime.log(`The object ${object} was damaged, and is stored again`);
    }
    return lost;
  }

  /**
   * Replaces the settings of the log; certain once it resolves. As with an append, if the log does
   * not respond to an attempt, the outcome is read before anything else happens. Throws
   * `NoLeaderError`.
   * @param seen revision of the members that `after` takes into account
   * @returns false: nothing has changed, because a node has begun to start since then
   */
  async replaceSettings(
    before: LogSettings,
    after: LogSettings,
    epoch: Epoch,
    seen: number,
  ): Promise<boolean> {
    const { log, runtime, signal } = this.#parts;
    let isUnknown = false;
    while (!signal.aborted) {
      try {
        if (isUnknown && isDeepStrictEqual(await this.#settings(after, epoch), after)) return true;
        if (await log.update(before, after, epoch, seen)) return true;
        const found = await this.#settings(after, epoch);
        if (isDeepStrictEqual(found, after)) return true;
        if (isDeepStrictEqual(found, before)) return false;
        throw new DamagedError('The settings of the log were changed by another process');
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        isUnknown = true;
      }
      await runtime.sleep(RETRY_MS, signal);
    }
    throw new NoLeaderError('The node is stopping');
  }

  /**
   * The settings of the log. Throws `NoLeaderError` when they are not `after`, and no attempt of
   * this leader can succeed any more.
   */
  async #settings(after: LogSettings, epoch: Epoch): Promise<LogSettings> {
    const { settings, leader } = await this.#parts.log.state();
    if (leader?.epoch !== epoch && !isDeepStrictEqual(settings, after)) {
      throw new NoLeaderError('Another node leads by now');
    }
    return settings;
  }

  /** Reads entries that are certainly in the log, because this node has applied them. */
  async #entries(from: Sequence, to: Sequence): Promise<Entry[]> {
    const entries: Entry[] = [];
    while (from + entries.length <= to) {
      const count = Math.min(READ_ENTRIES, to - from - entries.length + 1);
      const read = await this.#parts.log.read(from + entries.length, count);
      if (read.length === 0) throw new DamagedError('The log is shorter than what was applied');
      entries.push(...read);
    }
    return entries;
  }

  /**
   * Returns what the entries name. Only one record is held at a time, because those stored as
   * objects are large.
   */
  async #namedBy(entries: readonly Entry[], isTolerant = false): Promise<Named[]> {
    const { transfers, formatMax } = this.#parts;
    const named: Named[] = [];
    for (const entry of entries) {
      const { sequence } = entry;
      const body = decodeBody(entry.body);
      const ref = body.kind === 'ref' ? body : null;
      const read = (): Promise<CommitRecord> =>
        recordOf(entry, (one) => transfers.fetchRecord(one), formatMax);
      const record = isTolerant ? await unlessDamaged(read) : await read();
      const at = record?.at ?? named.at(-1)?.at ?? this.#parts.runtime.now();
      const { database = '', files = [] } = record ?? {};
      const blobs = blobsOfEntry({ files }, body);
      named.push({ sequence, at, database, files, blobs, ref, isLost: record === null });
    }
    return named;
  }

  /** @param uploaded receives the names of the objects that are stored here */
  async #databases(
    local: LocalCheckpoint,
    known: KnownFiles,
    epoch: Epoch,
    uploaded: BlobName[],
  ): Promise<CheckpointDatabase[]> {
    const limit = new ConcurrencyLimit(FILES_AT_A_TIME);
    const store = async (file: LocalFile): Promise<FileRef> => {
      const { database, name, kind } = file;
      const found = kind === 'file' ? known.find(database, name) : undefined;
      if (found !== undefined && !known.isLost(found)) return found;
      const source = await file.source();
      if (found !== undefined && !source.sha256.equals(found.sha256)) {
        throw new DamagedError(`The file ${name} of ${database} is damaged here and in the store`);
      }
      const same = kind === 'file' ? known.withContent(source.sha256) : undefined;
      if (same !== undefined) return { ...same, name };
      const blob = await this.#parts.transfers.upload(source, epoch);
      uploaded.push(blob);
      return { name, size: source.size, sha256: source.sha256, blob };
    };
    const refs = await Promise.all(local.files.map((file) => limit.run(() => store(file))));
    const names = [...new Set(local.files.map(({ database }) => database))].toSorted();
    return names.map((name) => {
      const of = (kind: LocalFile['kind']): FileRef[] =>
        refs.filter((_, n) => local.files[n]!.database === name && local.files[n]!.kind === kind);
      return { name, copies: of('copy'), files: of('file') };
    });
  }

  async #archive(entries: readonly Entry[], epoch: Epoch): Promise<void> {
    const range = `${hex(entries[0]!.sequence)}-${hex(entries.at(-1)!.sequence)}`;
    const bytes = encodeArchive(entries);
    const source = bufferSource(bytes, sha256(bytes));
    await this.#parts.blobs.put(`${ARCHIVE}${range}-${this.#unique(epoch)}`, source);
  }

  async #store(checkpoint: Checkpoint, epoch: Epoch): Promise<BlobName> {
    const name = `${CHECKPOINTS}${hex(checkpoint.sequence)}-${this.#unique(epoch)}`;
    const bytes = encodeCheckpoint(checkpoint);
    await this.#parts.blobs.put(name, bufferSource(bytes, sha256(bytes)));
    return name;
  }

  #unique(epoch: Epoch): string {
    return `${hex(epoch)}-${this.#parts.transfers.token}-${++this.#written}`;
  }

  /**
   * Removes objects that neither a kept checkpoint nor the log needs. A leader that was replaced
   * may still be doing this. So it touches only objects of its own and earlier epochs: whatever can
   * still name them is among what it reads. For its own epoch the order matters: first list the
   * names, then read what is pending, then the log.
   * @param previous sequence of the checkpoint before the newest one, which names what entries
   *   after it do
   */
  async #collectGarbage(epoch: Epoch, previous: Sequence): Promise<void> {
    const { blobs, log, transfers, isOwnStore } = this.#parts;
    const names = [
      ...(await blobs.list(FILES)),
      ...(await blobs.list(CHECKPOINTS)),
      ...(await blobs.list(ARCHIVE)),
    ];
    const needed = new Set<BlobName>(transfers.pending);
    const { settings } = await log.state();
    if (settings.checkpoint === null) return;
    const kept = await this.#kept(names, settings.checkpoint);
    for (const [blob, checkpoint] of kept) {
      for (const name of [blob, ...blobsOf(checkpoint), ...checkpoint.passed]) needed.add(name);
    }
    const { head } = await log.state();
    const held = await this.#entries(settings.floor, previous);
    const tail = await this.#entries(settings.checkpoint.sequence + 1, head);
    for (const { blobs: passed } of await this.#namedBy([...held, ...tail])) {
      for (const name of passed) needed.add(name);
    }
    // As long as all checkpoints are within the retention time, so are the entries before them.
    const isOld = ({ at }: Checkpoint): boolean => at < this.#retainedSince();
    const oldest = [...kept.values()].some(isOld)
      ? Math.min(...[...kept.values()].map(({ sequence }) => sequence))
      : 0;
    // Another folder may have been mounted in its place.
    if (!(await isOwnStore())) throw new DamagedError('The object store has another owner');
    for (const name of names) {
      const of = epochOf(name);
      const isPassed = !name.startsWith(ARCHIVE) || lastOf(name) <= oldest;
      if (of !== null && of <= epoch && isPassed && !needed.has(name)) await blobs.delete(name);
    }
  }

  #retainedSince(): number {
    return this.#parts.runtime.now() - this.#parts.retentionMs;
  }

  /**
   * The newest checkpoint, those within the retention time, and the newest one before that time.
   */
  async #kept(
    names: readonly BlobName[],
    newest: CheckpointRef,
  ): Promise<Map<BlobName, Checkpoint>> {
    const kept = new Map([[newest.blob, await loadCheckpoint(this.#parts.blobs, newest.blob)]]);
    const since = this.#retainedSince();
    const earlier = names.filter(
      (name) => name.startsWith(CHECKPOINTS) && firstOf(name) < newest.sequence,
    );
    for (const name of earlier.toReversed()) {
      const checkpoint = await loadIfWhole(this.#parts.blobs, name);
      if (checkpoint === null) continue;
      kept.set(name, checkpoint);
      if (checkpoint.at < since) break;
    }
    return kept;
  }
}

/** The objects and files that an entry names. */
interface Named {
  readonly sequence: Sequence;
  readonly at: number;
  readonly database: string;
  readonly files: readonly FileRef[];
  readonly blobs: readonly BlobName[];
  /** The object that holds the record. */
  readonly ref: RecordRef | null;
  /** That object cannot be read, so its files are not known. */
  readonly isLost: boolean;
}

/** What an object has to be. */
interface StoredObject {
  readonly size: number;
  readonly sha256: Buffer;
  readonly database: string;
  /** Absent: the object holds a record, or a copy of a database. */
  readonly file?: FileRef;
}

/** Files that are already stored, according to the checkpoint and the log. */
class KnownFiles {
  readonly passed: readonly BlobName[];
  /** What nodes may have to fetch. */
  readonly objects = new Map<BlobName, StoredObject>();
  /** The last entry that names a lost object. */
  readonly lastLost: Sequence;
  readonly #lost: ReadonlySet<BlobName>;
  /** By database and name. */
  readonly #files = new Map<string, Map<string, FileRef>>();
  /** By SHA-256, once one was looked for. */
  #byContent: Map<string, FileRef> | null = null;

  constructor(
    before: Checkpoint | null,
    named: readonly Named[],
    lost: ReadonlySet<BlobName>,
    early: readonly Named[],
  ) {
    this.#lost = lost;
    for (const { database, files, ref } of early) this.#addObjects(database, files, ref);
    for (const { name: database, copies, files } of before?.databases ?? []) {
      for (const copy of copies) this.objects.set(copy.blob, { ...copy, database });
      this.#add(database, files);
      this.#addObjects(database, files);
    }
    for (const { database, files, ref } of named) {
      this.#add(database, files);
      this.#addObjects(database, files, ref);
    }
    const isLost = (one: Named): boolean => one.isLost || one.blobs.some((blob) => lost.has(blob));
    this.lastLost = [...early, ...named].findLast(isLost)?.sequence ?? 0;
    this.passed = named.flatMap(({ blobs }) => blobs);
  }

  find(database: string, name: string): FileRef | undefined {
    return this.#files.get(database)?.get(name);
  }

  /** A file of any database with this content, as branches share them. */
  withContent(sum: Buffer): FileRef | undefined {
    if (this.#byContent === null) {
      const files = [...this.#files.values()].flatMap((known) => [...known.values()]);
      const stored = files.filter((file) => !this.isLost(file));
      this.#byContent = new Map(stored.map((file) => [file.sha256.toString('hex'), file]));
    }
    return this.#byContent.get(sum.toString('hex'));
  }

  isLost({ blob }: FileRef): boolean {
    return this.#lost.has(blob);
  }

  byDatabase(): Map<string, FileRef[]> {
    return new Map([...this.#files].map(([name, files]) => [name, [...files.values()]]));
  }

  #add(database: string, files: readonly FileRef[]): void {
    const known = this.#files.get(database) ?? new Map<string, FileRef>();
    for (const file of files) known.set(file.name, file);
    this.#files.set(database, known);
  }

  #addObjects(database: string, files: readonly FileRef[], ref: RecordRef | null = null): void {
    for (const file of files) this.objects.set(file.blob, { ...file, database, file });
    if (ref !== null) this.objects.set(ref.blob, { ...ref, database });
  }
}

import { createHash } from 'node:crypto';
import { ConcurrencyLimit } from '../outbound/concurrency-limit.ts';
import { type BlobName, type Blobs, type BlobSource, piecesSource } from './blobs/blobs.ts';
import { sealed } from './bytes.ts';
import { DamagedError } from './errors.ts';
import type { Epoch, FileRef, RecordRef } from './record.ts';
import type { Replica } from './replica.ts';

/** Maximum number of files fetched at a time, and of files uploaded at a time. */
const TRANSFERS_MAX = 4;

/** Larger records are refused, because a record is held in memory. */
export const RECORD_BYTES_MAX = 256 * 1024 * 1024;

const FILES_PREFIX = 'files/';

/** Transfers files between this node and the object store, and checks them on the way. */
export class Transfers {
  readonly #blobs: Blobs;
  readonly #replica: Replica;
  readonly #fetches = new ConcurrencyLimit(TRANSFERS_MAX);
  readonly #uploads = new ConcurrencyLimit(TRANSFERS_MAX);
  readonly #fetching = new Map<string, Promise<void>>();
  /** Objects that no entry of the log names yet. */
  readonly #pending = new Set<BlobName>();
  readonly token: string;
  #named = 0;
  #bytesToFetch = 0;
  #bytesFetched = 0;

  /**
   * @param token differs from the token of every other process, including earlier ones of this node
   */
  constructor(blobs: Blobs, replica: Replica, token: string) {
    this.#blobs = blobs;
    this.#replica = replica;
    this.token = token;
  }

  get bytesToFetch(): number {
    return this.#bytesToFetch;
  }

  /**
   * Grows while anything arrives from the object store. What turns out to be damaged or cut off is
   * subtracted, so that reading it again and again is no progress.
   */
  get bytesFetched(): number {
    return this.#bytesFetched;
  }

  /** Objects of this leader that a commit may still name. */
  get pending(): ReadonlySet<BlobName> {
    return this.#pending;
  }

  /**
   * Stores content under a name that was never used before, so a late request, such as the removal
   * of an old object, cannot affect a new one. The name holds the epoch: see `Checkpoints`.
   */
  upload(source: BlobSource, epoch: Epoch): Promise<BlobName> {
    const blob = `${FILES_PREFIX}${hex(epoch)}-${this.token}-${++this.#named}`;
    this.#pending.add(blob);
    return this.#uploads.run(async () => {
      try {
        await this.#blobs.put(blob, source);
        return blob;
      } catch (error) {
        this.#pending.delete(blob);
        throw error;
      }
    });
  }

  /** Ends the reservation of objects: the log now names them, or nothing ever will. */
  settle(names: Iterable<BlobName>): void {
    for (const name of names) this.#pending.delete(name);
  }

  /** @param pieces the record without its seal */
  async uploadRecord(pieces: readonly Buffer[], epoch: Epoch): Promise<RecordRef> {
    const source = await sealed(pieces);
    const blob = await this.upload(piecesSource(source), epoch);
    return { epoch, size: source.size, sha256: source.sha256, blob };
  }

  async fetchRecord({ blob, size, sha256: sum }: RecordRef): Promise<Buffer> {
    if (size > RECORD_BYTES_MAX) throw new DamagedError(`The record ${blob} is too large`, blob);
    const bytes = Buffer.allocUnsafe(size);
    let at = 0;
    for await (const piece of this.#checked(blob, size, sum)) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return bytes;
  }

  /** Reads an object to its end. Throws as `#checked` does. */
  async check({ blob, size, sha256: sum }: Omit<RecordRef, 'epoch'>): Promise<void> {
    const pieces = this.#checked(blob, size, sum);
    while ((await pieces.next()).done !== true);
  }

  /** Fetches the files that do not exist here. */
  async fetchFiles(database: string, files: readonly FileRef[]): Promise<void> {
    await Promise.all(files.map((file) => this.#fetch(database, file)));
  }

  #fetch(database: string, file: FileRef): Promise<void> {
    const key = `${database}\n${file.name}\n${file.blob}`;
    const known = this.#fetching.get(key);
    if (known !== undefined) return known;
    this.#bytesToFetch += file.size;
    const fetched = this.#fetches
      .run(async () => {
        if (await this.#replica.hasFile(database, file)) return;
        const content = this.#checked(file.blob, file.size, file.sha256);
        await this.#replica.writeFile(database, file, content);
      })
      .finally(() => {
        this.#bytesToFetch -= file.size;
        this.#fetching.delete(key);
      });
    this.#fetching.set(key, fetched);
    return fetched;
  }

  /**
   * Passes on the content of an object. Throws `DamagedError`, at its end at the latest, if it is
   * not what was stored.
   */
  async *#checked(
    blob: BlobName,
    size: number,
    sum: Buffer,
  ): AsyncGenerator<Uint8Array, undefined> {
    const hash = createHash('sha256');
    let bytes = 0;
    let isWhole = false;
    try {
      for await (const piece of this.#blobs.get(blob)) {
        bytes += piece.length;
        this.#bytesFetched += piece.length;
        if (bytes > size) break;
        hash.update(piece);
        yield piece;
      }
      isWhole = bytes === size && hash.digest().equals(sum);
      if (!isWhole) throw new DamagedError(`The object ${blob} is damaged`, blob);
    } finally {
      if (!isWhole) this.#bytesFetched -= bytes;
    }
  }
}

/** The epoch of the leader that stored an object. Null: the object does not belong to a cluster. */
export function epochOf(blob: BlobName): Epoch | null {
  const match =
    /^(?:files\/|checkpoints\/[0-9a-f]{16}-|archive\/[0-9a-f]{16}-[0-9a-f]{16}-)([0-9a-f]{16})-/.exec(
      blob,
    );
  return match === null ? null : Number.parseInt(match[1]!, 16);
}

/** Formats numbers in names of objects such that names sort as the numbers do. */
export function hex(value: number): string {
  return value.toString(16).padStart(16, '0');
}

/** Where finished archives are kept: a folder, or a bucket with the S3 API. */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, linkSync } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath } from '../base/sync-folder.ts';
import type { BlobSource } from '../cluster/blobs/blobs.ts';
import { BlobMissingError } from '../cluster/errors.ts';

export interface Backup {
  name: string;
  bytes: number;
}

export interface BackupStore {
  /** Where an archive is written before `keep`. */
  readonly folder: string;
  /** Keeps a finished archive of `folder`, which replaces one of the same name. */
  keep(name: string): Promise<void>;
  /** Gives an archive a second name; the first one is free then. No effect when it is missing. */
  rename(from: string, to: string): Promise<void>;
  list(): Promise<Backup[]>;
  /** null: there is no such archive. */
  read(name: string): Promise<AsyncIterable<Buffer> | null>;
  remove(name: string): Promise<void>;
  /** Removes what a kill has left of archives that were being sent. Called at the start. */
  sweep(): Promise<void>;
}

const PIECE_BYTES = 256 * 1024;

export class BackupFolder implements BackupStore {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  keep(): Promise<void> {
    return Promise.resolve();
  }

  async rename(from: string, to: string): Promise<void> {
    if (!existsSync(join(this.folder, from))) return;
    try {
      // The first name stays until a new archive replaces it.
      linkSync(join(this.folder, from), join(this.folder, to));
    } catch {
      // The file system has no hard links.
      await rename(join(this.folder, from), join(this.folder, to));
    }
    await syncPath(this.folder);
  }

  async list(): Promise<Backup[]> {
    const names = await readdir(this.folder).catch(() => []);
    const found: Backup[] = [];
    for (const name of names) {
      const stats = await stat(join(this.folder, name)).catch(() => null);
      if (stats?.isFile() === true) found.push({ name, bytes: stats.size });
    }
    return found;
  }

  async read(name: string): Promise<AsyncIterable<Buffer> | null> {
    const file = join(this.folder, name);
    const stream = createReadStream(file, { highWaterMark: PIECE_BYTES });
    return new Promise((resolve, reject) => {
      stream.once('open', () => resolve(stream));
      stream.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'ENOENT' ? resolve(null) : reject(error),
      );
    });
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name), { force: true });
  }

  sweep(): Promise<void> {
    return Promise.resolve();
  }
}

/** What `S3Blobs` offers. */
export interface Bucket {
  put(name: string, source: BlobSource): Promise<void>;
  get(name: string): AsyncIterable<Uint8Array>;
  sizes(): Promise<Backup[]>;
  copy(from: string, to: string): Promise<void>;
  delete(name: string): Promise<void>;
  sweep(): Promise<void>;
}

export class BackupBucket implements BackupStore {
  readonly folder: string;
  readonly #bucket: Bucket;

  /** @param folder for archives that are being written; each start erases it */
  constructor(folder: string, bucket: Bucket) {
    this.folder = folder;
    this.#bucket = bucket;
  }

  async keep(name: string): Promise<void> {
    const file = join(this.folder, name);
    try {
      await this.#bucket.put(name, await sourceOf(file));
    } catch (error) {
      const message = `The archive could not be sent to S3: ${(error as Error).message}.`;
      throw Object.assign(new Error(message), { code: 's_3_snapshot_server_error' });
    } finally {
      await rm(file, { force: true });
    }
  }

  async rename(from: string, to: string): Promise<void> {
    try {
      await this.#bucket.copy(from, to);
    } catch (error) {
      if (!(error instanceof BlobMissingError)) throw error;
    }
  }

  list(): Promise<Backup[]> {
    return this.#bucket.sizes();
  }

  async read(name: string): Promise<AsyncIterable<Buffer> | null> {
    const pieces = this.#bucket.get(name)[Symbol.asyncIterator]();
    let first: IteratorResult<Uint8Array>;
    try {
      first = await pieces.next();
    } catch (error) {
      if (error instanceof BlobMissingError) return null;
      throw error;
    }
    return withFirst(first, pieces);
  }

  async remove(name: string): Promise<void> {
    await this.#bucket.delete(name);
  }

  sweep(): Promise<void> {
    return this.#bucket.sweep();
  }
}

async function* withFirst(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Buffer, undefined> {
  try {
    for (let piece = first; piece.done !== true; piece = await rest.next()) {
      yield Buffer.from(piece.value.buffer, piece.value.byteOffset, piece.value.byteLength);
    }
  } finally {
    await rest.return?.();
  }
}

async function sourceOf(file: string): Promise<BlobSource> {
  const { size } = await stat(file);
  const sum = createHash('sha256');
  for await (const piece of createReadStream(file)) sum.update(piece as Buffer);
  return { size, sha256: sum.digest(), open: () => createReadStream(file) };
}

/**
 * Removes the oldest archives.
 * @param isOne whether a name is that of such an archive; these names sort by age
 * @param kept how many remain; null: all
 */
export async function removeOldest(
  store: BackupStore,
  isOne: (name: string) => boolean,
  kept: number | null,
): Promise<void> {
  if (kept === null) return;
  const names = (await store.list()).map(({ name }) => name).filter(isOne);
  for (const name of names.sort().slice(0, Math.max(0, names.length - kept))) {
    await store.remove(name);
  }
}

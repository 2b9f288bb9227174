import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, link, mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { syncPath } from '../../base/sync-folder.ts';
import { BlobMissingError, UnavailableError } from '../errors.ts';
import { OWNER } from '../owner.ts';
import { type BlobName, type Blobs, type BlobSource, READING } from './blobs.ts';

const UPLOADS = '.uploads';
const UUID_CHARACTERS = 36;
/** An upload that has not grown for so long belongs to no process any more. */
const LEFT_MS = 10 * 60_000;
/** What may be stored in a folder that has no owner yet. */
const WITHOUT_OWNER = new RegExp(`^(?:${OWNER}$|checks/)`);
const NAME = /^(?:[\w-]+\/)?[\w.-]+$/;

/**
 * Objects as files of a folder that all nodes see: on one machine, or a network file system with
 * atomic renames. The folder must exist. It is never created: where a file system is not mounted,
 * the objects would be on one machine only. For the same reason, a folder without an owner takes
 * no object.
 */
export class DirectoryBlobs implements Blobs {
  readonly #dir: string;
  readonly #node: string;

  /** @param node whose uploads these are; no other process uploads as this node */
  constructor(dir: string, node = 'reader') {
    this.#dir = resolve(dir);
    this.#node = node;
  }

  /** Removes what a process of this node left when it was killed. */
  async sweep(): Promise<void> {
    const folder = join(this.#dir, UPLOADS);
    const names = await readdir(folder).catch(() => []);
    // The rest of the name is a UUID, so that no other node is meant.
    const own = names.filter((name) => name.slice(0, -UUID_CHARACTERS) === this.#node);
    for (const path of own.map((name) => join(folder, name))) {
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
      // A second process that was started with the name of this node by mistake spares its uploads.
      if (Date.now() - mtimeMs > LEFT_MS) await unlink(path).catch(() => {});
    }
  }

  put(name: BlobName, source: BlobSource): Promise<void> {
    return this.#store(name, source, rename);
  }

  async putNew(name: BlobName, source: BlobSource): Promise<boolean> {
    let isNew = true;
    await this.#store(name, source, async (upload, path) => {
      try {
        await link(upload, path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        isNew = false;
      }
      await unlink(upload);
    });
    return isNew;
  }

  /** @param publish gives a complete file its name */
  async #store(
    name: BlobName,
    source: BlobSource,
    publish: (upload: string, path: string) => Promise<void>,
  ): Promise<void> {
    const path = this.#path(name);
    const upload = join(this.#dir, UPLOADS, this.#node + randomUUID());
    try {
      if (!WITHOUT_OWNER.test(name)) await this.#demandOwner();
      for (const folder of [dirname(path), dirname(upload)]) {
        if (folder !== this.#dir) await ensureFolder(folder);
      }
      await write(upload, source);
      await publish(upload, path);
      await syncPath(dirname(path));
    } catch (error) {
      await unlink(upload).catch(() => {});
      throw new UnavailableError(
        `The object ${name} cannot be stored: ${(error as Error).message}`,
      );
    }
  }

  async #demandOwner(): Promise<void> {
    try {
      await access(this.#path(OWNER));
    } catch {
      throw new Error(`the folder ${this.#dir} has no owner: it may not be mounted`);
    }
  }

  async *get(name: BlobName): AsyncGenerator<Uint8Array, undefined> {
    try {
      for await (const piece of createReadStream(this.#path(name), READING)) {
        yield piece as Buffer;
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new BlobMissingError(name);
      throw new UnavailableError(`The object ${name} cannot be read: ${(error as Error).message}`);
    }
  }

  async list(prefix: string): Promise<BlobName[]> {
    const slash = prefix.indexOf('/');
    const folder = prefix.slice(0, slash + 1);
    try {
      const names = await readdir(join(this.#dir, folder));
      return names
        .map((name) => folder + name)
        .filter((name) => name.startsWith(prefix))
        .toSorted();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw new UnavailableError(`The objects cannot be listed: ${(error as Error).message}`);
    }
  }

  async delete(name: BlobName): Promise<void> {
    try {
      await unlink(this.#path(name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw new UnavailableError(
        `The object ${name} cannot be removed: ${(error as Error).message}`,
      );
    }
  }

  /** Names also come from the log, so a name must not lead out of the folder. */
  #path(name: BlobName): string {
    if (!NAME.test(name)) throw new BlobMissingError(name);
    return join(this.#dir, name);
  }
}

/** Makes a folder below one that exists. */
async function ensureFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Writes a file, which is durable once this resolves. */
async function write(path: string, source: BlobSource): Promise<void> {
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(
    source.open(),
    async function* (pieces: AsyncIterable<Uint8Array>) {
      for await (const piece of pieces) {
        bytes += piece.length;
        hash.update(piece);
        yield piece;
      }
    },
    createWriteStream(path, { flags: 'wx' }),
  );
  if (bytes !== source.size || !hash.digest().equals(source.sha256)) {
    throw new Error('its content changed meanwhile');
  }
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

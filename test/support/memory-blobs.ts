import { type Io, reliableIo } from './io.ts';
import { BlobMissingError } from '../../src/cluster/errors.ts';
import type { BlobName, Blobs, BlobSource } from '../../src/cluster/blobs/blobs.ts';

/**
 * Objects in memory. Nodes of one process share `objects`, and each has an `io` that may inject
 * faults.
 */
export class MemoryBlobs implements Blobs {
  readonly #objects: Map<BlobName, Buffer>;
  readonly #io: Io;

  constructor(objects: Map<BlobName, Buffer> = new Map(), io: Io = reliableIo) {
    this.#objects = objects;
    this.#io = io;
  }

  async put(name: BlobName, source: BlobSource): Promise<void> {
    const pieces: Uint8Array[] = [];
    for await (const piece of source.open()) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    await this.#io(`put ${name}`, () => this.#objects.set(name, bytes));
  }

  async putNew(name: BlobName, source: BlobSource): Promise<boolean> {
    const pieces: Uint8Array[] = [];
    for await (const piece of source.open()) pieces.push(piece);
    return this.#io(`put new ${name}`, () => {
      if (this.#objects.has(name)) return false;
      this.#objects.set(name, Buffer.concat(pieces));
      return true;
    });
  }

  async *get(name: BlobName): AsyncGenerator<Uint8Array, undefined> {
    const bytes = await this.#io(`get ${name}`, () => this.#objects.get(name));
    if (bytes === undefined) throw new BlobMissingError(name);
    yield bytes;
  }

  list(prefix: string): Promise<BlobName[]> {
    return this.#io(`list ${prefix}`, () =>
      [...this.#objects.keys()].filter((name) => name.startsWith(prefix)).toSorted(),
    );
  }

  async delete(name: BlobName): Promise<void> {
    await this.#io(`delete ${name}`, () => this.#objects.delete(name));
  }
}

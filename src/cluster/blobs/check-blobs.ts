import { randomBytes } from 'node:crypto';
import { sha256 } from '../bytes.ts';
import { BlobMissingError, RefusedError } from '../errors.ts';
import { type BlobName, type Blobs, bufferSource } from './blobs.ts';

const BYTES = 100_000;

/**
 * Tests whether an object store has the properties that the cluster relies on. Throws
 * `RefusedError` with the missing property, or the error of the store when it cannot be reached.
 * @param token part of the names of the objects that are stored and removed
 */
export async function checkBlobs(blobs: Blobs, token: string): Promise<void> {
  const prefix = `checks/${token}-`;
  const whole = randomBytes(BYTES);
  const sum = sha256(whole);
  const demand = (holds: boolean, property: string): void => {
    if (!holds) throw new RefusedError(`The object store does not fit: ${property}`);
  };
  try {
    await blobs.put(`${prefix}whole`, bufferSource(whole, sum));
    const found = await read(blobs, `${prefix}whole`);
    demand(found?.equals(whole) === true, 'an object that was stored cannot be read at once');
    const names = await blobs.list(prefix);
    demand(names.includes(`${prefix}whole`), 'an object that was stored is not listed at once');
    // As when the connection breaks, or a file changes while it is sent.
    await blobs.put(`${prefix}torn`, torn(whole, sum)).catch(() => {});
    const half = await read(blobs, `${prefix}torn`);
    demand(half === null, 'an upload that was broken off becomes an object');
    const [isAgain, isNew] = await Promise.all(
      ['whole', 'new'].map((name) => blobs.putNew(prefix + name, bufferSource(whole, sum))),
    );
    demand(
      isNew === true && isAgain === false,
      'an object cannot be stored under the condition that it is absent',
    );
    const damaged = Buffer.from(whole);
    damaged[BYTES / 2]! ^= 1;
    await blobs.put(`${prefix}damaged`, bufferSource(damaged, sum)).catch(() => {});
    const wrong = await read(blobs, `${prefix}damaged`);
    demand(wrong === null, 'an upload whose checksum does not match becomes an object');
    await blobs.delete(`${prefix}whole`);
    demand((await read(blobs, `${prefix}whole`)) === null, 'a removed object can still be read');
    await blobs.delete(`${prefix}whole`);
  } finally {
    for (const name of ['whole', 'torn', 'damaged', 'new']) {
      await blobs.delete(prefix + name).catch(() => {});
    }
  }
}

function torn(bytes: Buffer, sum: Buffer): ReturnType<typeof bufferSource> {
  return {
    size: bytes.length,
    sha256: sum,
    async *open() {
      yield bytes.subarray(0, bytes.length / 2);
      throw new Error('The upload is broken off');
    },
  };
}

async function read(blobs: Blobs, name: BlobName): Promise<Buffer | null> {
  try {
    const pieces: Uint8Array[] = [];
    for await (const piece of blobs.get(name)) pieces.push(piece);
    return Buffer.concat(pieces);
  } catch (error) {
    if (error instanceof BlobMissingError) return null;
    throw error;
  }
}

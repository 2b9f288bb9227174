/**
 * Objects whose content only nodes of the cluster can read and make.
 *
 *   object   32 random bytes, then blocks: up to 64 KiB of the content, encrypted, and a tag
 *
 * Each object has a key of its own, HKDF of the key of the cluster, the random bytes and the name.
 * The nonce of a block is its number, and whether it is the last one, so a block that is missing,
 * moved or added is noticed. A block can be read without those before it. In clear are the owner,
 * whose salt the keys follow from, and the objects of `check-blobs.ts` and `StoreWatch`, which hold
 * nothing.
 */
import { createHash, randomBytes } from 'node:crypto';
import { setImmediate as nextTask } from 'node:timers/promises';
import { DamagedError, RefusedError, UnavailableError } from '../errors.ts';
import { OWNER, readOwner } from '../owner.ts';
import {
  type ClusterKeys,
  type ClusterSecret,
  decrypt,
  derivedKey,
  encrypt,
  KEY_BYTES,
  madeOnce,
  NONCE_BYTES,
  TAG_BYTES,
} from '../secret.ts';
import {
  type BlobName,
  type Blobs,
  type BlobSource,
  piecesSource,
  WHOLE_BYTES_MAX,
} from './blobs.ts';

const BLOCK_BYTES = 64 * 1024;
/** Blocks between two yields to the event loop: about a millisecond. */
const BLOCKS_PER_SLICE = 16;
const PLAIN = new RegExp(`^(?:${OWNER}$|checks/)`);

export class EncryptedBlobs implements Blobs {
  readonly #blobs: Blobs;
  readonly #secret: ClusterSecret;
  /** Throws `RefusedError` when the store belongs to a cluster with another secret. */
  readonly #keys = madeOnce(() => this.#derive());

  constructor(blobs: Blobs, secret: ClusterSecret) {
    this.#blobs = blobs;
    this.#secret = secret;
  }

  async put(name: BlobName, source: BlobSource): Promise<void> {
    await this.#blobs.put(name, await this.#encrypted(name, source));
  }

  async putNew(name: BlobName, source: BlobSource): Promise<boolean> {
    return this.#blobs.putNew(name, await this.#encrypted(name, source));
  }

  async *get(name: BlobName): AsyncGenerator<Uint8Array, undefined> {
    if (PLAIN.test(name)) yield* this.#blobs.get(name);
    else yield* decryptedPieces(name, (await this.#keys()).objects, this.#blobs.get(name));
  }

  list(prefix: string): Promise<BlobName[]> {
    return this.#blobs.list(prefix);
  }

  delete(name: BlobName): Promise<void> {
    return this.#blobs.delete(name);
  }

  async #encrypted(name: BlobName, source: BlobSource): Promise<BlobSource> {
    if (PLAIN.test(name)) return source;
    const { objects } = await this.#keys();
    const size = encryptedBytes(source.size);
    if (size > WHOLE_BYTES_MAX)
      return new EncryptedSource(size, () => encryptedPieces(name, objects, source));
    const hash = createHash('sha256');
    const pieces: Buffer[] = [];
    for await (const piece of encryptedPieces(name, objects, source)) {
      hash.update(piece);
      pieces.push(piece);
    }
    return piecesSource({ pieces, size, sha256: hash.digest() });
  }

  async #derive(): Promise<ClusterKeys> {
    const owner = await readOwner(this.#blobs);
    if (owner === null) throw new UnavailableError('The object store has no owner');
    const keys = await this.#secret.keysOf(owner.salt);
    if (keys.proof === owner.proof) return keys;
    throw new RefusedError('The master key is not that of the cluster that the object store is of');
  }
}

/** A large object, which is encrypted while it is sent. */
class EncryptedSource implements BlobSource {
  readonly size: number;
  readonly #open: () => AsyncIterable<Buffer>;
  #sum: Buffer | null = null;

  constructor(size: number, open: () => AsyncIterable<Buffer>) {
    this.size = size;
    this.#open = open;
  }

  get sha256(): Buffer {
    if (this.#sum === null) throw new Error('The object has not been read to its end');
    return this.#sum;
  }

  async *open(): AsyncGenerator<Buffer, undefined> {
    const hash = createHash('sha256');
    for await (const piece of this.#open()) {
      hash.update(piece);
      yield piece;
    }
    this.#sum = hash.digest();
  }
}

function encryptedBytes(size: number): number {
  const blocks = Math.max(1, Math.ceil(size / BLOCK_BYTES));
  return KEY_BYTES + size + blocks * TAG_BYTES;
}

function nonceOf(block: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce[0] = isLast ? 1 : 0;
  nonce.writeUIntBE(block, NONCE_BYTES - 6, 6);
  return nonce;
}

/** Encrypts content under a new key. Throws when the content is not what it claims to be. */
async function* encryptedPieces(
  name: BlobName,
  key: Buffer,
  source: BlobSource,
): AsyncGenerator<Buffer, undefined> {
  const salt = randomBytes(KEY_BYTES);
  const own = derivedKey(key, salt, name);
  const hash = createHash('sha256');
  let bytes = 0;
  yield salt;
  for await (const { block, number, isLast } of blocks(source.open(), BLOCK_BYTES)) {
    hash.update(block);
    bytes += block.length;
    yield encrypt(own, nonceOf(number, isLast), name, block);
  }
  if (bytes !== source.size || !hash.digest().equals(source.sha256)) {
    throw new UnavailableError(`The content of ${name} changed while it was stored`);
  }
}

/** Decrypts an object. Throws `DamagedError`, at its end at the latest. */
async function* decryptedPieces(
  name: BlobName,
  key: Buffer,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer, undefined> {
  const pieces = content[Symbol.asyncIterator]();
  try {
    let head = Buffer.alloc(0);
    while (head.length < KEY_BYTES) {
      const { done, value } = await pieces.next();
      if (done === true) throw new DamagedError('Bytes are missing');
      head = Buffer.concat([head, value]);
    }
    const own = derivedKey(key, head.subarray(0, KEY_BYTES), name);
    const rest = following(head.subarray(KEY_BYTES), pieces);
    for await (const { block, number, isLast } of blocks(rest, BLOCK_BYTES + TAG_BYTES)) {
      yield decrypt(own, nonceOf(number, isLast), name, block);
    }
  } catch (error) {
    if (!(error instanceof DamagedError) || error.object !== null) throw error;
    throw new DamagedError(`The object ${name} is damaged: ${error.message}`, name);
  } finally {
    await pieces.return?.();
  }
}

async function* following(
  first: Uint8Array,
  pieces: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, undefined> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => pieces };
}

interface Block {
  readonly block: Buffer;
  readonly number: number;
  readonly isLast: boolean;
}

/** Blocks of equal size; the last one may be smaller, and is empty only if it is the only one. */
async function* blocks(
  pieces: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Block, undefined> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  let number = 0;
  for await (const piece of pieces) {
    let at = 0;
    while (bytes + piece.length - at > size) {
      const end = at + size - bytes;
      const part = piece.subarray(at, end);
      const block =
        bytes === 0
          ? Buffer.from(part.buffer, part.byteOffset, part.length)
          : Buffer.concat([...waiting, part]);
      yield { block, number, isLast: false };
      if (++number % BLOCKS_PER_SLICE === 0) await nextTask();
      [waiting, bytes, at] = [[], 0, end];
    }
    waiting.push(piece.subarray(at));
    bytes += piece.length - at;
  }
  yield { block: Buffer.concat(waiting), number, isLast: true };
}

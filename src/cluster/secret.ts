/**
 * The keys of a cluster, which follow from the secret that its nodes share, the master key, and the
 * random salt of the cluster:
 *
 *   root            scrypt of the secret: slow, so that nobody guesses the secret from what is stored
 *   proof           shows that a node has the secret; in etcd and the object store
 *   objects         key for the objects, see `EncryptedBlobs`
 *   entries         key for the entries of the log, see `EtcdLog`
 *
 * All but the root are HKDF-SHA-256 of it. Everything is encrypted with AES-256-GCM; its name is
 * part of what is authenticated, so nobody without the key can move it to another name.
 */
import {
  createCipheriv,
  createDecipheriv,
  hkdfSync,
  randomBytes,
  scrypt,
  type ScryptOptions,
} from 'node:crypto';
import { DamagedError } from './errors.ts';

/** As OWASP recommends: 32 MiB, and some tenths of a second. */
const COST: ScryptOptions = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 };
export const KEY_BYTES = 32;
export const NONCE_BYTES = 12;
export const TAG_BYTES = 16;
const ALGORITHM = 'aes-256-gcm';

export interface ClusterKeys {
  readonly proof: string;
  readonly objects: Buffer;
  readonly entries: Buffer;
}

export class ClusterSecret {
  readonly #secret: string;
  /** By salt. */
  readonly #keys = new Map<string, Promise<ClusterKeys>>();

  /** @param masterKey null: there is none, and nothing is protected */
  constructor(masterKey: string | null) {
    this.#secret = masterKey ?? '';
  }

  keysOf(salt: string): Promise<ClusterKeys> {
    const known = this.#keys.get(salt) ?? derive(this.#secret, salt);
    this.#keys.set(salt, known);
    return known;
  }

  async proofOf(salt: string): Promise<string> {
    return (await this.keysOf(salt)).proof;
  }
}

/** A function that makes a value at its first call, and again only after that failed. */
export function madeOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return async () => {
    made ??= make();
    try {
      return await made;
    } catch (error) {
      made = null;
      throw error;
    }
  };
}

async function derive(secret: string, salt: string): Promise<ClusterKeys> {
  const root = await new Promise<Buffer>((resolve, reject) => {
    scrypt(secret, salt, KEY_BYTES, COST, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
  const of = (purpose: string): Buffer => derivedKey(root, salt, `gannet cluster ${purpose}`);
  return { proof: of('proof').toString('hex'), objects: of('objects'), entries: of('entries') };
}

export function derivedKey(key: Buffer, salt: string | Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, purpose, KEY_BYTES));
}

/** Encrypts bytes. A nonce must not be used twice with one key. @returns them and the tag */
export function encrypt(key: Buffer, nonce: Buffer, name: string, bytes: Uint8Array): Buffer {
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(name));
  return Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** Throws `DamagedError` unless the bytes are those that were encrypted under this name. */
export function decrypt(key: Buffer, nonce: Buffer, name: string, bytes: Buffer): Buffer {
  const end = bytes.length - TAG_BYTES;
  if (end < 0) throw new DamagedError('Bytes are missing');
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(end));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(0, end)), decipher.final()]);
  } catch {
    throw new DamagedError('It is not what was encrypted, or another key was used');
  }
}

/** Encrypts a small value under a random nonce, which precedes it. */
export function encryptValue(key: Buffer, name: string, bytes: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  return Buffer.concat([nonce, encrypt(key, nonce, name, bytes)]);
}

/** Reads what `encryptValue` made. Throws `DamagedError`. */
export function decryptValue(key: Buffer, name: string, bytes: Buffer): Buffer {
  return decrypt(key, bytes.subarray(0, NONCE_BYTES), name, bytes.subarray(NONCE_BYTES));
}

/**
 * The keys of a cluster, which follow from the secret that its nodes share, the master key, and the
 * random salt of the cluster:
 *
 *   root            scrypt of the secret: slow, so that nobody guesses the secret from what is stored
 *   proof           shows that a node has the secret; in etcd and the object store
 *   objects         key for the objects, see `EncryptedBlobs`
 *   entries         key for the entries of the log, see `EtcdLog`
 *
 * A node keeps the root in its data folder, encrypted under a quicker scrypt of the secret, so that
 * it does not pay for the slow one at each start. Whoever can read that folder has the data anyway.
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
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { DamagedError } from './errors.ts';

/** As OWASP recommends: 32 MiB, and some tenths of a second. */
const COST: ScryptOptions = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 };
/** 4 MiB, and some hundredths of a second. */
const QUICK_COST: ScryptOptions = { N: 2 ** 12, r: 8, p: 1 };
const KEPT = 'root';
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
  readonly #keptAt: string | null;
  /** By salt. */
  readonly #keys = new Map<string, Promise<ClusterKeys>>();

  /**
   * @param masterKey null: there is none, and nothing is protected
   * @param keptAt path of the file in which the root is kept
   */
  constructor(masterKey: string | null, keptAt: string | null = null) {
    this.#secret = masterKey ?? '';
    this.#keptAt = keptAt;
  }

  keysOf(salt: string): Promise<ClusterKeys> {
    const known = this.#keys.get(salt) ?? this.#derive(salt);
    this.#keys.set(salt, known);
    return known;
  }

  async #derive(salt: string): Promise<ClusterKeys> {
    const root = await this.#root(salt);
    const of = (purpose: string): Buffer => derivedKey(root, salt, `gannet cluster ${purpose}`);
    return { proof: of('proof').toString('hex'), objects: of('objects'), entries: of('entries') };
  }

  async #root(salt: string): Promise<Buffer> {
    const path = this.#keptAt;
    if (path === null) return derive(this.#secret, salt, COST);
    const key = derivedKey(await derive(this.#secret, salt, QUICK_COST), salt, KEPT);
    try {
      return decryptValue(key, KEPT, readFileSync(path));
    } catch {
      // It is absent or torn, or of another secret or cluster: what it is for is to save time.
    }
    const root = await derive(this.#secret, salt, COST);
    try {
      writeFileSync(`${path}.part`, encryptValue(key, KEPT, root), { mode: 0o600 });
      renameSync(`${path}.part`, path);
    } catch {
      // The disk may be full. The next start tries again.
    }
    return root;
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

function derive(secret: string, salt: string, cost: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(secret, salt, KEY_BYTES, cost, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
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
    const content = decipher.update(bytes.subarray(0, end));
    // Has no bytes left, and throws if the tag is another one.
    decipher.final();
    return content;
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

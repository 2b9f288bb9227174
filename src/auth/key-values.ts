import { createHmac, randomBytes } from 'node:crypto';
import type { KeyRecord } from '../contract/keys.ts';
import type { KeyStore } from '../store/key-store.ts';

/** HMAC-SHA-256 of the uid under the master key, 64 lower-case hexadecimal digits. */
export function keyValue(masterKey: string, uid: string): string {
  return createHmac('sha256', masterKey).update(uid).digest('hex');
}

const VALUE = /^[0-9a-f]{64}$/;

/**
 * The values of the stored keys. A value is derived once, when its key is created or loaded, and
 * found by its HMAC under a random key of this process: nobody can choose texts whose look-ups
 * reveal how much of a value they share, and a wrong text costs the same however many keys there
 * are.
 */
export class KeyValues {
  readonly #masterKey: string;
  readonly #keys: KeyStore;
  readonly #salt = randomBytes(32);
  readonly #values = new Map<string, string>();
  readonly #uids = new Map<string, string>();

  constructor(masterKey: string, keys: KeyStore) {
    this.#masterKey = masterKey;
    this.#keys = keys;
    for (const uid of keys.uids()) this.#update(uid);
    keys.onChange((uid) => this.#update(uid));
  }

  /** Derived even if no key has the uid, so that the time does not reveal which uids exist. */
  of(uid: string): string {
    return this.#values.get(uid) ?? keyValue(this.#masterKey, uid);
  }

  /** The key with that value, in letters of either case. */
  find(text: string): KeyRecord | undefined {
    const value = text.toLowerCase();
    if (!VALUE.test(value)) return undefined;
    const uid = this.#uids.get(this.#digest(value));
    return uid === undefined ? undefined : this.#keys.get(uid);
  }

  #update(uid: string): void {
    const known = this.#values.get(uid);
    const exists = this.#keys.get(uid) !== undefined;
    if (exists === (known !== undefined)) return;
    const value = known ?? keyValue(this.#masterKey, uid);
    const digest = this.#digest(value);
    if (exists) {
      this.#values.set(uid, value);
      this.#uids.set(digest, uid);
    } else {
      this.#values.delete(uid);
      this.#uids.delete(digest);
    }
  }

  #digest(value: string): string {
    return createHmac('sha256', this.#salt).update(value).digest('base64');
  }
}

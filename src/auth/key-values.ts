import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { KeyRecord } from '../contract/keys.ts';
import type { KeyStore } from '../store/key-store.ts';

/**
 * HMAC-SHA-256 under the master key, 64 lower-case hexadecimal digits: of the uid, or after
 * rotations of the uid and their number.
 */
export function keyValue(masterKey: string, uid: string, rotations = 0): string {
  const text = rotations === 0 ? uid : `${uid} ${rotations}`;
  return createHmac('sha256', masterKey).update(text).digest('hex');
}

const VALUE = /^[0-9a-f]{64}$/;

/** A text that is accepted as the value of a key. */
interface AcceptedValue {
  readonly text: string;
  /** Milliseconds of the clock; Infinity: no end. */
  readonly until: number;
}

/** A key that was found by a value of it. */
export interface FoundKey {
  readonly record: KeyRecord;
  readonly until: number;
}

/**
 * The values of the stored keys. A key has one that is shown; those from before its rotations, and
 * those under the previous master key, are accepted too. They are derived once, when the key is
 * changed or loaded, and found by their HMAC under a random key of this process: nobody can choose
 * texts whose look-ups reveal how much of a value they share, and a wrong text costs the same
 * however many keys there are.
 */
export class KeyValues {
  /** The present one first. */
  readonly #masterKeys: readonly string[];
  readonly #keys: KeyStore;
  readonly #clock: Clock;
  readonly #salt = randomBytes(32);
  /** By uid; the value that is shown first. */
  readonly #values = new Map<string, { rotations: string; accepted: readonly AcceptedValue[] }>();
  /** By the HMAC of the value. */
  readonly #found = new Map<string, { uid: string; until: number }>();

  constructor(masterKeys: readonly string[], keys: KeyStore, clock: Clock) {
    this.#masterKeys = masterKeys;
    this.#keys = keys;
    this.#clock = clock;
    for (const uid of keys.uids()) this.#update(uid);
    keys.onChange((uid) => this.#update(uid));
  }

  /** The value of a key that is shown. The key may have been deleted. */
  of({ uid, rotation }: Pick<KeyRecord, 'uid' | 'rotation'>): string {
    return (this.#values.get(uid)?.accepted ?? this.#derived(uid, rotation))[0]!.text;
  }

  /**
   * All values that a tenant token may be signed with. Derived even if no key has the uid, so that
   * the time does not reveal which uids exist.
   */
  accepted(uid: string): readonly AcceptedValue[] {
    const now = this.#clock.now();
    const known = this.#values.get(uid)?.accepted ?? this.#derived(uid, undefined);
    return known.filter(({ until }) => now < until);
  }

  /** The key with that value, in letters of either case. */
  find(text: string): FoundKey | undefined {
    const value = text.toLowerCase();
    if (!VALUE.test(value)) return undefined;
    const found = this.#found.get(this.#digest(value));
    if (found === undefined || this.#clock.now() >= found.until) return undefined;
    const record = this.#keys.get(found.uid);
    return record === undefined ? undefined : { record, until: found.until };
  }

  #derived(uid: string, rotation: KeyRecord['rotation']): AcceptedValue[] {
    const { count = 0, earlier = [] } = rotation ?? {};
    const numbers = [
      { count, until: Infinity },
      ...earlier.map((one) => ({ count: one.count, until: Date.parse(one.until) })),
    ];
    return this.#masterKeys.flatMap((masterKey) =>
      numbers.map((one) => ({ text: keyValue(masterKey, uid, one.count), until: one.until })),
    );
  }

  #update(uid: string): void {
    const known = this.#values.get(uid);
    const record = this.#keys.get(uid);
    const rotations = record === undefined ? null : JSON.stringify(record.rotation ?? null);
    if (rotations === (known?.rotations ?? null)) return;
    for (const { text } of known?.accepted ?? []) this.#found.delete(this.#digest(text));
    this.#values.delete(uid);
    if (record === undefined || rotations === null) return;
    const accepted = this.#derived(uid, record.rotation);
    this.#values.set(uid, { rotations, accepted });
    for (const { text, until } of accepted) this.#found.set(this.#digest(text), { uid, until });
  }

  #digest(value: string): string {
    return createHmac('sha256', this.#salt).update(value).digest('base64');
  }
}

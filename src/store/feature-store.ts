import type { Database } from 'lmdb';
import { FEATURES, type FeaturePatch, type FeatureSet } from '../contract/features.ts';

const KEY = 'features';

/**
 * Which experimental features are on. Launch flags switch features on in addition to what is stored;
 * switching one off lasts until the next start when its flag is given.
 */
export class FeatureStore {
  readonly #db: Database<Partial<FeatureSet>, string>;
  #current: FeatureSet;

  constructor(db: Database, launchFlags: Partial<FeatureSet> = {}) {
    this.#db = db as Database<Partial<FeatureSet>, string>;
    const stored = this.#db.get(KEY) ?? {};
    this.#current = Object.fromEntries(
      FEATURES.map((name) => [name, stored[name] === true || launchFlags[name] === true]),
    ) as FeatureSet;
  }

  get(): FeatureSet {
    return this.#current;
  }

  async patch(change: FeaturePatch): Promise<FeatureSet> {
    const next = { ...this.#current };
    for (const name of FEATURES) {
      const value = change[name];
      if (typeof value === 'boolean') next[name] = value;
    }
    this.#current = next;
    await this.#db.put(KEY, next);
    await this.#db.flushed;
    return next;
  }
}

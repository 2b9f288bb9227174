import { FEATURES, type FeaturePatch, type FeatureSet } from '../contract/features.ts';
import { Records, type RecordStore } from './records.ts';

const KEY = 'features';

/**
 * The experimental features that are on. Launch flags switch features on in addition to the stored
 * ones. If a feature with a launch flag is switched off, it is on again after the next start. For
 * when a change takes effect see `Records`.
 */
export class FeatureStore {
  readonly #records: Records<Partial<FeatureSet>>;
  #current: FeatureSet;
  #onChange: (features: FeatureSet) => void = () => {};

  constructor(store: RecordStore, launchFlags: Partial<FeatureSet> = {}) {
    this.#records = new Records(store, 'features');
    const stored = this.#records.get(KEY) ?? {};
    this.#current = Object.fromEntries(
      FEATURES.map((name) => [name, stored[name] === true || launchFlags[name] === true]),
    ) as FeatureSet;
    this.#records.onForeign = () => {
      const now = this.#records.get(KEY) ?? {};
      this.#set(
        Object.fromEntries(FEATURES.map((name) => [name, now[name] === true])) as FeatureSet,
      );
    };
  }

  get(): FeatureSet {
    return this.#current;
  }

  /** Calls `listener` after each change, also when one that could not be stored is undone. */
  onChange(listener: (features: FeatureSet) => void): void {
    this.#onChange = listener;
  }

  #set(features: FeatureSet): void {
    this.#current = features;
    this.#onChange(features);
  }

  async patch(change: FeaturePatch): Promise<FeatureSet> {
    const before = this.#current;
    const next = { ...before };
    for (const name of FEATURES) {
      const value = change[name];
      if (typeof value === 'boolean') next[name] = value;
    }
    this.#set(next);
    try {
      await this.#records.put(KEY, next);
    } catch (error) {
      if (this.#current === next) this.#set(before);
      throw error;
    }
    return next;
  }
}

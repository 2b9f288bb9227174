import { mergeNetwork, type NetworkPatch, NO_NETWORK } from '../contract/network.ts';
import type { Network } from '../contract/responses.ts';
import { Records } from './records.ts';
import type { Store } from './store.ts';

const KEY = 'network';

/** The network that this instance belongs to. For when a change takes effect see `Records`. */
export class NetworkStore {
  readonly #records: Records<Network>;

  constructor(store: Store) {
    this.#records = new Records(store, 'network');
  }

  /** Shared, so do not modify it. */
  get(): Network {
    return this.#records.get(KEY) ?? NO_NETWORK;
  }

  /** @returns the whole network. Rejects with `ApiError` */
  async patch(change: NetworkPatch): Promise<Network> {
    const merged = mergeNetwork(this.get(), change);
    if (!merged.ok) throw merged.error;
    await this.#records.put(KEY, merged.value);
    return merged.value;
  }
}

import { LAUNCH_WEBHOOK_UUID, type WebhookRecord } from '../contract/webhooks.ts';
import { Records } from './records.ts';
import type { Store } from './store.ts';

/**
 * The webhooks: those created through the API, and the one given at launch, which is never stored.
 */
export class WebhookStore {
  readonly #records: Records<WebhookRecord>;
  readonly #launch: WebhookRecord | null;

  constructor(store: Store, launch: Omit<WebhookRecord, 'uuid'> | null) {
    this.#records = new Records(store, 'webhooks');
    this.#launch = launch === null ? null : { uuid: LAUNCH_WEBHOOK_UUID, ...launch };
  }

  /** In ascending order of uuid, including the launch webhook. */
  list(): WebhookRecord[] {
    const all = [...this.#records.values()];
    if (this.#launch !== null) all.push(this.#launch);
    return all.sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
  }

  get(uuid: string): WebhookRecord | undefined {
    return this.#launch?.uuid === uuid ? this.#launch : this.#records.get(uuid);
  }

  /** Number of webhooks created through the API. */
  get size(): number {
    return this.#records.size;
  }

  put(record: WebhookRecord): Promise<void> {
    return this.#records.put(record.uuid, record);
  }

  remove(uuid: string): Promise<void> {
    return this.#records.remove(uuid);
  }
}

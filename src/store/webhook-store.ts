import type { Database } from 'lmdb';
import { LAUNCH_WEBHOOK_UUID, type WebhookRecord } from '../contract/webhooks.ts';

/**
 * The webhooks: those made through the API, and the one given at launch, which is never stored. All are
 * held in memory. A write resolves once it is durable.
 */
export class WebhookStore {
  readonly #db: Database<WebhookRecord, string>;
  readonly #records = new Map<string, WebhookRecord>();
  readonly #launch: WebhookRecord | null;

  constructor(db: Database, launch: Omit<WebhookRecord, 'uuid'> | null) {
    this.#db = db as Database<WebhookRecord, string>;
    this.#launch = launch === null ? null : { uuid: LAUNCH_WEBHOOK_UUID, ...launch };
    for (const { key, value } of this.#db.getRange()) this.#records.set(key, value);
  }

  /** Ascending uuid, the launch webhook included. */
  list(): WebhookRecord[] {
    const all = [...this.#records.values()];
    if (this.#launch !== null) all.push(this.#launch);
    return all.sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
  }

  get(uuid: string): WebhookRecord | undefined {
    return this.#launch?.uuid === uuid ? this.#launch : this.#records.get(uuid);
  }

  /** Number of those made through the API. */
  get size(): number {
    return this.#records.size;
  }

  async put(record: WebhookRecord): Promise<void> {
    this.#records.set(record.uuid, record);
    await this.#db.put(record.uuid, record);
    await this.#db.flushed;
  }

  async remove(uuid: string): Promise<void> {
    this.#records.delete(uuid);
    await this.#db.remove(uuid);
    await this.#db.flushed;
  }
}

/** Deletes documents that have expired (setting `expiresAtAttribute`). */
import type { Clock } from '../base/clock.ts';
import type { IndexRegistry } from '../engine/registry.ts';
import type { TaskStore } from '../store/task-store.ts';
import type { TaskQueue } from './queue.ts';

/** How often the indexes are looked at. An expired document is not found anyway. */
const EVERY_MS = 10_000;

export interface ExpiryParts {
  registry: Pick<IndexRegistry, 'list'>;
  queue: Pick<TaskQueue, 'register'>;
  taskStore: Pick<TaskStore, 'record'>;
  clock: Clock;
  /** Whether this server is the one of its cluster that registers tasks by itself. */
  leads: () => boolean;
  log: (message: string, error: unknown) => void;
}

/**
 * Registers a deletion for each index with an expired document, unless the last one still waits.
 * The end of each batch records when the first document of the index expires, so no index is opened
 * for this. After a restart a second deletion may wait, which then finds nothing.
 */
export class Expiry {
  readonly #parts: ExpiryParts;
  /** The last deletion of each index, by the uuid of the index. */
  readonly #deletions = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ExpiryParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async look(): Promise<void> {
    const { registry, queue, clock, leads, log } = this.#parts;
    if (!leads()) return;
    const now = clock.now() / 1000;
    for (const [indexUid, entry] of registry.list()) {
      if ((entry.summary.firstExpiry ?? Infinity) > now || this.#waits(entry.uuid)) continue;
      const expired = entry.settings.expiresAtAttribute;
      if (expired === null) continue;
      try {
        const request = { type: 'documentDeletion', indexUid, by: { expired } } as const;
        const { taskUid } = await queue.register(request, true);
        this.#deletions.set(entry.uuid, taskUid);
      } catch (error) {
        log(`the deletion of the expired documents of \`${indexUid}\` was not registered`, error);
      }
    }
  }

  /** Whether the last deletion of an index has not ended. */
  #waits(uuid: string): boolean {
    const uid = this.#deletions.get(uuid);
    const status = uid === undefined ? undefined : this.#parts.taskStore.record(uid)?.status;
    const waits = status === 'enqueued' || status === 'processing';
    if (!waits) this.#deletions.delete(uuid);
    return waits;
  }
}

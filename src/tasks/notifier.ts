/**
 * Notifies webhooks of finished batches: one request per batch and webhook, with all tasks of the
 * batch.
 *
 * Each webhook has its own loop, which sends the batches in the order in which they ended. If a
 * receiver fails, the request is retried with growing pauses. Meanwhile its later batches wait, but
 * other webhooks and the scheduler do not. What waits is stored, so a restart continues where the
 * last run stopped. A receiver may therefore be notified twice of the batch that was being sent.
 */
import { setMaxListeners } from 'node:events';
import { createGzip } from 'node:zlib';
import { Readable } from 'node:stream';
import type { Logger } from '../base/logger.ts';
import type { WebhookRecord } from '../contract/webhooks.ts';
import type { OutboundClient, OutboundRequest } from '../outbound/outbound-client.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import { withRetries } from '../outbound/retry.ts';
import type { NotificationStore } from '../store/notification-store.ts';
import type { TaskStore } from '../store/task-store.ts';
import { jsonString } from '../base/json.ts';
import { pauser } from '../base/pauser.ts';
import { rooted, type Tracer } from '../base/tracing.ts';
import { taskView } from './view.ts';

const TIMEOUT_MS = 30_000;

/** Waits before each further attempt, ms. */
const RETRY_WAITS_MS = [1_000, 5_000, 30_000, 120_000];

/** Maximum number of batches that wait for one webhook; beyond it, the oldest are dropped. */
const WAITING_MAX = 100_000;

/** Lines of a body that are made between two yields to the event loop. */
const LINES_AT_ONCE = 100;

export interface Webhooks {
  list(): readonly WebhookRecord[];
  get(uuid: string): WebhookRecord | undefined;
}

/** The response of a receiver that cannot take the tasks now. */
class ReceiverError extends Error {}

export class Notifier {
  readonly #tasks: TaskStore;
  readonly #notifications: NotificationStore;
  readonly #webhooks: Webhooks;
  readonly #outbound: OutboundClient;
  readonly #log: Logger;
  readonly #tracer: Tracer | null;
  readonly #retryWaitsMs: readonly number[];
  #ending = new AbortController();
  readonly #loops = new Map<string, Promise<void>>();

  constructor(
    tasks: TaskStore,
    notifications: NotificationStore,
    webhooks: Webhooks,
    outbound: OutboundClient,
    log: Logger,
    tracer: Tracer | null = null,
    retryWaitsMs: readonly number[] = RETRY_WAITS_MS,
  ) {
    this.#tasks = tasks;
    this.#notifications = notifications;
    this.#webhooks = webhooks;
    this.#outbound = outbound;
    this.#log = log;
    this.#tracer = tracer;
    this.#retryWaitsMs = retryWaitsMs;
    // One listener for each webhook that is being notified.
    setMaxListeners(0, this.#ending.signal);
    tasks.onFinish = (batchUid) => {
      const uuids = webhooks.list().map(({ uuid }) => uuid);
      if (uuids.length === 0) return null;
      return {
        write: (tx) => notifications.write(tx, batchUid, uuids),
        publish: () => {
          notifications.published(batchUid, uuids);
          this.wake();
        },
      };
    };
  }

  /** Checks whether there are notifications to send. */
  wake(): void {
    if (this.#ending.signal.aborted) return;
    for (const uuid of this.#notifications.webhooks()) {
      if (this.#loops.has(uuid)) continue;
      const loop = this.#tell(uuid).catch((error: unknown) => {
        if (!this.#ending.signal.aborted)
          this.#log.error({ err: error }, 'a webhook is no longer notified');
      });
      this.#loops.set(
        uuid,
        loop.finally(() => this.#loops.delete(uuid)),
      );
    }
  }

  /** Resumes after `stop` with the notifications that are stored now. */
  resume(): void {
    this.#ending = new AbortController();
    setMaxListeners(0, this.#ending.signal);
    this.#notifications.reload();
    this.wake();
  }

  /** Interrupts the requests under way; their notifications stay stored. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#loops.values());
  }

  async #tell(uuid: string): Promise<void> {
    const { signal } = this.#ending;
    for (;;) {
      const waiting = this.#notifications.waitingFor(uuid);
      const [batchUid] = waiting;
      if (batchUid === undefined || signal.aborted) return;
      const surplus = waiting.size - WAITING_MAX;
      if (surplus > 0) {
        this.#log.warn(
          `webhook ${uuid} is ${waiting.size} batches late; the oldest ${surplus} are given up`,
        );
        await this.#notifications.settle(uuid, [...waiting].slice(0, surplus));
        continue;
      }
      const webhook = this.#webhooks.get(uuid);
      if (webhook === undefined) {
        // The webhook was deleted.
        await this.#notifications.settle(uuid, waiting);
        continue;
      }
      try {
        const attributes = { 'gannet.webhook': uuid, 'gannet.batch': batchUid };
        await rooted(this.#tracer, 'webhook', attributes, () => this.#deliver(uuid, batchUid));
      } catch (error) {
        if (signal.aborted) return;
        this.#log.warn(
          `webhook ${uuid} was not notified of batch ${batchUid}: ${messageOf(error)}`,
        );
      }
      await this.#notifications.settle(uuid, [batchUid]);
    }
  }

  #deliver(uuid: string, batchUid: number): Promise<void> {
    return withRetries(
      () => this.#send(uuid, batchUid),
      {
        attemptsMax: this.#retryWaitsMs.length + 1,
        waitMs: (error, retry) => {
          const passing = error instanceof ReceiverError || isPassing(error);
          return passing ? this.#retryWaitsMs[retry]! : null;
        },
      },
      { signal: this.#ending.signal },
    );
  }

  async #send(uuid: string, batchUid: number): Promise<void> {
    const webhook = this.#webhooks.get(uuid);
    if (webhook === undefined) return;
    const uids = this.#tasks.tasksOf(batchUid);
    if (uids.length === 0) return;
    const body = Readable.from(this.#lines(uids)).pipe(createGzip());
    try {
      const { signal } = this.#ending;
      const request: OutboundRequest = {
        method: 'POST',
        url: webhook.url,
        headers: {
          'content-type': 'application/x-ndjson',
          'content-encoding': 'gzip',
          'accept-encoding': 'gzip',
          ...webhook.headers,
        },
        body,
        timeoutMs: TIMEOUT_MS,
        signal,
      };
      const response = await this.#outbound.counts.counted(
        'webhook',
        signal,
        () => this.#outbound.fetch(request, { bytesMax: null }),
        ({ status }) => status < 300,
      );
      if (response.status >= 500 || response.status === 429 || response.status === 408) {
        throw new ReceiverError(`it answered ${response.status}`);
      }
      if (response.status >= 300) this.#log.warn(`webhook ${uuid} answered ${response.status}`);
    } finally {
      body.destroy();
    }
  }

  /** The tasks by ascending uid, one JSON text per line. */
  async *#lines(uids: readonly number[]): AsyncGenerator<string> {
    const pause = pauser();
    for (let from = 0; from < uids.length; from += LINES_AT_ONCE) {
      let text = '';
      for (const uid of uids.slice(from, from + LINES_AT_ONCE)) {
        const view = taskView(this.#tasks, uid);
        if (view !== undefined) text += `${jsonString(view)}\n`;
      }
      yield text;
      await pause();
    }
  }
}

function isPassing(error: unknown): boolean {
  return (
    error instanceof OutboundError && ['unreachable', 'timeout', 'broken'].includes(error.failure)
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Sends writes of documents on to the other servers of a network with sharding. */
import { randomUUID } from 'node:crypto';
import type { Network, Remote } from '../contract/responses.ts';
import type { TaskNetwork } from '../contract/tasks.ts';
import type { OutboundResponse, OutboundClient } from '../outbound/outbound-client.ts';
import { FINAL_FAILURES, OutboundError } from '../outbound/outbound-error.ts';
import { backoffMs, type RetryOptions, withRetries } from '../outbound/retry.ts';
import { ORIGIN_REMOTE_HEADER, ORIGIN_TASK_HEADER, WRITE_ID_HEADER } from './origin.ts';
import { KnownRemotes } from './known-remotes.ts';

const WAITS = { firstMs: 100, factor: 2, msMax: 5000 };
/** Bytes read of a response: a task, or an error. */
const RESPONSE_BYTES_MAX = 64 * 1024;
/** Characters of a remote's response that a task quotes. */
const SHOWN_MAX = 500;
/** Concurrent writes to one remote. */
const WRITES_AT_ONCE = 16;

export interface ReplicatedWrite {
  method: 'POST' | 'PUT' | 'DELETE';
  /** As the client sent it, still encoded. */
  path: string;
  query: string;
  contentType: string | null;
  /** Starts again with each call; null: none. */
  body: (() => string | AsyncIterable<Buffer>) | null;
}

export interface ReplicationOptions {
  /** null: nothing is sent on. */
  network: () => Network | null;
  client: OutboundClient;
  requestMsMax: number;
  retriesMsMax: number;
  /** Replaces the timer in tests. */
  wait?: RetryOptions['wait'];
}

/** Why a remote has not accepted a write. Its message is stored in the task. */
class Refusal extends Error {
  readonly isFinal: boolean;

  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

export class Replication {
  readonly #options: ReplicationOptions;
  readonly #health = new KnownRemotes(WRITES_AT_ONCE);

  constructor(options: ReplicationOptions) {
    this.#options = options;
  }

  /** Whether writes of clients are sent on. */
  get isActive(): boolean {
    return this.#targets() !== null;
  }

  #targets(): { self: string; others: [string, Remote][] } | null {
    const network = this.#options.network();
    if (network === null || !network.sharding || network.self === null) return null;
    const { self } = network;
    const others = Object.entries(network.remotes).filter(([name]) => name !== self);
    return others.length === 0 ? null : { self, others };
  }

  /**
   * Sends a write to all other servers concurrently, and waits for them. Never rejects: failures
   * are part of the result.
   * @param taskUid of the write here
   * @returns null: there is no other server any more
   */
  async send(write: ReplicatedWrite, taskUid: number): Promise<TaskNetwork | null> {
    const targets = this.#targets();
    if (targets === null) return null;
    this.#health.keep(new Set(targets.others.map(([, { url }]) => url)));
    const writeId = randomUUID();
    const headers = {
      [ORIGIN_REMOTE_HEADER]: encodeURIComponent(targets.self),
      [ORIGIN_TASK_HEADER]: String(taskUid),
      [WRITE_ID_HEADER]: writeId,
    };
    const results = await Promise.all(
      targets.others.map(async ([name, remote]) => {
        try {
          return [name, { task_uid: await this.#sendTo(remote, write, headers) }] as const;
        } catch (error) {
          const message = error instanceof Refusal ? error.message : 'The write could not be sent.';
          return [name, { error: message }] as const;
        }
      }),
    );
    return { remotes: Object.fromEntries(results) };
  }

  async #sendTo(
    remote: Remote,
    write: ReplicatedWrite,
    headers: Readonly<Record<string, string>>,
  ): Promise<number> {
    const { retriesMsMax, wait } = this.#options;
    const { url } = remote;
    // A remote that has been unreachable for long gets one attempt, so that it does not delay every
    // write.
    const until = performance.now() + (this.#health.admits(url) ? retriesMsMax : 0);
    const policy = {
      attemptsMax: Infinity,
      waitMs: (error: unknown, retry: number): number | null =>
        error instanceof Refusal && !error.isFinal ? backoffMs(WAITS, retry) : null,
      remainingMs: () => until - performance.now(),
    };
    try {
      const taskUid = await withRetries(
        () => this.#health.limitOf(url).run(() => this.#attempt(remote, write, headers)),
        policy,
        { wait },
      );
      this.#health.succeeded(url);
      return taskUid;
    } catch (error) {
      if (error instanceof Refusal && !error.isFinal) this.#health.failed(url);
      else this.#health.undecided(url);
      throw error;
    }
  }

  async #attempt(
    { url, writeApiKey }: Remote,
    { method, path, query, contentType, body }: ReplicatedWrite,
    headers: Readonly<Record<string, string>>,
  ): Promise<number> {
    const { client, requestMsMax } = this.#options;
    try {
      const response = await client.fetch(
        {
          method,
          url: `${url.replace(/\/+$/, '')}${path}${query === '' ? '' : `?${query}`}`,
          headers: {
            ...headers,
            ...(contentType === null ? {} : { 'content-type': contentType }),
            ...(writeApiKey === null ? {} : { authorization: `Bearer ${writeApiKey}` }),
          },
          ...(body === null ? {} : { body: body() }),
          timeoutMs: requestMsMax,
          idleTimeoutMs: requestMsMax,
        },
        { bytesMax: RESPONSE_BYTES_MAX },
      );
      return taskUidOf(response);
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      throw new Refusal(messageOf(error), FINAL_FAILURES.has(error.failure));
    }
  }
}

function taskUidOf({ status, body, hide }: OutboundResponse): number {
  if (status < 200 || status > 299) {
    const shown = hide(body.toString('utf8', 0, 8 * SHOWN_MAX)).slice(0, SHOWN_MAX);
    throw new Refusal(`The remote responded with status ${status}: ${shown}`, status < 500);
  }
  try {
    const { taskUid } = JSON.parse(body.toString()) as { taskUid?: unknown };
    if (typeof taskUid === 'number') return taskUid;
  } catch {
    // Reported below.
  }
  throw new Refusal('The response of the remote is not that of a write.', true);
}

/** The message without the address of the remote. */
function messageOf({ failure }: OutboundError): string {
  switch (failure) {
    case 'timeout':
      return 'The remote did not respond within the time limit.';
    case 'addressRefused':
      return 'Connections to the address of the remote are not allowed (see --outbound-deny-private and --outbound-allow).';
    case 'invalidRequest':
      return 'The URL or the key of the remote is not usable.';
    case 'unreachable':
      return 'The remote cannot be reached.';
    case 'responseTooLarge':
      return 'The response of the remote is too large.';
    case 'canceled':
      return 'This server was stopping.';
    case 'broken':
      return 'The connection to the remote broke.';
  }
}

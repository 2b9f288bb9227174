/** Requests to the server that an export goes to. */
import { ApiError } from '../contract/errors.ts';
import type { OutboundClient, OutboundRequest } from '../outbound/outbound-client.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import { type RetryOptions, type RetryPolicy, withRetries } from '../outbound/retry.ts';

/** Ms without progress of a request after which it counts as failed. */
const IDLE_MS = 30_000;
/** Ms that a request may take at all, however slowly it goes on. */
const REQUEST_MS_MAX = 3_600_000;
/** Bytes of an answer that are read: a task, or an index. */
const ANSWER_BYTES_MAX = 1024 * 1024;
/** Bytes of a body that are handed over at a time. */
const PIECE_BYTES = 64 * 1024;

const FIRST_WAIT_MS = 500;
const WAIT_FACTOR = 1.5;
const WAIT_MS_MAX = 60_000;
/** From the first attempt on. */
const RETRIES_MS_MAX = 15 * 60_000;
const RETRIED_STATUSES = new Set([408, 429, 500, 502, 503, 504]);
/** Of failures of the connection: another attempt would fail alike. */
const FINAL_FAILURES = new Set(['addressRefused', 'canceled', 'invalidRequest']);

/** An answer that is no success. */
class RefusedRequest extends Error {
  readonly status: number;
  readonly body: Record<string, unknown>;

  constructor(status: number, body: Record<string, unknown>) {
    super(`status ${status}`);
    this.status = status;
    this.body = body;
  }
}

export interface TargetOptions {
  /** A path in it is kept. */
  url: string;
  apiKey: string | null;
  client: OutboundClient;
  /** Ends everything at once. */
  signal: AbortSignal;
  /** Replaces the timer in tests. */
  wait?: RetryOptions['wait'];
}

export interface TargetBody {
  bytes: Buffer;
  headers: Readonly<Record<string, string>>;
}

export class ExportTarget {
  readonly #options: TargetOptions;
  readonly #base: string;

  constructor(options: TargetOptions) {
    this.#options = options;
    this.#base = options.url.replace(/\/+$/, '');
  }

  /** Whether the target has an index. */
  async hasIndex(uid: string): Promise<boolean> {
    try {
      await this.#send('GET', `/indexes/${uid}`, null);
      return true;
    } catch (error) {
      if (error instanceof RefusedRequest && error.body.code === 'index_not_found') return false;
      throw told(error, this.#base);
    }
  }

  /** Throws `ApiError` when the target does not take it, after all attempts. */
  async sendJson(method: 'POST' | 'PATCH', path: string, value: unknown): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(value));
    await this.send(method, path, { bytes, headers: { 'content-type': 'application/json' } });
  }

  /** The same. */
  async send(method: 'POST' | 'PATCH', path: string, body: TargetBody): Promise<void> {
    try {
      await this.#send(method, path, body);
    } catch (error) {
      throw told(error, this.#base);
    }
  }

  #send(method: OutboundRequest['method'], path: string, body: TargetBody | null): Promise<void> {
    const { signal, wait } = this.#options;
    return withRetries(() => this.#attempt(method, path, body), retryPolicy(), {
      signal,
      ...(wait === undefined ? {} : { wait }),
    });
  }

  async #attempt(
    method: OutboundRequest['method'],
    path: string,
    body: TargetBody | null,
  ): Promise<void> {
    const { client, apiKey, signal } = this.#options;
    const idle = new IdleTimer(signal);
    try {
      const answer = await client.fetch(
        {
          method,
          url: this.#base + path,
          headers: {
            ...body?.headers,
            ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
          },
          ...(body === null ? {} : { body: idle.watched(body.bytes) }),
          timeoutMs: REQUEST_MS_MAX,
          idleTimeoutMs: IDLE_MS,
          signal: idle.signal,
        },
        { bytesMax: ANSWER_BYTES_MAX },
      );
      if (answer.status >= 200 && answer.status < 300) return;
      throw new RefusedRequest(answer.status, objectOf(answer.body));
    } catch (error) {
      throw idle.isOver ? new OutboundError('timeout', `no progress for ${IDLE_MS} ms`) : error;
    } finally {
      idle.end();
    }
  }
}

/** Aborts a request that makes no progress. */
class IdleTimer {
  readonly #controller = new AbortController();
  readonly signal: AbortSignal;
  #timer: NodeJS.Timeout | undefined;
  isOver = false;

  constructor(signal: AbortSignal) {
    this.signal = AbortSignal.any([signal, this.#controller.signal]);
    this.#restart();
  }

  /** The bytes, piece by piece; that one is asked for is progress. */
  async *watched(bytes: Buffer): AsyncGenerator<Buffer, undefined> {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      this.#restart();
      yield bytes.subarray(at, at + PIECE_BYTES);
    }
    this.#restart();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.isOver = true;
      this.#controller.abort();
    }, IDLE_MS);
  }
}

function retryPolicy(): RetryPolicy {
  const until = performance.now() + RETRIES_MS_MAX;
  return {
    attemptsMax: Infinity,
    waitMs: (error, retry) => {
      if (error instanceof RefusedRequest) {
        if (!RETRIED_STATUSES.has(error.status)) return null;
      } else if (!(error instanceof OutboundError) || FINAL_FAILURES.has(error.failure))
        return null;
      const longest = Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * WAIT_FACTOR ** retry);
      const ms = longest * (0.5 + Math.random() / 2);
      return performance.now() + ms > until ? null : ms;
    },
  };
}

function objectOf(bytes: Buffer): Record<string, unknown> {
  try {
    const value = JSON.parse(bytes.toString()) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** What the task tells. */
function told(error: unknown, base: string): unknown {
  if (error instanceof RefusedRequest) {
    const { code, type, message, link } = error.body;
    const texts = Object.entries({ code, type, message, link })
      .filter(([, value]) => typeof value === 'string')
      .map(([name, value]) => `${name} \`${String(value).slice(0, 1000)}\``);
    return new ApiError(
      'internal',
      `The target of the export, ${shown(base)}, has answered with status ${error.status}` +
        `${texts.length === 0 ? '' : `: ${texts.join(', ')}`}.`,
    );
  }
  if (!(error instanceof OutboundError)) return error;
  return new ApiError('internal', `The target of the export cannot be reached: ${error.message}.`);
}

/** Without a user and a password. */
function shown(base: string): string {
  const { protocol, host, pathname } = new URL(base);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}

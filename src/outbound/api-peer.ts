/** Requests to another server that speaks the interface, repeated while it cannot take them. */
import { jsonString, parseResponse } from '../base/json.ts';
import { FINAL_FAILURES, OutboundError } from './outbound-error.ts';
import type { OutboundClient, OutboundRequest } from './outbound-client.ts';
import { backoffMs, type RetryOptions, type RetryPolicy, withRetries } from './retry.ts';

/** Ms without progress of a request after which it counts as failed. */
const IDLE_MS = 30_000;
/** Ms that a request may take at all, however slowly it goes on. */
const REQUEST_MS_MAX = 3_600_000;
/** Bytes of an answer that are read where no more are asked for: a task, or an index. */
const ANSWER_BYTES_MAX = 1024 * 1024;
/** Bytes of a body that are handed over at a time. */
const PIECE_BYTES = 64 * 1024;

const WAITS = { firstMs: 500, factor: 1.5, msMax: 60_000 };
const RETRIED_STATUSES = new Set([408, 429, 500, 502, 503, 504]);

/** An answer that is no success. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';
  readonly status: number;
  /** Empty when it is no JSON object. Its texts are without the credentials of the request. */
  readonly body: Record<string, unknown>;
  /** Ms that the server asks to wait, or null. */
  readonly retryAfterMs: number | null;

  constructor(status: number, body: Record<string, unknown>, retryAfterMs: number | null) {
    super(`status ${status}`);
    this.status = status;
    this.body = body;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface PeerOptions {
  /** A path in it is kept. */
  url: string;
  apiKey: string | null;
  client: OutboundClient;
  /** Ends everything at once. */
  signal: AbortSignal;
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>>;
  /** From the first attempt of a request on; a later attempt is not begun. */
  retriesMsMax: number;
  /** Replaces the timer in tests. */
  wait?: RetryOptions['wait'];
}

export interface PeerBody {
  bytes: Buffer;
  /** As of `OutboundRequest`. */
  secrets?: unknown;
  headers: Readonly<Record<string, string>>;
}

export interface PeerRequest {
  method: OutboundRequest['method'];
  /** Behind the address of the server. */
  path: string;
  body?: PeerBody;
  responseBytesMax?: number;
  /** Instead of that of the peer. */
  retriesMsMax?: number;
}

export class ApiPeer {
  readonly #options: PeerOptions;
  readonly #base: string;

  constructor(options: PeerOptions) {
    this.#options = options;
    this.#base = options.url.replace(/\/+$/, '');
  }

  /** The address, without a user and a password. */
  get place(): string {
    const { protocol, host, pathname } = new URL(this.#base);
    return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
  }

  /**
   * The answer to the first attempt that the server takes. Throws `RefusedRequest` and
   * `OutboundError`, those of the last attempt. What is repeated may have been done already.
   */
  send(request: PeerRequest): Promise<Buffer> {
    const { signal, wait } = this.#options;
    const retriesMsMax = request.retriesMsMax ?? this.#options.retriesMsMax;
    return withRetries(() => this.#attempt(request), retryPolicy(retriesMsMax), {
      signal,
      wait,
    });
  }

  async #attempt({ method, path, body, responseBytesMax }: PeerRequest): Promise<Buffer> {
    const { client, apiKey, headers, signal } = this.#options;
    const idle = new IdleTimer(signal);
    try {
      const answer = await client.fetch(
        {
          method,
          url: this.#base + path,
          headers: {
            ...headers,
            ...body?.headers,
            ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
          },
          ...(body === undefined
            ? {}
            : { body: idle.watched(body.bytes), bodySecrets: body.secrets }),
          timeoutMs: REQUEST_MS_MAX,
          idleTimeoutMs: IDLE_MS,
          signal: idle.signal,
        },
        { bytesMax: responseBytesMax ?? ANSWER_BYTES_MAX },
      );
      if (answer.status >= 200 && answer.status < 300) return answer.body;
      const retryAfterMs = waitAsked(answer.headers['retry-after']);
      const said = withoutSecrets(objectOf(answer.body), answer.hide);
      throw new RefusedRequest(answer.status, said, retryAfterMs);
    } catch (error) {
      throw idle.isOver ? new OutboundError('timeout', `no progress for ${IDLE_MS} ms`) : error;
    } finally {
      idle.end();
    }
  }
}

/** A body of JSON. */
export function jsonBody(value: unknown): PeerBody {
  return {
    bytes: Buffer.from(jsonString(value)),
    headers: { 'content-type': 'application/json' },
  };
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

function retryPolicy(retriesMsMax: number): RetryPolicy {
  const until = performance.now() + retriesMsMax;
  return {
    attemptsMax: Infinity,
    waitMs: (error, retry) => {
      if (error instanceof RefusedRequest) {
        if (!RETRIED_STATUSES.has(error.status)) return null;
      } else if (!(error instanceof OutboundError) || FINAL_FAILURES.has(error.failure))
        return null;
      const asked = error instanceof RefusedRequest ? (error.retryAfterMs ?? 0) : 0;
      const ms = Math.max(asked, backoffMs(WAITS, retry));
      return performance.now() + ms > until ? null : ms;
    },
  };
}

/** Ms, of a header `Retry-After`: seconds, or a date. Null when it is neither. */
function waitAsked(header: string | string[] | undefined): number | null {
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? null : Math.max(0, moment - Date.now());
}

/** Texts at the top, which are all that is shown. */
function withoutSecrets(
  body: Record<string, unknown>,
  hide: (text: string) => string,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      typeof value === 'string' ? hide(value) : value,
    ]),
  );
}

function objectOf(bytes: Buffer): Record<string, unknown> {
  try {
    const value = parseResponse(bytes);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

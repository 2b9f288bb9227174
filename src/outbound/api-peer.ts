/** Requests to another server with the same API, repeated while it cannot accept them. */
import { jsonString, parseResponse } from '../base/json.ts';
import { FINAL_FAILURES, OutboundError } from './outbound-error.ts';
import type { OutboundClient, OutboundRequest } from './outbound-client.ts';
import { backoffMs, type RetryOptions, type RetryPolicy, withRetries } from './retry.ts';

/** Maximum ms without progress before a request fails. */
const IDLE_MS = 30_000;
/** Maximum ms of a request, even while it makes progress. */
const REQUEST_MS_MAX = 3_600_000;
/** Default maximum bytes of a response, enough for a task or an index. */
const RESPONSE_BYTES_MAX = 1024 * 1024;
/** Bytes of a body that are sent at a time. */
const PIECE_BYTES = 64 * 1024;

const WAITS = { firstMs: 500, factor: 1.5, msMax: 60_000 };
const RETRIED_STATUSES = new Set([408, 429, 500, 502, 503, 504]);

/** A response with a status other than 2xx. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';
  readonly status: number;
  /**
   * Empty if the body is not a JSON object. Credentials of the request are removed from its texts.
   */
  readonly body: Record<string, unknown>;
  /** The wait that the server requests in ms, or null. */
  readonly retryAfterMs: number | null;

  constructor(status: number, body: Record<string, unknown>, retryAfterMs: number | null) {
    super(`status ${status}`);
    this.status = status;
    this.body = body;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface PeerOptions {
  /** Base URL, which may contain a path. */
  url: string;
  apiKey: string | null;
  client: OutboundClient;
  /** Aborts all requests. */
  signal: AbortSignal;
  /** Headers sent with every request. */
  headers?: Readonly<Record<string, string>>;
  /** Time after the first attempt of a request during which further attempts begin. */
  retriesMsMax: number;
  /** Replaces the timer in tests. */
  wait?: RetryOptions['wait'];
}

export interface PeerBody {
  bytes: Buffer;
  /** See `bodySecrets` of `OutboundRequest`. */
  secrets?: unknown;
  headers: Readonly<Record<string, string>>;
}

export interface PeerRequest {
  method: OutboundRequest['method'];
  /** Path that is appended to the base URL. */
  path: string;
  body?: PeerBody;
  responseBytesMax?: number;
  /** Overrides the value of the peer. */
  retriesMsMax?: number;
}

export class ApiPeer {
  readonly #options: PeerOptions;
  readonly #base: string;

  constructor(options: PeerOptions) {
    this.#options = options;
    this.#base = options.url.replace(/\/+$/, '');
  }

  /** The base URL without user and password. */
  get address(): string {
    const { protocol, host, pathname } = new URL(this.#base);
    return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
  }

  /**
   * Sends a request until the server accepts it, and resolves with the body. Throws the
   * `RefusedRequest` or `OutboundError` of the last attempt. The server may execute a repeated
   * request more than once.
   */
  send(request: PeerRequest): Promise<Buffer> {
    const { signal, wait } = this.#options;
    const retriesMsMax = request.retriesMsMax ?? this.#options.retriesMsMax;
    return withRetries(() => this.#attempt(request), retryPolicy(retriesMsMax), {
      signal,
      wait,
    });
  }

  /**
   * Sends a GET request once and yields the body as it arrives. Throws `RefusedRequest` and
   * `OutboundError`.
   */
  async *stream(path: string): AsyncGenerator<Buffer, undefined> {
    const { client, apiKey, headers, signal } = this.#options;
    const response = await client.stream({
      method: 'GET',
      url: this.#base + path,
      headers: {
        ...headers,
        ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      timeoutMs: REQUEST_MS_MAX,
      idleTimeoutMs: IDLE_MS,
      signal,
    });
    try {
      if (response.status < 200 || response.status > 299) {
        throw new RefusedRequest(response.status, {}, null);
      }
      yield* response.body;
    } finally {
      response.discard();
    }
  }

  async #attempt({ method, path, body, responseBytesMax }: PeerRequest): Promise<Buffer> {
    const { client, apiKey, headers, signal } = this.#options;
    const idle = new IdleTimer(signal);
    try {
      const response = await client.fetch(
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
        { bytesMax: responseBytesMax ?? RESPONSE_BYTES_MAX },
      );
      if (response.status >= 200 && response.status < 300) return response.body;
      const retryAfterMs = requestedWaitMs(response.headers['retry-after']);
      const said = withoutSecrets(objectOf(response.body), response.hide);
      throw new RefusedRequest(response.status, said, retryAfterMs);
    } catch (error) {
      throw idle.isOver ? new OutboundError('timeout', `no progress for ${IDLE_MS} ms`) : error;
    } finally {
      idle.end();
    }
  }
}

/** A JSON body. */
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

  /** Yields the bytes in pieces. Each read of a piece counts as progress. */
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

/** Repeats what may succeed later, for some time. */
export function retryPolicy(retriesMsMax: number): RetryPolicy {
  const until = performance.now() + retriesMsMax;
  return {
    attemptsMax: Infinity,
    remainingMs: () => until - performance.now(),
    waitMs: (error, retry) => {
      if (error instanceof RefusedRequest) {
        if (!RETRIED_STATUSES.has(error.status)) return null;
      } else if (!(error instanceof OutboundError) || FINAL_FAILURES.has(error.failure))
        return null;
      const requestedMs = error instanceof RefusedRequest ? (error.retryAfterMs ?? 0) : 0;
      return Math.max(requestedMs, backoffMs(WAITS, retry));
    },
  };
}

/** The wait of a `Retry-After` header in ms. The header has seconds or a date; null: neither. */
function requestedWaitMs(header: string | string[] | undefined): number | null {
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? null : Math.max(0, moment - Date.now());
}

/** Hides secrets in the texts at the top level, the only ones that are shown. */
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

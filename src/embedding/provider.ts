/**
 * Embedding by requests to a provider: grouping of inputs, retries and validation of responses. The
 * differences between providers are in their `Protocol`.
 */
import { setMaxListeners } from 'node:events';
import { ExcessiveJson, parseResponse } from '../base/json.ts';
import { err, type Result } from '../base/result.ts';
import { DIMENSIONS_MAX } from '../contract/embedders/fields.ts';
import type { Protocol } from '../contract/embedders/protocol.ts';
import type { ConcurrencyLimit } from '../outbound/concurrency-limit.ts';
import type { OutboundResponse, OutboundClient } from '../outbound/outbound-client.ts';
import type { OutboundKind } from '../outbound/outbound-counts.ts';
import { FINAL_FAILURES, OutboundError, addressOf } from '../outbound/outbound-error.ts';
import { withRetries } from '../outbound/retry.ts';
import type { EmbedderRequests } from './embedder-requests.ts';
import { EmbeddingError } from './embedding-error.ts';

const ATTEMPTS_MAX = 11;
/** Statuses that are about the content of a request, if it is not repeated. */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 422]);
/** Maximum characters of a provider's error message. */
const MESSAGE_LENGTH_MAX = 400;
/**
 * Maximum bytes of any response, of its content other than numbers, and of one number, which has at
 * most twenty characters.
 */
const RESPONSE_BYTES_MAX = 256 * 2 ** 20;
const RESPONSE_REST_BYTES = 2 ** 20;
const NUMBER_BYTES = 32;

/** Error texts that refuse a request for its size, where the status does not say so. */
const TOO_LARGE =
  /too (?:large|long|big|many)|(?:maximum|max) (?:batch|input|request|payload|number)|exceed|batch size/i;

export interface RequestLimits {
  timeoutMs: number;
  /** Maximum wait before a retry in ms. */
  waitMsMax: number;
}

export interface EmbedCall {
  signal?: AbortSignal | undefined;
  /** Ms since the epoch. Attempts are aborted at the deadline, and none begins after it. */
  deadline?: number | undefined;
  requests?: EmbedderRequests | undefined;
  /** Limits concurrent requests. */
  limit: ConcurrencyLimit;
  /** Called with the number of new embeddings. */
  onEmbedded?: (count: number) => void;
  /** A failed request is not repeated: the caller does that. */
  once?: boolean;
  /** A group of inputs that is too large for the provider is not sent in parts. */
  whole?: boolean;
}

/** Computes embeddings of texts or fragments. */
export interface Provider {
  /** null until known. */
  dimensions: number | null;
  /**
   * Returns one embedding per input, with `dimensions` numbers if known. Throws `EmbeddingError`,
   * or the reason of the signal.
   */
  embed(inputs: readonly unknown[], call: EmbedCall): Promise<Float32Array[]>;
}

/** A failed attempt. */
class AttemptError extends Error {
  readonly retried: boolean;
  readonly status: number | null;
  /** The wait that the provider requests, in ms. */
  readonly waitMs: number;
  readonly tooLarge: boolean;

  constructor(
    message: string,
    more: { retried: boolean; status?: number; waitMs?: number; tooLarge?: boolean },
  ) {
    super(message);
    this.retried = more.retried;
    this.status = more.status ?? null;
    this.waitMs = more.waitMs ?? 0;
    this.tooLarge = more.tooLarge ?? false;
  }
}

export class RequestProvider implements Provider {
  dimensions: number | null;
  readonly #protocol: Protocol;
  readonly #client: OutboundClient;
  readonly #limits: RequestLimits;
  readonly #kind: OutboundKind;

  constructor(
    protocol: Protocol,
    dimensions: number | null,
    client: OutboundClient,
    limits: RequestLimits,
    kind: OutboundKind,
  ) {
    this.#protocol = protocol;
    this.dimensions = dimensions;
    this.#client = client;
    this.#limits = limits;
    this.#kind = kind;
  }

  async embed(inputs: readonly unknown[], call: EmbedCall): Promise<Float32Array[]> {
    // The first failure aborts the other requests, whose results would not be used.
    const ending = new AbortController();
    const signal =
      call.signal === undefined ? ending.signal : AbortSignal.any([call.signal, ending.signal]);
    // Each running request adds a listener.
    setMaxListeners(0, signal);
    let begin = 0;
    const groups = this.#groups(inputs).map(async (group) => {
      const first = begin;
      begin += group.length;
      try {
        const embeddings = await this.#embedGroup(group, { ...call, signal });
        call.onEmbedded?.(group.length);
        return embeddings;
      } catch (error) {
        const reported =
          error instanceof AttemptError
            ? new EmbeddingError(
                error.message,
                [first, first + group.length],
                REFUSALS.has(error.status ?? 0),
              )
            : error;
        ending.abort(reported);
        throw reported;
      }
    });
    try {
      return (await Promise.all(groups)).flat();
    } catch (error) {
      await Promise.allSettled(groups);
      if (call.signal?.aborted === true) throw call.signal.reason;
      throw error;
    }
  }

  #groups(inputs: readonly unknown[]): unknown[][] {
    const { inputsMax, bytesMax } = this.#protocol;
    const groups: unknown[][] = [];
    let bytes = 0;
    for (const input of inputs) {
      const size = bytesMax === null ? 0 : Buffer.byteLength(JSON.stringify(input));
      const last = groups.at(-1);
      if (
        last === undefined ||
        last.length >= inputsMax ||
        (bytesMax !== null && bytes + size > bytesMax)
      ) {
        groups.push([input]);
        bytes = size;
      } else {
        last.push(input);
        bytes += size;
      }
    }
    return groups;
  }

  async #embedGroup(group: readonly unknown[], call: EmbedCall): Promise<Float32Array[]> {
    try {
      return await this.#withRetries(group, call);
    } catch (error) {
      if (!(error instanceof AttemptError)) throw error;
      const { shorten } = this.#protocol;
      if (error.status === 400 && shorten !== null) return this.#shortened(group, shorten, call);
      if (!error.tooLarge || group.length === 1 || call.whole === true) throw error;
      const half = Math.ceil(group.length / 2);
      const parts = [group.slice(0, half), group.slice(half)];
      return (await Promise.all(parts.map((part) => this.#embedGroup(part, call)))).flat();
    }
  }

  /** Embeds each input alone, shortened. These requests are not counted. */
  async #shortened(
    group: readonly unknown[],
    shorten: NonNullable<Protocol['shorten']>,
    call: EmbedCall,
  ): Promise<Float32Array[]> {
    const uncounted = { ...call, requests: undefined };
    const embeddings = group.map(async (input) =>
      this.#withRetries([await shorten(input, call.signal)], uncounted),
    );
    return (await Promise.all(embeddings)).flat();
  }

  #withRetries(group: readonly unknown[], call: EmbedCall): Promise<Float32Array[]> {
    const { deadline = Infinity, signal, limit, once = false } = call;
    const waitMs = (error: unknown, retry: number): number | null => {
      if (!(error instanceof AttemptError) || !error.retried) return null;
      const backoffMs = 10 ** retry + (error.status === 429 ? 100 : 0);
      const wait = Math.min(backoffMs, this.#limits.waitMsMax) * (0.5 + Math.random() / 2);
      return Math.max(wait, Math.min(error.waitMs, this.#limits.waitMsMax));
    };
    return withRetries(
      () => limit.run(() => this.#attempt(group, call), signal),
      {
        attemptsMax: once ? 1 : ATTEMPTS_MAX,
        waitMs,
        remainingMs: () => deadline - Date.now(),
      },
      { signal },
    );
  }

  async #attempt(group: readonly unknown[], call: EmbedCall): Promise<Float32Array[]> {
    call.requests?.begin();
    const outcome = await this.#client.counts.counted(
      this.#kind,
      call.signal,
      () => this.#request(group, call),
      ({ ok }) => ok,
    );
    if (outcome.ok) return outcome.value;
    call.requests?.fail(outcome.error.message);
    throw outcome.error;
  }

  async #request(
    group: readonly unknown[],
    { signal, deadline = Infinity }: EmbedCall,
  ): Promise<Result<Float32Array[], AttemptError>> {
    const { url, headers, bodySecrets } = this.#protocol;
    const address = addressOf(new URL(url));
    let response: OutboundResponse;
    try {
      response = await this.#client.fetch(
        {
          method: 'POST',
          url,
          headers,
          signal,
          bodySecrets,
          body: this.#protocol.body(group),
          timeoutMs: Math.max(0, Math.min(this.#limits.timeoutMs, deadline - Date.now())),
        },
        { bytesMax: responseBytesMax(group.length, this.dimensions) },
      );
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      return err(new AttemptError(error.message, { retried: !FINAL_FAILURES.has(error.failure) }));
    }
    const { status } = response;
    if (status < 200 || status >= 300) return err(this.#refusal(response, address));
    let json: unknown;
    try {
      json = parseResponse(response.body);
    } catch (error) {
      const excess = error instanceof ExcessiveJson ? error.message : null;
      const what =
        excess === null ? 'a body that is not JSON' : `a body that is too complex: ${excess}`;
      const retried = excess === null;
      return err(new AttemptError(`${address} responded with ${what}`, { retried, status }));
    }
    const embeddings = this.#checked(json, group.length);
    if (embeddings.ok) return embeddings;
    const said = shortened(response.hide(messageIn(json)));
    const why = response.hide(embeddings.error);
    const message = `${address} sent an invalid response: ${why}${said === '' ? '' : `. It says: ${said}`}`;
    return err(new AttemptError(message, { retried: false, status }));
  }

  #checked(json: unknown, count: number): Result<Float32Array[], string> {
    const embeddings = this.#protocol.embeddings(json);
    if (!embeddings.ok) return embeddings;
    if (embeddings.value.length !== count) {
      return err(`it has ${embeddings.value.length} embeddings for ${count} inputs`);
    }
    const expected = this.dimensions;
    const tooLong = embeddings.value.find(({ length }) => length > DIMENSIONS_MAX);
    if (tooLong !== undefined) {
      return err(`an embedding has ${tooLong.length} dimensions, more than ${DIMENSIONS_MAX}`);
    }
    const other = embeddings.value.find(({ length }) => expected !== null && length !== expected);
    if (other !== undefined) {
      return err(`an embedding has ${other.length} dimensions where ${expected} are expected`);
    }
    return embeddings;
  }

  #refusal({ status, headers, body, hide }: OutboundResponse, address: string): AttemptError {
    const said = shortened(hide(messageOf(body)));
    const means = this.#protocol.explain(status) ?? meaningOf(status);
    const message =
      `${address} responded with status ${status}${means === null ? '' : ` (${means})`}` +
      (said === '' ? '' : `: ${said}`);
    return new AttemptError(message, {
      status,
      retried: status === 429 || status < 200 || (status >= 300 && status < 400) || status >= 500,
      waitMs: retryAfterMs(headers['retry-after']),
      tooLarge: status === 413 || ((status === 400 || status === 422) && TOO_LARGE.test(said)),
    });
  }
}

/** The maximum size of a response. @param dimensions null: unknown */
function responseBytesMax(inputs: number, dimensions: number | null): number {
  const numbers = inputs * (dimensions ?? DIMENSIONS_MAX);
  return Math.min(RESPONSE_BYTES_MAX, RESPONSE_REST_BYTES + numbers * NUMBER_BYTES);
}

function meaningOf(status: number): string | null {
  switch (status) {
    case 401:
      return 'the API key is missing or wrong';
    case 403:
      return 'the API key may not do this';
    case 404:
      return 'nothing is there';
    case 429:
      return 'too many requests';
    default:
      return null;
  }
}

/** Shortens a message. REQUIRES: secrets are hidden already, since a cut secret is not found. */
function shortened(said: string): string {
  return said.slice(0, MESSAGE_LENGTH_MAX);
}

/**
 * The error message of a provider: in `error`, `message` or `detail`, possibly nested, or as plain
 * text.
 */
function messageOf(body: Buffer): string {
  const text = body.toString('utf8', 0, 64 * 1024);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return text.trim();
  }
  return typeof json === 'string' ? json : messageIn(json);
}

/** Maximum nesting at which a message is searched. */
const MESSAGE_DEPTH_MAX = 5;

function messageIn(json: unknown, depth = 0): string {
  if (depth > MESSAGE_DEPTH_MAX) return '';
  if (Array.isArray(json)) return messageIn(json[0], depth + 1);
  if (typeof json !== 'object' || json === null) return '';
  for (const name of ['error', 'message', 'detail', 'msg', 'error_message']) {
    const value: unknown = (json as Record<string, unknown>)[name];
    if (typeof value === 'string' && value !== '') return value;
    const inside = messageIn(value, depth + 1);
    if (inside !== '') return inside;
  }
  return '';
}

/** The wait of a `Retry-After` header in ms: seconds or a date (RFC 9110 10.2.3). */
function retryAfterMs(header: string | string[] | undefined): number {
  if (typeof header !== 'string') return 0;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? 0 : Math.max(0, date - Date.now());
}

/** A text that is embedded to find out the dimensions of a provider. */
const PROBE = 'test';

/** Finds out the dimensions if they are unknown. Throws like `embed`. */
export async function learnDimensions(provider: Provider, call: EmbedCall): Promise<number> {
  if (provider.dimensions === null) {
    const [embedding] = await provider.embed([PROBE], call);
    provider.dimensions = embedding!.length;
  }
  return provider.dimensions;
}

/**
 * Embedding by request to a provider: groups of inputs, attempts and their waiting, what of an
 * answer is believed. What differs between providers is their `Protocol`.
 */
import { setMaxListeners } from 'node:events';
import { ExcessiveJson, parseResponse } from '../base/json.ts';
import { err, type Result } from '../base/result.ts';
import { DIMENSIONS_MAX } from '../contract/embedders/fields.ts';
import type { Protocol } from '../contract/embedders/protocol.ts';
import type { ConcurrencyLimit } from '../outbound/concurrency-limit.ts';
import type { OutboundAnswer, OutboundClient } from '../outbound/outbound-client.ts';
import { FINAL_FAILURES, OutboundError, placeOf } from '../outbound/outbound-error.ts';
import { withRetries } from '../outbound/retry.ts';
import type { EmbedderRequests } from './embedder-requests.ts';
import { EmbeddingError } from './embedding-error.ts';

const ATTEMPTS_MAX = 11;
/** Of what a provider says of an error. */
const MESSAGE_LENGTH_MAX = 400;
/**
 * Of any answer; of what stands in it beside the numbers; of one number, which is written with
 * twenty characters at most.
 */
const ANSWER_BYTES_MAX = 256 * 2 ** 20;
const ANSWER_REST_BYTES = 2 ** 20;
const NUMBER_BYTES = 32;

/** What refuses a request for its size, if its status does not say so. */
const TOO_LARGE =
  /too (?:large|long|big|many)|(?:maximum|max) (?:batch|input|request|payload|number)|exceed|batch size/i;

export interface RequestLimits {
  timeoutMs: number;
  /** Of the wait before a retry. */
  waitMsMax: number;
}

export interface EmbedCall {
  signal?: AbortSignal | undefined;
  /** Ms since the epoch; no attempt goes on beyond it, none begins after it. */
  deadline?: number | undefined;
  requests?: EmbedderRequests | undefined;
  /** How many at once. */
  limit: ConcurrencyLimit;
  /** Told of embeddings as they come. */
  onEmbedded?: (count: number) => void;
}

/** Makes embeddings out of texts, or of fragments. */
export interface Provider {
  /** null until it is known. */
  dimensions: number | null;
  /**
   * One embedding per input, of `dimensions` numbers when these are known. Throws `EmbeddingError`,
   * or the reason of the signal.
   */
  embed(inputs: readonly unknown[], call: EmbedCall): Promise<Float32Array[]>;
}

/** An attempt without embeddings. */
class AttemptError extends Error {
  readonly retried: boolean;
  readonly status: number | null;
  /** What the provider asks for. */
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

  constructor(
    protocol: Protocol,
    dimensions: number | null,
    client: OutboundClient,
    limits: RequestLimits,
  ) {
    this.#protocol = protocol;
    this.dimensions = dimensions;
    this.#client = client;
    this.#limits = limits;
  }

  async embed(inputs: readonly unknown[], call: EmbedCall): Promise<Float32Array[]> {
    // The first failure ends the others: they would be for nothing.
    const ending = new AbortController();
    const signal =
      call.signal === undefined ? ending.signal : AbortSignal.any([call.signal, ending.signal]);
    // Each request under way listens to it.
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
        const told =
          error instanceof AttemptError
            ? new EmbeddingError(error.message, [first, first + group.length])
            : error;
        ending.abort(told);
        throw told;
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
      if (!error.tooLarge || group.length === 1) throw error;
      const half = Math.ceil(group.length / 2);
      const parts = [group.slice(0, half), group.slice(half)];
      return (await Promise.all(parts.map((part) => this.#embedGroup(part, call)))).flat();
    }
  }

  /** Each input alone. These requests are not counted. */
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
    const { deadline = Infinity, signal, limit } = call;
    const waitMs = (error: unknown, retry: number): number | null => {
      if (!(error instanceof AttemptError) || !error.retried) return null;
      const least = 10 ** retry + (error.status === 429 ? 100 : 0);
      const wait = Math.min(least, this.#limits.waitMsMax) * (0.5 + Math.random() / 2);
      const ms = Math.max(wait, Math.min(error.waitMs, this.#limits.waitMsMax));
      return Date.now() + ms < deadline ? ms : null;
    };
    return withRetries(
      () => limit.run(() => this.#attempt(group, call), signal),
      { attemptsMax: ATTEMPTS_MAX, waitMs },
      { signal },
    );
  }

  async #attempt(group: readonly unknown[], call: EmbedCall): Promise<Float32Array[]> {
    call.requests?.begin();
    const outcome = await this.#ask(group, call);
    if (outcome.ok) return outcome.value;
    call.requests?.fail(outcome.error.message);
    throw outcome.error;
  }

  async #ask(
    group: readonly unknown[],
    { signal, deadline = Infinity }: EmbedCall,
  ): Promise<Result<Float32Array[], AttemptError>> {
    const { url, headers, bodySecrets } = this.#protocol;
    const place = placeOf(new URL(url));
    let answer: OutboundAnswer;
    try {
      answer = await this.#client.fetch(
        {
          ...{ method: 'POST', url, headers, signal, bodySecrets },
          body: this.#protocol.body(group),
          timeoutMs: Math.min(this.#limits.timeoutMs, deadline - Date.now()),
        },
        { bytesMax: responseBytesMax(group.length, this.dimensions) },
      );
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      return err(new AttemptError(error.message, { retried: !FINAL_FAILURES.has(error.failure) }));
    }
    const { status } = answer;
    if (status < 200 || status >= 300) return err(this.#refusal(answer, place));
    let json: unknown;
    try {
      json = parseResponse(answer.body);
    } catch (error) {
      const excess = error instanceof ExcessiveJson ? error.message : null;
      const what = excess === null ? 'what is not JSON' : `what is not read: ${excess}`;
      const retried = excess === null;
      return err(new AttemptError(`${place} answered ${what}`, { retried, status }));
    }
    const embeddings = this.#checked(json, group.length);
    if (embeddings.ok) return embeddings;
    const said = shortened(answer.hide(messageIn(json)));
    const why = answer.hide(embeddings.error);
    const message = `${place} answered what does not fit: ${why}${said === '' ? '' : `. It says: ${said}`}`;
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

  #refusal({ status, headers, body, hide }: OutboundAnswer, place: string): AttemptError {
    const said = shortened(hide(messageOf(body)));
    const means = this.#protocol.explain(status) ?? meaningOf(status);
    const message =
      `${place} answered ${status}${means === null ? '' : ` (${means})`}` +
      (said === '' ? '' : `: ${said}`);
    return new AttemptError(message, {
      status,
      retried: status === 429 || status < 200 || (status >= 300 && status < 400) || status >= 500,
      waitMs: retryAfterMs(headers['retry-after']),
      tooLarge: status === 413 || ((status === 400 || status === 422) && TOO_LARGE.test(said)),
    });
  }
}

/** @param dimensions null: not known yet */
function responseBytesMax(inputs: number, dimensions: number | null): number {
  const numbers = inputs * (dimensions ?? DIMENSIONS_MAX);
  return Math.min(ANSWER_BYTES_MAX, ANSWER_REST_BYTES + numbers * NUMBER_BYTES);
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

/** Secrets are hidden before: half of one is one. */
function shortened(said: string): string {
  return said.slice(0, MESSAGE_LENGTH_MAX);
}

/**
 * Providers say what is wrong under `error`, `message` or `detail`, inside each other or as plain
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

/** Levels in which a message is looked for. */
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

/** Seconds or a date, as RFC 9110 10.2.3 has it. */
function retryAfterMs(header: string | string[] | undefined): number {
  if (typeof header !== 'string') return 0;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? 0 : Math.max(0, date - Date.now());
}

/** What is asked to learn how long the embeddings of a provider are. */
const PROBE = 'test';

/** Finds out the dimensions, if they are not known. Throws as `embed` does. */
export async function learnDimensions(provider: Provider, call: EmbedCall): Promise<number> {
  if (provider.dimensions === null) {
    const [embedding] = await provider.embed([PROBE], call);
    provider.dimensions = embedding!.length;
  }
  return provider.dimensions;
}

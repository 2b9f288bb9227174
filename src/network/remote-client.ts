/**
 * Requests to other servers of the network for searches: attempts, time limits, and the codes of
 * failures.
 */
import { MalformedJson } from '../base/json-scanner.ts';
import { ApiError, type ErrorCode } from '../contract/errors.ts';
import type { Remote } from '../contract/responses.ts';
import type { OutboundResponse, OutboundClient } from '../outbound/outbound-client.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import { type RetryOptions, withRetries } from '../outbound/retry.ts';
import type { HeldResponses } from './response-memory.ts';
import { KnownRemotes } from './known-remotes.ts';

const ATTEMPTS_MAX = 4;
const WAIT_MS_MAX = 100;
/** Concurrent requests to one remote; more wait. */
const REQUESTS_AT_ONCE = 64;
/** Waiting requests to one remote; more are refused. */
const WAITING_MAX = 1000;
/** Characters of a remote's response that a message quotes. */
const SHOWN_MAX = 500;

export interface RemoteRequest {
  method: 'GET' | 'POST';
  /** Path below the URL of the remote, with query. */
  path: string;
  /** Sent as JSON. */
  body?: string | undefined;
  /** Null: none. */
  apiKey: string | null;
  headers?: Readonly<Record<string, string>> | undefined;
  /** In the time of `performance.now`, ms. */
  deadline: number;
  signal?: AbortSignal;
  /** Limit of the response. */
  bytesMax: number;
  /** Memory that the response counts towards; absent: none that is shared. */
  held?: HeldResponses;
}

class Retryable extends Error {
  override readonly cause: ApiError;

  constructor(cause: ApiError) {
    super();
    this.cause = cause;
  }
}

export interface RemoteClientOptions {
  /** Replaces the timer in tests. */
  wait?: RetryOptions['wait'];
  health?: KnownRemotes;
}

export class RemoteClient {
  readonly #client: OutboundClient;
  readonly #options: RemoteClientOptions;
  readonly health: KnownRemotes;

  constructor(client: OutboundClient, options: RemoteClientOptions = {}) {
    this.#client = client;
    this.#options = options;
    this.health = options.health ?? new KnownRemotes(REQUESTS_AT_ONCE);
  }

  /**
   * Sends a request to a remote, with retries where they may help. Rejects with an `ApiError` with
   * a code for remotes, whose message contains neither URL nor key of the remote, or with the
   * reason of the signal.
   * @param read throws `MalformedJson` when the response is not what was requested; another attempt
   *   follows
   */
  async ask<T>(
    { url }: Pick<Remote, 'url'>,
    request: RemoteRequest,
    read: (body: Buffer) => T | Promise<T>,
  ): Promise<T> {
    const limit = this.health.limitOf(url);
    if (limit.waiting >= WAITING_MAX) {
      this.health.undecided(url);
      throw new ApiError(
        'proxy_could_not_send_request',
        `${WAITING_MAX} requests to the remote are waiting already.`,
      );
    }
    const { deadline, signal } = request;
    const policy = {
      attemptsMax: ATTEMPTS_MAX,
      waitMs: (error: unknown): number | null =>
        error instanceof Retryable ? Math.random() * WAIT_MS_MAX : null,
      remainingMs: () => deadline - performance.now(),
    };
    try {
      const value = await limit.run(
        () =>
          withRetries(() => this.#attempt(url, request, read), policy, {
            signal,
            wait: this.#options.wait,
          }),
        signal,
      );
      this.health.succeeded(url);
      return value;
    } catch (error) {
      const cause = error instanceof Retryable ? error.cause : error;
      if (cause instanceof ApiError && UNREACHABLE_CODES.has(cause.code)) this.health.failed(url);
      else this.health.undecided(url);
      throw cause;
    }
  }

  async #attempt<T>(
    url: string,
    request: RemoteRequest,
    read: (body: Buffer) => T | Promise<T>,
  ): Promise<T> {
    const { held } = request;
    let taken = 0;
    const admit = (bytes: number): boolean => {
      if (held?.take(bytes) === false) return false;
      taken += bytes;
      return true;
    };
    try {
      return await this.#read(url, request, admit, read);
    } catch (error) {
      held?.giveBack(taken);
      throw error;
    }
  }

  async #read<T>(
    url: string,
    request: RemoteRequest,
    admit: (bytes: number) => boolean,
    read: (body: Buffer) => T | Promise<T>,
  ): Promise<T> {
    const { method, path, body, apiKey, headers, deadline, signal, bytesMax } = request;
    let response: OutboundResponse;
    try {
      response = await this.#client.fetch(
        {
          method,
          url: url.replace(/\/+$/, '') + path,
          headers: {
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
            ...headers,
          },
          ...(body === undefined ? {} : { body }),
          timeoutMs: Math.max(0, deadline - performance.now()),
          idleTimeoutMs: Math.max(1, deadline - performance.now()),
          signal,
        },
        { bytesMax, admit },
      );
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      signal?.throwIfAborted();
      throw sendingFailed(error);
    }
    const refusal = refusalOf(response);
    if (refusal !== null) throw refusal;
    try {
      return await read(response.body);
    } catch (error) {
      if (!(error instanceof MalformedJson)) throw error;
      throw new Retryable(
        new ApiError(
          'remote_bad_response',
          `The remote's response is not understood: ${error.message}.`,
        ),
      );
    }
  }
}

/** Codes that mean that a remote is unreachable or unable to respond. */
const UNREACHABLE_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'proxy_could_not_send_request',
  'remote_timeout',
  'remote_remote_error',
]);

function sendingFailed({ failure }: OutboundError): Error {
  switch (failure) {
    case 'timeout':
      return new ApiError('remote_timeout', 'The remote did not respond within the time limit.');
    case 'responseTooLarge':
      return new ApiError(
        'remote_bad_response',
        'The response of the remote is too large, or those of all remotes together are.',
      );
    case 'addressRefused':
      return new ApiError(
        'proxy_could_not_send_request',
        'Connections to the address of the remote are not allowed (see --outbound-deny-private and --outbound-allow).',
      );
    case 'invalidRequest':
      return new ApiError(
        'proxy_could_not_send_request',
        'The request cannot be sent: the URL or the key of the remote is not usable.',
      );
    case 'unreachable':
      return couldNotSend('the remote cannot be reached');
    case 'canceled':
      return new ApiError('proxy_could_not_send_request', 'This server stops.');
    default:
      return couldNotSend('the connection to the remote broke');
  }
}

function couldNotSend(reason: string): Retryable {
  return new Retryable(
    new ApiError('proxy_could_not_send_request', `Asking the remote failed: ${reason}.`),
  );
}

/** The error that an unsuccessful status means; null: it is a success. */
function refusalOf({ status, body, hide }: OutboundResponse): Error | null {
  if (status >= 200 && status < 300) return null;
  if (status === 401 || status === 403) {
    return new ApiError(
      'remote_invalid_api_key',
      `The remote refuses access (status ${status}); check its key in the network of this server.`,
    );
  }
  const shown = hide(body.toString('utf8', 0, 8 * SHOWN_MAX)).slice(0, SHOWN_MAX);
  if (status >= 500) {
    return new Retryable(
      new ApiError('remote_remote_error', `The remote failed with status ${status}: ${shown}`),
    );
  }
  return new ApiError('remote_bad_request', `The remote responded with status ${status}: ${shown}`);
}

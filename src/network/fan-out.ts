/** Sends one request to each of several servers of the network, concurrently. */
import type { CancelSignal } from '../base/cancel-signal.ts';
import { ApiError } from '../contract/errors.ts';
import { NO_NETWORK } from '../contract/network.ts';
import type { Network, Remote } from '../contract/responses.ts';
import { ResponseMemory, type HeldResponses } from './response-memory.ts';
import type { RemoteClient } from './remote-client.ts';

/** A request to a remote. */
export interface RemoteQuestion {
  method: 'GET' | 'POST';
  path: string;
  /** JSON. */
  body?: string | undefined;
  /** Which of its keys is sent. */
  key: (remote: Remote) => string | null;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Skipped while the remote rests after a failure: the client has not named it. */
  isOptional: boolean;
}

export interface FanOutOptions {
  /** null: the feature is off. */
  network: () => Network | null;
  client: RemoteClient;
  /** Time limit for all requests together, ms. */
  msMax: number;
  /**
   * Limit of one response. The responses of one request may take twice as many bytes together,
   * those of all requests eight times as many.
   */
  bytesMax: number;
}

export interface RemoteResponses<T> {
  /** By name, in the order of the questions. */
  responses: Map<string, T>;
  errors: Record<string, ApiError>;
}

/** The caller's signal, and the memory that counts the responses to it. */
export interface Asker {
  signal: CancelSignal;
  held: HeldResponses;
}

export class FanOut {
  readonly #options: FanOutOptions;
  readonly #memory: ResponseMemory;

  constructor(options: FanOutOptions) {
    this.#options = options;
    this.#memory = new ResponseMemory(2 * options.bytesMax, 8 * options.bytesMax);
  }

  /** Responses may be held while `run` is running. */
  holding<T>(run: (held: HeldResponses) => Promise<T>): Promise<T> {
    return this.#memory.holding(run);
  }

  get isOn(): boolean {
    return this.#options.network() !== null;
  }

  get network(): Network {
    return this.#options.network() ?? NO_NETWORK;
  }

  /** Names of the other servers, in the listed order. */
  get others(): string[] {
    const { self, remotes } = this.network;
    return Object.keys(remotes).filter((name) => name !== self);
  }

  /** Whether this server takes part in searches of the whole network. */
  get isMember(): boolean {
    return this.network.self !== null || this.others.length === 0;
  }

  /**
   * Failures of remotes are part of the result. Rejects with the reason of the signal, or with what
   * `read` throws except `MalformedJson`.
   */
  async ask<T>(
    questions: ReadonlyMap<string, RemoteQuestion>,
    read: (body: Buffer) => T | Promise<T>,
    held: HeldResponses,
    signal: AbortSignal,
  ): Promise<RemoteResponses<T>> {
    const { client, msMax } = this.#options;
    const { remotes } = this.network;
    client.health.keep(new Set(Object.values(remotes).map(({ url }) => url)));
    const deadline = performance.now() + msMax;
    const responses = new Map<string, T>();
    const errors = new Map<string, ApiError>();
    const asked = [...questions].map(async ([name, question]) => {
      try {
        const value = await this.#one(remotes[name], question, read, held, deadline, signal);
        return { name, value };
      } catch (error) {
        if (error instanceof ApiError && !signal.aborted) return { name, error };
        throw error;
      }
    });
    for (const one of await Promise.all(asked)) {
      if ('error' in one) errors.set(one.name, one.error);
      else responses.set(one.name, one.value);
    }
    return { responses, errors: Object.fromEntries(errors) };
  }

  /**
   * Like `ask`, while this server runs `here`. A failure of `here` fails the request and cancels
   * the others.
   */
  async askConcurrently<T>(
    here: (() => Promise<T>) | null,
    questions: ReadonlyMap<string, RemoteQuestion>,
    read: (body: Buffer) => T | Promise<T>,
    { held, signal }: Asker,
  ): Promise<RemoteResponses<T> & { here: T | null }> {
    const ending = new AbortController();
    signal.onAbort(() => ending.abort(new Error('the client went away')));
    const asked = this.ask(questions, read, held, ending.signal);
    asked.catch(() => {});
    try {
      const own = here === null ? null : await here();
      return { ...(await asked), here: own };
    } catch (error) {
      ending.abort(error);
      throw error;
    }
  }

  async #one<T>(
    remote: Remote | undefined,
    { method, path, body, key, headers, isOptional }: RemoteQuestion,
    read: (body: Buffer) => T | Promise<T>,
    held: HeldResponses,
    deadline: number,
    signal: AbortSignal,
  ): Promise<T> {
    const { client, bytesMax } = this.#options;
    if (remote === undefined)
      throw new ApiError('unknown_remote', 'The network has no such remote.');
    if (isOptional && !client.health.admits(remote.url)) {
      throw new ApiError(
        'proxy_could_not_send_request',
        'The remote failed recently and is skipped for a while.',
      );
    }
    return client.ask(
      remote,
      { method, path, body, headers, apiKey: key(remote), deadline, signal, bytesMax, held },
      read,
    );
  }
}

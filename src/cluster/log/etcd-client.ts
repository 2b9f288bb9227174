/**
 * The calls of etcd that the log needs, over its JSON gateway (versions 3.4 and later), through the
 * shared outbound client. In the JSON, keys and values are base64, 64-bit numbers are strings, and
 * fields with their default value are omitted.
 */
import {
  OutboundClient,
  type OutboundOptions,
  type OutboundResponse,
} from '../../outbound/outbound-client.ts';
import { OutboundError } from '../../outbound/outbound-error.ts';
import { RefusedError, UnavailableError } from '../errors.ts';

const TIMEOUT_MS = 3000;
/** A watch without events is silent. The heartbeat of the node notices when it is dead. */
const WATCH_IDLE_MS = 24 * 3600 * 1000;
const RESPONSE_BYTES_MAX = 64 * 2 ** 20;

/** gRPC codes. */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const EXHAUSTED = 8;
const UNAUTHENTICATED = 16;

export interface EtcdOptions {
  /** URL of each member, such as `http://10.0.0.1:2379`. */
  readonly endpoints: readonly string[];
  readonly user?: { readonly name: string; readonly password: string } | undefined;
  /**
   * For `https` (PEM). Absent: the authorities of Node are trusted, and no certificate is shown.
   */
  readonly tls?: Pick<OutboundOptions, 'authorities' | 'identity'>;
}

/** The client for requests to etcd. */
export function etcdClientOf({ tls }: EtcdOptions): OutboundClient {
  // These addresses come from the person who starts the server.
  return new OutboundClient({ denyPrivate: false, allow: [], ...tls });
}

export interface KeyValue {
  readonly key: Buffer;
  readonly value: Buffer;
  /** The revision in which the key was created. */
  readonly created: number;
}

/**
 * etcd has answered a call with an error, and no longer works on it. The call has changed nothing,
 * unless `isFull`: a transaction that reaches the quota while it is applied stays applied.
 */
export class EtcdRefusal extends UnavailableError {
  readonly isNotFound: boolean;
  /** Whether the quota is reached, the request is too large, or there are too many requests. */
  readonly isFull: boolean;

  constructor(code: number, message: string) {
    super(`etcd: ${message}`);
    this.isNotFound = code === NOT_FOUND;
    this.isFull = code === EXHAUSTED || code === INVALID_ARGUMENT;
  }
}

interface Failure {
  code?: number;
  message?: string;
  error?: string | Failure;
}

export class EtcdClient {
  readonly #options: EtcdOptions;
  readonly #client: OutboundClient;
  #endpoint = 0;
  #token: Promise<string> | null = null;

  constructor(options: EtcdOptions, client: OutboundClient) {
    this.#options = options;
    this.#client = client;
  }

  /**
   * Throws `EtcdRefusal`, or `UnavailableError` when etcd may have executed the call or may still
   * do so.
   */
  async call<T>(path: string, body: object): Promise<T> {
    const response = await this.#post(path, body);
    if (response.status === 200) return parse<T>(response.body.toString());
    const failure = failureOf(response);
    if (failure.code === UNAUTHENTICATED && this.#options.user !== undefined) {
      this.#token = null;
      throw new UnavailableError('etcd: the token has ended');
    }
    if (failure.code === UNAUTHENTICATED || failure.message.includes(NO_NAME)) {
      throw new RefusedError('etcd asks for a name and a password: --cluster-etcd-user');
    }
    if (failure.code === PERMISSION_DENIED) {
      throw new RefusedError(
        'The user of etcd may not read and write the keys that begin with `gannet/` and the name ' +
          'of the cluster',
      );
    }
    if ([INVALID_ARGUMENT, NOT_FOUND, EXHAUSTED].includes(failure.code)) {
      throw new EtcdRefusal(failure.code, failure.message);
    }
    this.#rotate();
    throw new UnavailableError(`etcd: ${failure.message}`);
  }

  /** The responses of a call that stays open until `signal`. */
  async *stream<T>(path: string, body: object, signal: AbortSignal): AsyncGenerator<T, undefined> {
    try {
      const stream = await this.#client.stream({
        ...(await this.#request(path, body)),
        idleTimeoutMs: WATCH_IDLE_MS,
        signal,
      });
      if (stream.status !== 200) {
        stream.discard();
        throw new UnavailableError(`etcd answers a watch with status ${stream.status}`);
      }
      for await (const line of lines(stream.body)) {
        const { result, error } = parse<{ result?: T; error?: Failure }>(line);
        if (error !== undefined)
          throw new UnavailableError(`etcd: ${error.message ?? 'no reason'}`);
        if (result !== undefined) yield result;
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#rotate();
      throw error instanceof OutboundError ? new UnavailableError(error.message) : error;
    }
  }

  async #post(path: string, body: object): Promise<OutboundResponse> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#client.fetch(await this.#request(path, body), {
          bytesMax: RESPONSE_BYTES_MAX,
        });
      } catch (error) {
        if (!(error instanceof OutboundError)) throw error;
        this.#rotate();
        // The request was not sent, so another member can be tried at once.
        const isUnsent = error.failure === 'unreachable';
        if (isUnsent && attempt < this.#options.endpoints.length) continue;
        throw new UnavailableError(error.message);
      }
    }
  }

  async #request(
    path: string,
    body: object,
  ): Promise<{
    method: 'POST';
    url: string;
    headers: Record<string, string>;
    body: string;
    timeoutMs: number;
  }> {
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (this.#options.user !== undefined && path !== AUTHENTICATE) {
      this.#token ??= this.#authenticate(this.#options.user);
      try {
        headers.authorization = await this.#token;
      } catch (error) {
        this.#token = null;
        throw error;
      }
    }
    const base = this.#options.endpoints[this.#endpoint % this.#options.endpoints.length]!;
    const url = new URL(`/v3/${path}`, base);
    return {
      method: 'POST',
      url: url.href,
      headers,
      body: JSON.stringify(body),
      timeoutMs: TIMEOUT_MS,
    };
  }

  async #authenticate(user: { name: string; password: string }): Promise<string> {
    try {
      return (await this.call<{ token: string }>(AUTHENTICATE, user)).token;
    } catch (error) {
      if (!(error instanceof EtcdRefusal)) throw error;
      throw new RefusedError('etcd does not accept the name and password');
    }
  }

  #rotate(): void {
    this.#endpoint++;
  }
}

const AUTHENTICATE = 'auth/authenticate';
/** Beginning of what the gateway sends instead of JSON. */
const NAMED_CERTIFICATE = 'CommonName of client';
/** How etcd calls a request without a token. */
const NO_NAME = 'user name is empty';

function parse<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new UnavailableError('The response of etcd is not JSON');
  }
}

function failureOf({ status, body }: OutboundResponse): { code: number; message: string } {
  const text = body.toString();
  if (text.startsWith(NAMED_CERTIFICATE)) {
    throw new RefusedError(
      'etcd asks for a password, and then takes no client certificate that has a CommonName: ' +
        'make one without, for example with the subject /O=gannet',
    );
  }
  let failure: Failure = {};
  try {
    failure = JSON.parse(text) as Failure;
  } catch {
    // A proxy may send something else, for example.
  }
  const { code = 0, message = `status ${status}` } = failure;
  return { code, message };
}

async function* lines(body: AsyncIterable<Buffer>): AsyncGenerator<string, undefined> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      yield Buffer.concat([...pieces, chunk.subarray(from, end)]).toString();
      [pieces, bytes, from] = [[], 0, end + 1];
    }
    pieces.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > RESPONSE_BYTES_MAX) throw new UnavailableError('A response of etcd is too large');
  }
}

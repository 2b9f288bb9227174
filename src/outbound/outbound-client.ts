/**
 * The client for all outgoing requests: embedding and chat providers, webhooks, remotes, export
 * targets. Connections are reused. Redirects are not followed, so that credentials are sent only to
 * the host they were configured for; a 3xx status is returned like any other.
 *
 * The address policy is checked three times: for an address in the URL, for the addresses that a
 * name resolves to (the connection uses exactly these), and for the peer of the socket before
 * anything is sent.
 */
import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Agent, buildConnector, Dispatcher } from 'undici';
import { activeSpan } from '../base/tracing.ts';
import { SecretFilter, unescaped } from '../base/secrets.ts';
import { AddressPolicy, type AddressPolicyOptions } from './address-policy.ts';
import { OutboundCounts } from './outbound-counts.ts';
import { type OutboundFailure, OutboundError, addressOf } from './outbound-error.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const RESPONSE_BYTES_MAX = 64 * 2 ** 20;
const IDLE_TIMEOUT_MS = 60_000;

/** Error codes of undici for a request with an invalid header or URL. */
const INVALID_CODES = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);
const TIMEOUT_CODES = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);
const CLOSED_CODES = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED', 'UND_ERR_ABORTED']);
/** Error codes for an unreachable host. Certificate errors have codes of OpenSSL. */
const UNREACHABLE_CODES =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES|EPERM|ENETDOWN|EHOSTDOWN|ERR_TLS_\w+|ERR_SSL_\w+|CERT_\w+|\w*_CERT\w*|UNABLE_TO_\w+)$/;

export interface OutboundRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** An absolute http or https URL. A user and password in it become the header `authorization`. */
  url: string | URL;
  headers?: Readonly<Record<string, string>>;
  /**
   * A stream or generator is sent in chunks as it is produced, with backpressure from the receiver.
   */
  body?: string | Uint8Array | Readable | AsyncIterable<Uint8Array>;
  /** The parts of the body that can contain credentials: embedder settings, or a body template. */
  bodySecrets?: unknown;
  /** Maximum ms until the response headers arrive; with `fetch`, until the response is complete. */
  timeoutMs: number;
  /** Maximum ms between two chunks of the response body. */
  idleTimeoutMs?: number;
  /** Aborts the request, also while connecting and while the response body is read. */
  signal?: AbortSignal | undefined;
}

export interface OutboundHead {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /**
   * Returns the beginning of a text of the response without the credentials of the request. Use it
   * for every text that is shown.
   */
  hide(text: string): string;
}

/** `body` must be read to its end or discarded; until then its connection is in use. */
export interface OutboundStream extends OutboundHead {
  /** The bytes as they arrive. Throws `OutboundError`. */
  body: AsyncIterableIterator<Buffer>;
  /** Discards the rest of the body. May be called twice. */
  discard(): void;
}

export interface OutboundResponse extends OutboundHead {
  body: Buffer;
}

export interface OutboundOptions extends AddressPolicyOptions {
  /** Certificate authorities to trust instead of those of Node (PEM). */
  authorities?: string;
  /** Shown to servers that ask who connects (PEM). */
  identity?: { readonly certificate: string; readonly key: string };
  /** false: requests are part of no trace. */
  isTraced?: boolean;
  /** Maximum ms to connect. Default: 10 s. */
  connectMsMax?: number;
  /** Replaces name resolution in tests. */
  lookup?: typeof dnsLookup;
}

/** How often the end of a connection is delivered until the response before it is read. */
const END_RETRY_MS = 20;

/** Thrown inside a connection attempt. */
class AddressRefused extends Error {
  readonly code = 'GANNET_ADDRESS_REFUSED';
}

export class OutboundClient {
  readonly counts = new OutboundCounts();
  readonly #policy: AddressPolicy;
  readonly #options: OutboundOptions;
  #agent: Promise<Agent> | null = null;
  #closed = false;

  /** Throws if an item of `allow` is not a network. */
  constructor(options: OutboundOptions) {
    this.#policy = new AddressPolicy(options);
    this.#options = options;
  }

  /**
   * Sends a request and reads the whole response. Throws only `OutboundError`.
   * @param bytesMax maximum size of the body; null: the body is read and discarded
   * @param admit called with the size of each chunk; false: there is no memory for it, and the
   * request fails
   */
  async fetch(
    request: OutboundRequest,
    {
      bytesMax = RESPONSE_BYTES_MAX,
      admit = () => true,
    }: { bytesMax?: number | null; admit?: (bytes: number) => boolean } = {},
  ): Promise<OutboundResponse> {
    const sent = await this.#send(request);
    try {
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of sent.stream.body) {
        if (bytesMax === null) continue;
        bytes += chunk.length;
        if (bytes > bytesMax) {
          throw new OutboundError(
            'responseTooLarge',
            `The response of ${sent.address} has more than ${bytesMax} bytes`,
          );
        }
        if (!admit(chunk.length)) {
          throw new OutboundError(
            'responseTooLarge',
            `There is no memory left for the response of ${sent.address}`,
          );
        }
        chunks.push(chunk);
      }
      const { status, headers, hide } = sent.stream;
      return { status, headers, hide, body: Buffer.concat(chunks, bytes) };
    } finally {
      sent.end();
      sent.stream.discard();
    }
  }

  /**
   * Sends a request and resolves as soon as the response headers have arrived. Throws only
   * `OutboundError`.
   */
  async stream(request: OutboundRequest): Promise<OutboundStream> {
    const { stream, end } = await this.#send(request);
    end();
    return stream;
  }

  /** Aborts the requests in progress. Later requests are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#agent !== null) await (await this.#agent).destroy();
  }

  /** @returns the response, and `end`, which stops the timer of `timeoutMs` */
  async #send(
    request: OutboundRequest,
  ): Promise<{ stream: OutboundStream; address: string; end: () => void }> {
    const url = parseUrl(request.url);
    const address = addressOf(url);
    if (request.signal?.aborted === true || this.#closed) throw canceled(address);
    this.#checkHost(url);
    const ending = new AbortController();
    const expire = (): void => {
      ending.abort(
        new OutboundError('timeout', `${address} did not answer within ${request.timeoutMs} ms`),
      );
    };
    const timer = setTimeout(expire, Math.max(0, request.timeoutMs));
    const span = this.#options.isTraced === false ? undefined : activeSpan();
    const ofRequest = span?.child(request.method, 'client', {
      'http.request.method': request.method,
      'server.address': url.hostname,
    });
    const cancel = (): void => ending.abort(canceled(address));
    request.signal?.addEventListener('abort', cancel, { once: true });
    const release = (): void => {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', cancel);
    };
    try {
      const response = await this.#dispatch(
        url,
        ofRequest === undefined
          ? request
          : { ...request, headers: { ...request.headers, ...ofRequest.headers } },
        ending.signal,
      );
      const { statusCode } = response;
      ofRequest?.end({ 'http.response.status_code': statusCode }, statusCode >= 400);
      const stream = {
        status: response.statusCode,
        headers: response.headers,
        hide: hider(url, request),
        body: readBody(response.body, address, ending.signal, release),
        discard: (): void => {
          release();
          discard(response.body);
        },
      };
      return { stream, address, end: () => clearTimeout(timer) };
    } catch (error) {
      release();
      const failure = toOutboundError(error, address, ending.signal);
      ofRequest?.end({ 'error.type': failure.failure }, true);
      throw failure;
    }
  }

  async #dispatch(
    url: URL,
    request: OutboundRequest,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const agent = await (this.#agent ??= this.#open());
    const { headers, origin } = target(url, request.headers);
    const response = agent.request({
      origin,
      path: `${url.pathname}${url.search}`,
      method: request.method,
      headers,
      body: (request.body ?? null) as string | Uint8Array | Readable | null,
      signal,
      // Timeouts are handled here, because undici's timers have a resolution of half a second.
      headersTimeout: 0,
      bodyTimeout: request.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
    });
    // undici checks the signal only once the request has a connection.
    return untilAborted(response, signal, (late) => discard(late.body));
  }

  /** Checks an address in the URL, which is never passed to name resolution. */
  #checkHost(url: URL): void {
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !this.#policy.allows(host)) throw refused(addressOf(url));
  }

  /** Loads undici on first use, because most servers send no requests. */
  async #open(): Promise<Agent> {
    const { Agent: AgentClass, buildConnector: build } = await import('undici');
    const { connectMsMax = CONNECT_TIMEOUT_MS, authorities, identity } = this.#options;
    const connect = build({
      timeout: connectMsMax,
      lookup: this.#lookup,
      ...(authorities === undefined ? {} : { ca: authorities }),
      ...(identity === undefined ? {} : { cert: identity.certificate, key: identity.key }),
    } as buildConnector.BuildOptions);
    return new AgentClass({
      connect: (options, callback) => {
        connect(options, (error, socket) => {
          if (error !== null) callback(error, null);
          else if (!this.#policy.allows((socket as Socket).remoteAddress ?? '')) {
            socket.destroy();
            callback(new AddressRefused(), null);
          } else {
            holdEnd(socket as Socket);
            callback(null, socket);
          }
        });
      },
    });
  }

  /** Returns only the allowed addresses, and fails if there are none. */
  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    const lookup = this.#options.lookup ?? dnsLookup;
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const allowed = (found as LookupAddress[]).filter(({ address }) =>
        this.#policy.allows(address),
      );
      const [first] = allowed;
      if (first === undefined) callback(new AddressRefused(), []);
      else if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

/**
 * Delivers the end of a connection only when undici can take it. Version 7 fails with an assertion
 * in its listener, where nobody can catch it and the process would end, when the server closes the
 * connection after a response that nobody reads at the moment (nodejs/undici#5360). Version 8 does
 * not, but needs Node 22.
 */
function holdEnd(socket: Socket): void {
  // Otherwise Node closes the socket at the end, and undici reads no more of the response.
  socket.allowHalfOpen = true;
  const emit = socket.emit.bind(socket) as (name: string, ...values: unknown[]) => boolean;
  const end = (): boolean => {
    if (socket.destroyed) return false;
    try {
      emit('end');
      socket.end();
    } catch (error) {
      if (codeIn(error) !== 'ERR_ASSERTION') throw error;
      setTimeout(end, END_RETRY_MS);
    }
    return true;
  };
  socket.emit = (name: string, ...values: unknown[]) =>
    name === 'end' ? end() : emit(name, ...values);
}

/** Creates `hide`. The secrets are collected on first use, because most responses are not shown. */
function hider(url: URL, { headers = {}, bodySecrets }: OutboundRequest): (text: string) => string {
  let filter: SecretFilter | null = null;
  return (text) => (filter ??= new SecretFilter({ url, headers, body: bodySecrets })).hide(text);
}

function parseUrl(text: string | URL): URL {
  let url: URL | null = null;
  try {
    url = new URL(text);
  } catch {
    // Reported below.
  }
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new OutboundError('invalidRequest', 'The URL is not an absolute http or https URL');
  }
  return url;
}

function target(
  url: URL,
  given: Readonly<Record<string, string>> = {},
): { origin: string; headers: Record<string, string> } {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) headers[name.toLowerCase()] = value;
  if ((url.username !== '' || url.password !== '') && headers.authorization === undefined) {
    const pair = `${unescaped(url.username)}:${unescaped(url.password)}`;
    headers.authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
  }
  headers['user-agent'] ??= 'gannet';
  return { origin: url.origin, headers };
}

/** @param late takes a value that arrives after the signal */
async function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  late: (value: T) => void,
): Promise<T> {
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } catch (error) {
    work.then(late, () => {});
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function* readBody(
  body: Readable,
  address: string,
  signal: AbortSignal,
  release: () => void,
): AsyncGenerator<Buffer, undefined> {
  try {
    for await (const chunk of body) yield chunk as Buffer;
  } catch (error) {
    throw toOutboundError(error, address, signal);
  } finally {
    release();
    discard(body);
  }
}

/** Closes the connection of an unread body, because its remaining size is unknown. */
function discard(body: Readable): void {
  // Destroying the body emits an error event.
  body.on('error', () => {});
  body.destroy();
}

function canceled(address: string): OutboundError {
  return new OutboundError('canceled', `The request to ${address} was canceled`);
}

function refused(address: string): OutboundError {
  return new OutboundError(
    'addressRefused',
    `Connections to the address of ${address} are not allowed (see --outbound-deny-private and --outbound-allow)`,
  );
}

/**
 * Only the code of an error is reported, because messages of libraries may contain what was sent.
 */
function toOutboundError(error: unknown, address: string, signal: AbortSignal): OutboundError {
  if (signal.aborted && signal.reason instanceof OutboundError) return signal.reason;
  if (error instanceof OutboundError) return error;
  const code = codeOf(error);
  const failure = failureOf(code);
  switch (failure) {
    case 'addressRefused':
      return refused(address);
    case 'canceled':
      return canceled(address);
    case 'invalidRequest':
      return new OutboundError(failure, `A request to ${address} cannot be sent (${code})`);
    case 'timeout':
      return new OutboundError(failure, `${address} did not answer in time (${code})`);
    case 'unreachable':
      return new OutboundError(failure, `${address} cannot be reached (${code})`);
    default:
      return new OutboundError('broken', `The connection to ${address} broke (${code})`);
  }
}

function failureOf(code: string): OutboundFailure {
  if (code === 'GANNET_ADDRESS_REFUSED') return 'addressRefused';
  if (CLOSED_CODES.has(code)) return 'canceled';
  if (INVALID_CODES.has(code)) return 'invalidRequest';
  if (TIMEOUT_CODES.has(code)) return 'timeout';
  return UNREACHABLE_CODES.test(code) ? 'unreachable' : 'broken';
}

function codeOf(error: unknown): string {
  // If several addresses failed, the error of the first one is reported.
  const first: unknown =
    error instanceof AggregateError && codeIn(error) === null ? error.errors[0] : error;
  return codeIn(first) ?? 'no code';
}

function codeIn(error: unknown): string | null {
  const code: unknown = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : null;
}

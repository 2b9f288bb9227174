/**
 * The one client for requests that the server sends to others: embedding and chat providers,
 * webhooks, remotes, export targets. Connections are kept. Redirects are not followed: a status of
 * 3xx is an answer like any other, so credentials reach nobody but the host they were given for.
 *
 * The address policy is asked three times: for an address in the URL itself, for what a name
 * resolves to (the connection goes to exactly these addresses), and for the peer of the socket
 * before anything is sent.
 */
import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Agent, buildConnector, Dispatcher } from 'undici';
import { SecretFilter, unescaped } from '../base/secrets.ts';
import { AddressPolicy, type AddressPolicyOptions } from './address-policy.ts';
import { type OutboundFailure, OutboundError, placeOf } from './outbound-error.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const ANSWER_BYTES_MAX = 64 * 2 ** 20;
const IDLE_TIMEOUT_MS = 60_000;

/** What undici calls a request that cannot be sent as it is; the header or the URL is at fault. */
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
/** Nobody was reached. Certificates fail with codes of OpenSSL. */
const UNREACHABLE_CODES =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES|EPERM|ENETDOWN|EHOSTDOWN|ERR_TLS_\w+|ERR_SSL_\w+|CERT_\w+|\w*_CERT\w*|UNABLE_TO_\w+)$/;

export interface OutboundRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute, http or https. A user and password in it become the header `authorization`. */
  url: string | URL;
  headers?: Readonly<Record<string, string>>;
  /**
   * A stream or generator is sent as it is produced, in chunks, no faster than the other side
   * reads.
   */
  body?: string | Uint8Array | Readable | AsyncIterable<Uint8Array>;
  /** What of the body can hold credentials: settings of embedders, or the template of the body. */
  bodySecrets?: unknown;
  /** Ms until the head of the answer is there; with `fetch` until all of it is. */
  timeoutMs: number;
  /** Ms that the body of the answer may pause. */
  idleTimeoutMs?: number;
  /** Ends the request at once: also while connecting, and while the body of the answer is read. */
  signal?: AbortSignal | undefined;
}

export interface OutboundHead {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /**
   * The beginning of a text of the answer, without the credentials of the request: whatever is
   * shown goes through it.
   */
  hide(text: string): string;
}

/** The body of `body` must be read to its end or destroyed: its connection is not free before. */
export interface OutboundStream extends OutboundHead {
  /** Bytes as they come. Errors of it are `OutboundError`s. */
  body: AsyncIterableIterator<Buffer>;
  /** Gives up the rest of the body. May be called twice. */
  discard(): void;
}

export interface OutboundAnswer extends OutboundHead {
  body: Buffer;
}

export interface OutboundOptions extends AddressPolicyOptions {
  /** Authorities beside those of Node (PEM). */
  authorities?: string;
  /** Ms to connect; 10 s by default. */
  connectMsMax?: number;
  /** Replaces name resolution in tests. */
  lookup?: typeof dnsLookup;
}

/** Thrown inside a connection attempt. */
class AddressRefused extends Error {
  readonly code = 'GANNET_ADDRESS_REFUSED';
}

export class OutboundClient {
  readonly #policy: AddressPolicy;
  readonly #options: OutboundOptions;
  #agent: Promise<Agent> | null = null;
  #closed = false;

  /** Throws when an item of `allow` is no network. */
  constructor(options: OutboundOptions) {
    this.#policy = new AddressPolicy(options);
    this.#options = options;
  }

  /**
   * Sends a request and reads the whole answer. Throws `OutboundError` alone.
   * @param bytesMax of the body; null: it is read to its end, and dropped as it comes
   * @param admit asked for the bytes of each piece of the body; false: the answer is too large
   */
  async fetch(
    request: OutboundRequest,
    {
      bytesMax = ANSWER_BYTES_MAX,
      admit = () => true,
    }: { bytesMax?: number | null; admit?: (bytes: number) => boolean } = {},
  ): Promise<OutboundAnswer> {
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
            `The answer of ${sent.place} has more than ${bytesMax} bytes`,
          );
        }
        if (!admit(chunk.length)) {
          throw new OutboundError(
            'responseTooLarge',
            `There is no room for the answer of ${sent.place}`,
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
   * Sends a request and answers as soon as the head of the answer is there. Throws `OutboundError`
   * alone.
   */
  async stream(request: OutboundRequest): Promise<OutboundStream> {
    const { stream, end } = await this.#send(request);
    end();
    return stream;
  }

  /** Breaks off what is under way; later requests are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#agent !== null) await (await this.#agent).destroy();
  }

  /** @returns the answer, and `end`, which stops the clock of `timeoutMs` */
  async #send(
    request: OutboundRequest,
  ): Promise<{ stream: OutboundStream; place: string; end: () => void }> {
    const url = parseUrl(request.url);
    const place = placeOf(url);
    if (request.signal?.aborted === true || this.#closed) throw canceled(place);
    this.#checkHost(url);
    const ending = new AbortController();
    const expire = (): void => {
      ending.abort(
        new OutboundError('timeout', `${place} did not answer within ${request.timeoutMs} ms`),
      );
    };
    const timer = setTimeout(expire, Math.max(0, request.timeoutMs));
    const cancel = (): void => ending.abort(canceled(place));
    request.signal?.addEventListener('abort', cancel, { once: true });
    const release = (): void => {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', cancel);
    };
    try {
      const answer = await this.#dispatch(url, request, ending.signal);
      const stream = {
        status: answer.statusCode,
        headers: answer.headers,
        hide: hider(url, request),
        body: readBody(answer.body, place, ending.signal, release),
        discard: (): void => {
          release();
          discard(answer.body);
        },
      };
      return { stream, place, end: () => clearTimeout(timer) };
    } catch (error) {
      release();
      throw toOutboundError(error, place, ending.signal);
    }
  }

  async #dispatch(
    url: URL,
    request: OutboundRequest,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const agent = await (this.#agent ??= this.#open());
    const { headers, origin } = target(url, request.headers);
    const answer = agent.request({
      origin,
      path: `${url.pathname}${url.search}`,
      method: request.method,
      headers,
      body: (request.body ?? null) as string | Uint8Array | Readable | null,
      signal,
      // The whole is timed here; undici's own clock has a resolution of half a second.
      headersTimeout: 0,
      bodyTimeout: request.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
    });
    // undici notices a signal only once the request has a connection.
    return untilAborted(answer, signal, (late) => discard(late.body));
  }

  /** An address in the URL never reaches name resolution. */
  #checkHost(url: URL): void {
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !this.#policy.allows(host)) throw refused(placeOf(url));
  }

  /** Loaded when first needed: most servers never send anything. */
  async #open(): Promise<Agent> {
    const { Agent: AgentClass, buildConnector: build } = await import('undici');
    const connect = build({
      timeout: this.#options.connectMsMax ?? CONNECT_TIMEOUT_MS,
      lookup: this.#lookup,
      ...(this.#options.authorities === undefined ? {} : { ca: this.#options.authorities }),
    } as buildConnector.BuildOptions);
    return new AgentClass({
      connect: (options, callback) => {
        connect(options, (error, socket) => {
          if (error !== null) callback(error, null);
          else if (!this.#policy.allows((socket as Socket).remoteAddress ?? '')) {
            socket.destroy();
            callback(new AddressRefused(), null);
          } else callback(null, socket);
        });
      },
    });
  }

  /** Passes on the addresses that are allowed, and fails when none is. */
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

/** Made when something is to be hidden: most answers are not shown. */
function hider(url: URL, { headers = {}, bodySecrets }: OutboundRequest): (text: string) => string {
  let filter: SecretFilter | null = null;
  return (text) => (filter ??= new SecretFilter({ url, headers, body: bodySecrets })).hide(text);
}

function parseUrl(text: string | URL): URL {
  let url: URL | null = null;
  try {
    url = new URL(text);
  } catch {
    // Told below.
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

/** @param late takes a value that comes after the signal */
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
  place: string,
  signal: AbortSignal,
  release: () => void,
): AsyncGenerator<Buffer, undefined> {
  try {
    for await (const chunk of body) yield chunk as Buffer;
  } catch (error) {
    throw toOutboundError(error, place, signal);
  } finally {
    release();
    discard(body);
  }
}

/** The connection of an unread body is closed: nobody knows how much is still to come. */
function discard(body: Readable): void {
  // Destroying it is an error of its own for who listens.
  body.on('error', () => {});
  body.destroy();
}

function canceled(place: string): OutboundError {
  return new OutboundError('canceled', `The request to ${place} was canceled`);
}

function refused(place: string): OutboundError {
  return new OutboundError(
    'addressRefused',
    `Connections to the address of ${place} are not allowed (see --outbound-deny-private and --outbound-allow)`,
  );
}

/** Of the error only its code is told: messages of libraries may repeat what was sent. */
function toOutboundError(error: unknown, place: string, signal: AbortSignal): OutboundError {
  if (signal.aborted && signal.reason instanceof OutboundError) return signal.reason;
  if (error instanceof OutboundError) return error;
  const code = codeOf(error);
  const failure = failureOf(code);
  switch (failure) {
    case 'addressRefused':
      return refused(place);
    case 'canceled':
      return canceled(place);
    case 'invalidRequest':
      return new OutboundError(failure, `A request to ${place} cannot be sent (${code})`);
    case 'timeout':
      return new OutboundError(failure, `${place} did not answer in time (${code})`);
    case 'unreachable':
      return new OutboundError(failure, `${place} cannot be reached (${code})`);
    default:
      return new OutboundError('broken', `The connection to ${place} broke (${code})`);
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
  // Of several addresses that failed the first one speaks.
  const first: unknown =
    error instanceof AggregateError && codeIn(error) === null ? error.errors[0] : error;
  return codeIn(first) ?? 'no code';
}

function codeIn(error: unknown): string | null {
  const code: unknown = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : null;
}

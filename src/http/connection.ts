/**
 * One request and its response; the only file that knows uWebSockets.js.
 *
 * It enforces the rules of the library so that no other file has to: it copies what it needs of the
 * request before the handler returns, attaches the abort listener first, never touches the response
 * object after a response or an abort, sends each response inside one cork, and uses body chunks
 * only during their callback.
 */
import { SocketAddress } from 'node:net';
import type { CancelSignal } from '../base/cancel-signal.ts';
import type { Socket } from './socket-types.ts';
import { Transfers, type Transfer } from './transfers.ts';

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** The request headers that the server reads; undefined when absent. */
export interface RequestHeaders {
  authorization: string | undefined;
  legacyKey: string | undefined;
  contentType: string | undefined;
  contentEncoding: string | undefined;
  contentLength: string | undefined;
  acceptEncoding: string | undefined;
  origin: string | undefined;
  requestMethod: string | undefined;
  requestHeaders: string | undefined;
  includeMetadata: string | undefined;
  accept: string | undefined;
  ifNoneMatch: string | undefined;
  proxySearch: string | undefined;
  /** The hits of the first page of a search that another server sends on. */
  firstPage: string | undefined;
  testSearch: string | undefined;
  requestId: string | undefined;
  /** W3C Trace Context. */
  traceparent: string | undefined;
  tracestate: string | undefined;
  /** The user for whom the client searches. */
  userId: string | undefined;
  forwardedFor: string | undefined;
  originRemote: string | undefined;
  originTaskUid: string | undefined;
  writeId: string | undefined;
  /** The process that sends the request as part of an export. */
  exportedBy: string | undefined;
  /** Another node of the cluster has sent the request on. */
  forwarded: string | undefined;
  /** The commit that this node is to have applied before it answers. */
  waitFor: string | undefined;
  /** The last event that the client of a stream has received. */
  lastEventId: string | undefined;
  /** The version of the Model Context Protocol that the client speaks. */
  mcpProtocol: string | undefined;
}

/** Whether `Meili-Include-Metadata`, `Meili-Proxy-Search` or `X-Gannet-Test-Search` is set. */
export function asks(header: string | undefined): boolean {
  return header !== undefined && ['true', '1'].includes(header.trim().toLowerCase());
}

/**
 * A request and the means to respond to it. As a signal it is canceled when the client disconnects
 * before the response is complete.
 */
export interface Connection extends CancelSignal {
  /** As sent. */
  readonly method: string;
  /** Still percent-encoded, without the query. */
  readonly path: string;
  /** The text after `?`, still encoded; empty when there is none. */
  readonly query: string;
  readonly headers: RequestHeaders;
  /** Bytes of the request line and the headers. */
  readonly headBytes: number;
  /**
   * Why the end of this request is ambiguous, or null. Such a request is refused and its connection
   * closed after the response: what follows may be the rest of a body.
   */
  readonly framingFault: string | null;
  /** Whether the connection is closed after the response. */
  closes: boolean;
  /**
   * Address of the peer as text; empty for a unix socket. REQUIRES: not aborted, no response sent
   */
  remoteAddress(): string;
  /** The client has disconnected; no response can be sent any more. */
  readonly aborted: boolean;
  /**
   * Starts reading the body. Must be called before the handler of the connection returns. `chunk`
   * is valid during the call only. The last call has `last` set and may have an empty chunk.
   */
  receive(onChunk: (chunk: Buffer, last: boolean) => void): void;
  /** Asks the client to wait. Up to 5 MB that are in flight may still arrive. */
  pause(): void;
  resume(): void;
  /**
   * Sends a whole response. Ignored after an abort. HEAD gets only the length of the body.
   * @param release called with the body once nobody reads it any more; not after an abort
   */
  respond(status: number, headers: HeaderList, body: ResponseBody, release?: ReleaseBody): void;
  /**
   * Sends the head of a response whose body follows in parts. REQUIRES: for HEAD, nothing is
   * written
   */
  stream(status: number, headers: HeaderList): ResponseStream;
}

export type ResponseBody = Buffer | string | null;

/** Takes back the body of a response after use. */
export type ReleaseBody = (body: ResponseBody) => void;

export interface ResponseStream {
  /**
   * false: the client reads more slowly than this writes; wait for `onDrain`. The bytes of `chunk`
   * must not change.
   */
  write(chunk: string | Buffer): boolean;
  /**
   * Sets the listener that is called each time the stream accepts data again. One listener, set
   * before the first `write`.
   */
  onDrain(listener: () => void): void;
  end(): void;
  /** Drops the connection: the client sees that the response is incomplete. */
  abort(): void;
}

export interface Listener {
  /** The port of the listener; 0 for a unix socket. */
  readonly port: number;
  /** Refuses new connections; running requests continue. */
  stopListening(): void;
  /** Drops every connection. */
  close(): void;
}

export interface TlsFiles {
  certificate: string;
  key: string;
  /**
   * Certificates of the authorities that client certificates are checked against. Only in the node
   * adapter.
   */
  authority: string | null;
  /** File of a DER-encoded OCSP response to staple. Only in the node adapter. */
  ocsp: string | null;
  /**
   * Whether sessions can be resumed: in TLS 1.2 from a cache, in all versions with tickets. The
   * library always does both.
   */
  resumption: boolean;
  tickets: boolean;
}

/** Where to listen: at a host and port, or at a unix socket, which has no port and no TLS. */
export type ListenAddress = { host: string; port: number } | { socketPath: string };

export interface ListenOptions {
  address: ListenAddress;
  tls: TlsFiles | null;
  /** Refuse clients without certificate. Only in the node adapter. */
  tlsRequireAuth: boolean;
  onRequest(connection: Connection): void;
  /** Apps of threads, which serve the connections in turn instead. Only of the library. */
  children?: readonly Socket.AppDescriptor[];
}

export const STATUS_TEXTS: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Entity',
  431: 'Request Header Fields Too Large',
  429: 'Too Many Requests',
  451: 'Unavailable For Legal Reasons',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};

function statusLine(status: number): string {
  return `${status} ${STATUS_TEXTS[status] ?? 'Unknown'}`;
}

/**
 * Larger bodies are sent piece by piece, as fast as the client reads them. The library sends
 * smaller ones at once.
 */
const SINGLE_WRITE_BYTES_MAX = 64 * 1024;

/** Bytes of a stream given to the library at once: the most that it holds for a slow client. */
const STREAM_PIECE_BYTES = 16 * 1024;

class SocketConnection implements Connection {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: RequestHeaders;
  readonly headBytes: number;
  readonly framingFault: string | null;
  readonly #res: Socket.Response;
  readonly #transfers: Transfers;
  #done = false;
  #paused = false;
  // The whole body has arrived. From here on the socket waits for us without a limit, and it must
  // not be resumed: that would set its idle timer again and cut off a slow response.
  #received = false;
  #receivedBytes = 0;
  // The body while it is received, the response while it is sent.
  #transfer: Transfer | null = null;
  closes = false;
  aborted = false;
  readonly #abortListeners: (() => void)[] = [];

  constructor(res: Socket.Response, req: Socket.Request, transfers: Transfers) {
    this.#res = res;
    this.#transfers = transfers;
    res.onAborted(() => {
      this.#endTransfer();
      if (this.#done) return;
      this.#done = true;
      this.aborted = true;
      for (const listener of this.#abortListeners) listener();
    });
    this.method = req.getCaseSensitiveMethod();
    this.path = req.getUrl();
    this.query = req.getQuery() ?? '';
    const framing = new Framing();
    this.headers = copyHeaders(req, framing);
    this.headBytes =
      this.method.length + this.path.length + this.query.length + LINE_BYTES + framing.bytes;
    this.framingFault = framing.fault();
  }

  remoteAddress(): string {
    return this.#done
      ? ''
      : shortAddress(Buffer.from(this.#res.getRemoteAddressAsText()).toString());
  }

  onAbort(listener: () => void): void {
    if (this.aborted) listener();
    else this.#abortListeners.push(listener);
  }

  receive(onChunk: (chunk: Buffer, last: boolean) => void): void {
    this.#beginTransfer({
      moved: () => (this.#paused ? null : this.#receivedBytes),
      keepAlive: () => {
        if (this.#done || this.#paused || this.#received) return;
        this.#res.pause();
        this.#res.resume();
      },
      giveUp: () => this.#giveUp(),
    });
    this.#res.onData((chunk, last) => {
      this.#receivedBytes += chunk.byteLength;
      if (last) {
        this.#received = true;
        this.#endTransfer();
      }
      onChunk(Buffer.from(chunk), last);
    });
  }

  pause(): void {
    if (this.#done || this.#paused || this.#received) return;
    this.#paused = true;
    this.#res.pause();
  }

  resume(): void {
    // Resuming what was not paused breaks the connection a few requests later.
    if (this.#done || !this.#paused || this.#received) return;
    this.#unpause();
  }

  #beginTransfer(transfer: Transfer): void {
    this.#endTransfer();
    this.#transfer = transfer;
    this.#transfers.add(transfer);
  }

  #endTransfer(): void {
    if (this.#transfer !== null) this.#transfers.remove(this.#transfer);
    this.#transfer = null;
  }

  #giveUp(): void {
    if (!this.#done) this.#res.close();
  }

  #unpause(): void {
    this.#paused = false;
    this.#res.resume();
  }

  respond(status: number, headers: HeaderList, body: ResponseBody, release?: ReleaseBody): void {
    if (this.#done) return;
    this.#endTransfer();
    // The rest of the body has to be read before the next request.
    if (this.#paused) this.#unpause();
    const res = this.#res;
    const last = this.framingFault !== null || this.closes;
    if (this.method === 'HEAD') {
      this.#done = true;
      const length = body === null ? 0 : Buffer.byteLength(body);
      res.cork(() => {
        writeHead(res, status, headers, last);
        if (last) res.end(undefined, last);
        else {
          // The library closes the connection when it is given a length itself.
          if (status !== 204 && status !== 304) res.writeHeader('content-length', String(length));
          res.endWithoutBody();
        }
      });
      release?.(body);
      return;
    }
    if (body !== null && body.length > SINGLE_WRITE_BYTES_MAX) {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      this.#respondInParts(status, headers, bytes, () => release?.(body));
      return;
    }
    this.#done = true;
    res.cork(() => {
      writeHead(res, status, headers, last);
      if (body === null) {
        if (status === 204 || status === 304) res.endWithoutBody();
        else res.end(undefined, last);
      } else res.end(body, last);
    });
    // The library has copied what the socket did not take at once.
    release?.(body);
  }

  /** Adds the header for responses in parts; the library adds it to others itself. */
  #closing(headers: HeaderList): HeaderList {
    return this.closes ? [...headers, ['connection', 'close']] : headers;
  }

  #respondInParts(status: number, headers: HeaderList, body: Buffer, sentAll: () => void): void {
    const res = this.#res;
    const push = (offset: number): boolean => {
      const [sent, complete] = res.tryEnd(body.subarray(offset), body.length);
      if (complete) {
        this.#done = true;
        this.#endTransfer();
        sentAll();
      }
      return sent || complete;
    };
    const pushOn = (offset: number): boolean => {
      let sent = true;
      if (!this.#done) res.cork(() => (sent = push(offset)));
      return sent;
    };
    res.onWritable(pushOn);
    res.cork(() => {
      writeHead(res, status, this.#closing(headers), this.closes);
      push(0);
    });
    if (this.#done) return;
    const start = res.getWriteOffset();
    this.#beginTransfer({
      moved: () => res.getWriteOffset() - start,
      keepAlive: () => void pushOn(res.getWriteOffset()),
      giveUp: () => this.#giveUp(),
    });
  }

  stream(status: number, headers: HeaderList): ResponseStream {
    const res = this.#res;
    const queue = new StreamQueue(res);
    const pump = (firstBytes: number): void => {
      if (!this.#done) queue.pump(firstBytes);
    };
    if (!this.#done) {
      res.cork(() => writeHead(res, status, this.#closing(headers), this.closes));
      this.#beginTransfer({
        // A stream may be silent for any length of time.
        moved: () => (queue.isDrained ? null : queue.given),
        keepAlive: () => {
          // Writing makes the library retry what the client has not taken yet.
          if (!queue.hasCapacity && queue.holdsBytes) {
            pump(1);
            if (queue.hasCapacity) drained();
          }
          if (this.#done) return;
          res.pause();
          res.resume();
        },
        giveUp: () => this.#giveUp(),
      });
    }
    let listener: (() => void) | null = null;
    const drained = (): void => {
      if (!this.#done && queue.isDrained) listener?.();
    };
    return {
      write: (chunk) => {
        if (this.#done) return false;
        const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
        if (bytes.length > 0) {
          queue.add(bytes);
          if (queue.hasCapacity) pump(STREAM_PIECE_BYTES);
        }
        return queue.isDrained;
      },
      onDrain: (drain) => {
        if (this.#done) return;
        listener = drain;
        res.onWritable(() => {
          queue.hasCapacity = true;
          pump(STREAM_PIECE_BYTES);
          drained();
          return queue.hasCapacity;
        });
      },
      end: () => {
        if (this.#done) return;
        queue.giveAll();
        this.#done = true;
        this.#endTransfer();
        const isHead = this.method === 'HEAD';
        res.cork(() => (isHead ? res.endWithoutBody() : res.end()));
      },
      abort: () => this.#giveUp(),
    };
  }
}

/**
 * The bytes of a stream that the library has not got yet; the library holds at most one piece that
 * the client has not read.
 */
class StreamQueue {
  readonly #res: Socket.Response;
  readonly #waiting: Buffer[] = [];
  /** The library accepts more data. */
  hasCapacity = true;
  given = 0;

  constructor(res: Socket.Response) {
    this.#res = res;
  }

  get holdsBytes(): boolean {
    return this.#waiting.length > 0;
  }

  get isDrained(): boolean {
    return this.hasCapacity && !this.holdsBytes;
  }

  add(bytes: Buffer): void {
    this.#waiting.push(bytes);
  }

  /** Gives the library as much as it accepts. */
  pump(firstBytes: number): void {
    const waiting = this.#waiting;
    this.#res.cork(() => {
      for (
        let size = firstBytes;
        this.hasCapacity || size < STREAM_PIECE_BYTES;
        size = STREAM_PIECE_BYTES
      ) {
        const next = waiting.shift();
        if (next === undefined) break;
        // One byte is held back while the library accepts no more: `keepAlive` retries with it.
        const last = waiting.length === 0 && next.length > 1 && next.length <= size;
        const end = last ? next.length - 1 : size;
        this.#give(next.subarray(0, end));
        if (next.length > end) waiting.unshift(next.subarray(end));
      }
    });
  }

  giveAll(): void {
    for (const bytes of this.#waiting) this.#res.write(bytes);
  }

  #give(bytes: Buffer): void {
    this.hasCapacity = this.#res.write(bytes);
    this.given += bytes.length;
  }
}

/**
 * Bytes of a request line apart from method, path and query: two spaces, the question mark, the
 * version, the line end.
 */
const LINE_BYTES = '  ?HTTP/1.1\r\n'.length;
const HEADER_EXTRA_BYTES = ': \r\n'.length;

/** Checks that the headers of a request define the end of its body unambiguously. */
class Framing {
  #length: string | undefined;
  #coded = false;
  #fault: string | null = null;
  /** Bytes of all headers. */
  bytes = 0;

  add(name: string, value: string): void {
    this.bytes += name.length + value.length + HEADER_EXTRA_BYTES;
    if (name === 'content-length') {
      if (!/^\d+$/.test(value)) this.#fault = 'the header `Content-Length` is not a number';
      else if (this.#length !== undefined && this.#length !== value) {
        this.#fault = 'there are several headers `Content-Length`';
      }
      this.#length = value;
    } else if (name === 'transfer-encoding') {
      if (this.#coded || value.toLowerCase() !== 'chunked') {
        this.#fault = 'only `chunked` is understood as `Transfer-Encoding`';
      }
      this.#coded = true;
    }
  }

  fault(): string | null {
    if (this.#coded && this.#length !== undefined) {
      return '`Content-Length` and `Transfer-Encoding` cannot be used together';
    }
    return this.#fault;
  }
}

/**
 * Seconds for which clients are to keep an idle connection. The library closes it after 8 to
 * 10 s, which cannot be changed (uNetworking/uWebSockets issue 1242). A client that sends a request
 * at that moment gets a reset, and cannot know whether it was processed.
 */
export const KEEP_ALIVE_SECONDS = 7;
const KEEP_ALIVE = `timeout=${KEEP_ALIVE_SECONDS}`;

/** @param last the connection is closed after the response */
function writeHead(res: Socket.Response, status: number, headers: HeaderList, last: boolean): void {
  res.writeStatus(statusLine(status));
  for (const [name, value] of headers) res.writeHeader(name, value);
  if (!last) res.writeHeader('keep-alive', KEEP_ALIVE);
}

/** One pass over the headers: an absent header and an empty one mean different things. */
function copyHeaders(req: Socket.Request, framing: Framing): RequestHeaders {
  const headers = noHeaders();
  req.forEach((name, value) => {
    const field = HEADER_FIELDS[name];
    if (field !== undefined) headers[field] = value;
    framing.add(name, value);
  });
  return headers;
}

export function noHeaders(): RequestHeaders {
  return {
    authorization: undefined,
    legacyKey: undefined,
    contentType: undefined,
    contentEncoding: undefined,
    contentLength: undefined,
    acceptEncoding: undefined,
    origin: undefined,
    requestMethod: undefined,
    requestHeaders: undefined,
    includeMetadata: undefined,
    accept: undefined,
    ifNoneMatch: undefined,
    proxySearch: undefined,
    firstPage: undefined,
    testSearch: undefined,
    requestId: undefined,
    traceparent: undefined,
    tracestate: undefined,
    userId: undefined,
    forwardedFor: undefined,
    originRemote: undefined,
    originTaskUid: undefined,
    writeId: undefined,
    exportedBy: undefined,
    forwarded: undefined,
    waitFor: undefined,
    lastEventId: undefined,
    mcpProtocol: undefined,
  };
}

/** Maps a lower-case header name to its field. */
export const HEADER_FIELDS: Readonly<Record<string, keyof RequestHeaders>> = Object.assign(
  Object.create(null) as Record<string, keyof RequestHeaders>,
  {
    authorization: 'authorization',
    'x-svc-api-key': 'legacyKey',
    'content-type': 'contentType',
    'content-encoding': 'contentEncoding',
    'content-length': 'contentLength',
    'accept-encoding': 'acceptEncoding',
    origin: 'origin',
    'access-control-request-method': 'requestMethod',
    'access-control-request-headers': 'requestHeaders',
    'meili-include-metadata': 'includeMetadata',
    accept: 'accept',
    'if-none-match': 'ifNoneMatch',
    'meili-proxy-search': 'proxySearch',
    'gannet-first-page': 'firstPage',
    'x-gannet-test-search': 'testSearch',
    'x-request-id': 'requestId',
    traceparent: 'traceparent',
    tracestate: 'tracestate',
    'x-svc-user-id': 'userId',
    'x-ms-user-id': 'userId',
    'x-forwarded-for': 'forwardedFor',
    'x-meili-proxy-origin-remote': 'originRemote',
    'meili-proxy-origin-remote': 'originRemote',
    'x-meili-proxy-origin-taskuid': 'originTaskUid',
    'meili-proxy-origin-taskuid': 'originTaskUid',
    'x-gannet-write-id': 'writeId',
    'x-gannet-exported-by': 'exportedBy',
    'gannet-forwarded': 'forwarded',
    'gannet-wait-for': 'waitFor',
    'last-event-id': 'lastEventId',
    'mcp-protocol-version': 'mcpProtocol',
  } as const,
);

/**
 * Longest path of a unix socket, bytes: `sun_path` of unix(7), on every system. The library does
 * not check.
 */
const SOCKET_PATH_BYTES_MAX = 103;

/** An app of the library. One handler for everything: the routing is ours. */
function appOf(
  library: Socket.Library,
  { tls, onRequest }: Pick<ListenOptions, 'tls' | 'onRequest'>,
): Socket.App {
  const app =
    tls === null
      ? library.App()
      : library.SSLApp({
          key_file_name: tls.key,
          cert_file_name: tls.certificate,
          ...(tls.authority === null ? {} : { ca_file_name: tls.authority }),
        });
  const transfers = new Transfers();
  app.any('/*', (res, req) => onRequest(new SocketConnection(res, req, transfers)));
  return app;
}

/** Serves the connections that the main thread accepts: see `ListenOptions.children`. */
export function serveAsChild(
  library: Socket.Library,
  options: Pick<ListenOptions, 'tls' | 'onRequest'>,
): { descriptor: Socket.AppDescriptor; close: () => void } {
  const app = appOf(library, options);
  return { descriptor: app.getDescriptor(), close: () => void app.close() };
}

/** Rejects when it cannot listen at the address, for instance because another server does. */
export function listenWithLibrary(
  library: Socket.Library,
  { address, children = [], ...options }: ListenOptions,
): Promise<Listener> {
  if ('socketPath' in address && Buffer.byteLength(address.socketPath) > SOCKET_PATH_BYTES_MAX) {
    return Promise.reject(new Error(`${address.socketPath} is too long for a socket`));
  }
  const app = appOf(library, options);
  for (const child of children) app.addChildAppDescriptor(child);
  return new Promise((resolve, reject) => {
    const listening = (token: Socket.ListenToken | false): void => {
      if (token === false) {
        const name = 'port' in address ? `${address.host}:${address.port}` : address.socketPath;
        reject(new Error(`${name} cannot be listened on; is another server running there?`));
        return;
      }
      let open = true;
      resolve({
        port: 'port' in address ? library.us_socket_local_port(token) : 0,
        stopListening: () => {
          if (open) library.us_listen_socket_close(token);
          open = false;
        },
        close: () => app.close(),
      });
    };
    if ('socketPath' in address) app.listen_unix(listening, address.socketPath);
    // Without the option a second server could share the port unnoticed.
    else app.listen(address.host, address.port, library.LIBUS_LISTEN_EXCLUSIVE_PORT, listening);
  });
}

/** The usual form of an IPv6 address; that of an IPv4 address that a socket for both shows. */
export function shortAddress(text: string): string {
  if (!text.includes(':')) return text;
  return new SocketAddress({ address: text, family: 'ipv6' }).address.replace(
    /^::ffff:(?=.*\.)/,
    '',
  );
}

/**
 * The same interface on node:http, for platforms without a uWebSockets.js binary. About half as
 * fast.
 */
import { readFileSync } from 'node:fs';
import { constants } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { ApiError } from '../contract/errors.ts';
import {
  HEADER_FIELDS,
  noHeaders,
  type Connection,
  type HeaderList,
  type Listener,
  type ListenOptions,
  type ReleaseBody,
  type ResponseBody,
  type ResponseStream,
  type RequestHeaders,
  type TlsFiles,
  shortAddress,
} from './connection.ts';
import { headTooLong, REQUEST_HEAD_BYTES_MAX } from './socket-library.ts';

class NodeConnection implements Connection {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: RequestHeaders;
  /** The parser of node:http refuses such requests itself. */
  readonly framingFault = null;
  /** The parser limits the size of the head itself. */
  readonly headBytes = 0;
  closes = false;
  aborted = false;
  #done = false;
  readonly #abortListeners: (() => void)[] = [];
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#req = req;
    this.#res = res;
    const url = req.url ?? '/';
    const mark = url.indexOf('?');
    this.method = req.method ?? 'GET';
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.query = mark < 0 ? '' : url.slice(mark + 1);
    this.headers = noHeaders();
    for (let i = 0; i + 1 < req.rawHeaders.length; i += 2) {
      const field = HEADER_FIELDS[req.rawHeaders[i]!.toLowerCase()];
      if (field !== undefined) this.headers[field] = req.rawHeaders[i + 1]!;
    }
    res.on('close', () => {
      if (this.#done && res.writableFinished) return;
      if (this.aborted) return;
      this.aborted = true;
      this.#done = true;
      for (const listener of this.#abortListeners) listener();
    });
    res.on('error', () => {});
    req.on('error', () => {});
  }

  remoteAddress(): string {
    return shortAddress(this.#req.socket.remoteAddress ?? '');
  }

  onAbort(listener: () => void): void {
    if (this.aborted) listener();
    else this.#abortListeners.push(listener);
  }

  receive(onChunk: (chunk: Buffer, last: boolean) => void): void {
    this.#req.on('data', (chunk: Buffer) => onChunk(chunk, false));
    this.#req.on('end', () => onChunk(Buffer.alloc(0), true));
  }

  pause(): void {
    this.#req.pause();
  }

  resume(): void {
    this.#req.resume();
  }

  respond(status: number, headers: HeaderList, body: ResponseBody, release?: ReleaseBody): void {
    if (this.#done) return;
    this.#done = true;
    const length = body === null ? 0 : Buffer.byteLength(body);
    const fields = headers.flatMap(([name, value]) => [name, value]);
    if (status !== 204 && status !== 304) fields.push('content-length', String(length));
    if (this.closes) fields.push('connection', 'close');
    this.#res.writeHead(status, fields);
    this.#res.end(this.method === 'HEAD' ? undefined : (body ?? undefined), () => release?.(body));
    // The rest of the body has to be read before the connection can be used again.
    this.#req.resume();
  }

  stream(status: number, headers: HeaderList): ResponseStream {
    const res = this.#res;
    if (!this.#done) {
      const fields = headers.flatMap(([name, value]) => [name, value]);
      if (this.closes) fields.push('connection', 'close');
      res.writeHead(status, fields);
      res.flushHeaders();
    }
    return {
      write: (chunk) => !this.#done && res.write(chunk),
      onDrain: (listener) => void res.on('drain', listener),
      end: () => {
        if (this.#done) return;
        this.#done = true;
        res.end();
      },
      abort: () => void res.destroy(),
    };
  }
}

/** TLS sessions kept for resumption. */
const SESSIONS_MAX = 256;

/** Keeps the newest sessions. */
function resumeSessions(server: TlsServer): void {
  const sessions = new Map<string, Buffer>();
  server.on('newSession', (id: Buffer, session: Buffer, done: () => void) => {
    sessions.set(id.toString('hex'), session);
    for (const oldest of sessions.keys()) {
      if (sessions.size <= SESSIONS_MAX) break;
      sessions.delete(oldest);
    }
    done();
  });
  server.on('resumeSession', (id: Buffer, done: (error: null, session: Buffer | null) => void) => {
    done(null, sessions.get(id.toString('hex')) ?? null);
  });
}

/** Throws when the file holds no OCSP response. */
function ocspResponse(path: string): Buffer {
  const response = readFileSync(path);
  // DER begins with the tag of a sequence.
  if (response[0] !== 0x30)
    throw new Error(`${path} holds no OCSP response in DER (ssl-ocsp-path).`);
  return response;
}

function tlsServer(
  tls: TlsFiles,
  requireAuth: boolean,
  options: ServerOptions,
  listener: RequestListener,
): TlsServer {
  const server = createTlsServer(
    {
      ...options,
      key: readFileSync(tls.key),
      cert: readFileSync(tls.certificate),
      ...(tls.tickets ? {} : { secureOptions: constants.SSL_OP_NO_TICKET }),
      ...(tls.authority === null
        ? {}
        : {
            ca: readFileSync(tls.authority),
            requestCert: true,
            rejectUnauthorized: requireAuth,
          }),
    },
    listener,
  );
  // A client may omit its certificate, but one that it sends must be valid.
  server.on('secureConnection', (socket: TLSSocket) => {
    const shown = Object.keys(socket.getPeerCertificate() ?? {}).length > 0;
    if (tls.authority !== null && shown && !socket.authorized) socket.destroy();
  });
  if (tls.resumption) resumeSessions(server);
  if (tls.ocsp !== null) {
    const response = ocspResponse(tls.ocsp);
    type Take = (error: null, response: Buffer) => void;
    server.on('OCSPRequest', (_: Buffer, __: Buffer, take: Take) => take(null, response));
  }
  return server;
}

/** Longer than the idle times that proxies and clients have by default: 60 to 90 s. */
const KEEP_ALIVE_MS = 95_000;

/** Responds to a request that the parser cannot read, and closes the connection. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex, isResponding: boolean): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isResponding) {
    socket.destroy();
    return;
  }
  const isTooLong = error.code === 'HPE_HEADER_OVERFLOW';
  const status = isTooLong ? '431 Request Header Fields Too Large' : '400 Bad Request';
  const text = JSON.stringify(isTooLong ? headTooLong() : unreadable());
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${text}`);
}

function unreadable(): ApiError {
  return new ApiError('bad_request', 'The request cannot be read: it is not HTTP/1.1.');
}

/** Throws when a file of `tls` cannot be used. */
export function listenWithNode({
  address,
  tls,
  tlsRequireAuth,
  onRequest,
}: ListenOptions): Promise<Listener> {
  const options = { maxHeaderSize: REQUEST_HEAD_BYTES_MAX, requestTimeout: 0 };
  /** Connections with a pending response. */
  const responding = new WeakSet<Duplex>();
  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    responding.add(req.socket);
    res.on('close', () => responding.delete(req.socket));
    onRequest(new NodeConnection(req, res));
  };
  const server =
    tls === null
      ? createServer(options, listener)
      : tlsServer(tls, tlsRequireAuth, options, listener);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
    refuse(error, socket, responding.has(socket)),
  );
  // Log streams may be silent for any length of time.
  server.timeout = 0;
  // Node announces it in each response.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const at = 'port' in address ? address : { path: address.socketPath };
    server.listen(at, () => {
      server.off('error', reject);
      resolve({
        port: 'port' in address ? (server.address() as AddressInfo).port : 0,
        stopListening: () => void server.close(),
        close: () => server.closeAllConnections(),
      });
    });
  });
}

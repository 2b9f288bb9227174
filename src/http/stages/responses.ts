/** The last stage: all responses and errors leave here, and are logged and counted. */
import { pipeline } from 'node:stream/promises';
import { toApiError } from '../../contract/errors.ts';
import type { Connection, ReleaseBody, ResponseBody } from '../connection.ts';
import {
  responseCoding,
  type Coding,
  encode,
  ENCODE_AT_ONCE_ALWAYS,
  ENCODE_AT_ONCE_MAX,
  encodeAtOnce,
  encoder,
} from '../encoding.ts';
import { COMMIT } from '../forward.ts';
import { requestIdOf } from '../request-id.ts';
import { STREAMED, type RouteOf, type RouteResponse } from '../route.ts';
import type { Match } from '../router.ts';
import {
  ANY_ORIGIN,
  isClusterWrite,
  JSON_TYPE,
  meterOf,
  type Header,
  type LifecycleOptions,
  type Pending,
} from './pending.ts';

const VARY_ENCODING: Header = ['vary', 'accept-encoding'];
const VARY_BOTH: Header = ['vary', 'accept-encoding, origin'];
/** Headers that scripts of a page may read. */
const EXPOSED_LIMITS: Header = [
  'access-control-expose-headers',
  'retry-after, ratelimit-policy, ratelimit-limit, ratelimit-remaining, ratelimit-reset',
];
const REQUEST_ID = 'x-request-id';
/**
 * Status in the log: the client disconnected before the response was complete. Not a status of
 * HTTP.
 */
const CLIENT_CLOSED = 499;
/** Route in the log: there is no such route. */
const NO_ROUTE = 'unknown';
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);
/** Seconds that a refused client should wait. */
const RETRY_AFTER: Header = ['retry-after', '10'];
/** Where another node is about to lead. */
const SOON: Header = ['retry-after', '1'];

export class Responses<S> {
  readonly #options: LifecycleOptions<S>;
  readonly #release: ReleaseBody;
  #underWay = 0;
  #onIdle: (() => void) | null = null;

  constructor(options: LifecycleOptions<S>) {
    this.#options = options;
    this.#release = (body) => {
      if (body instanceof Buffer) options.responseBuffers.giveBack(body);
    };
  }

  /** Number of requests without a complete response. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Resolves when no request is in progress, after `timeoutMs` at the latest. */
  drained(timeoutMs: number): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** From now on the request is under way. */
  opened(pending: Pending<S>): void {
    this.#underWay++;
    pending.connection.onAbort(() => this.cancelled(pending));
  }

  noRoute(connection: Connection, match: Match<unknown>, logged: boolean): void {
    const { headers, method } = connection;
    const id = requestIdOf(headers.requestId);
    const response: Header[] = [[REQUEST_ID, id]];
    if (headers.origin !== undefined) response.push(ANY_ORIGIN);
    if (match.kind === 'wrongMethod') response.push(['allow', match.allow]);
    const status = match.kind === 'wrongMethod' ? 405 : 404;
    connection.respond(status, response, null);
    if (logged) this.#tell(METHODS.has(method) ? method : 'OTHER', NO_ROUTE, status, 0, id);
  }

  fail(pending: Pending<S>, thrown: unknown): void {
    const error = toApiError(thrown);
    if (pending.connection.aborted) {
      this.cancelled(pending);
      return;
    }
    // 501 refuses what the caller asked for; nothing failed.
    if (error.status >= 500 && error.status !== 501 && error.status !== 503) {
      this.#options.logger.error(
        {
          err: thrown,
          route: `${pending.route.method} ${pending.route.path}`,
          requestId: pending.id,
        },
        'a request failed',
      );
    }
    // The rest of a body that is too large is not read.
    if (error.status === 413) pending.connection.closes = true;
    this.send(pending, {
      status: error.status,
      body: JSON.stringify(pending.route.errorBody?.(error) ?? error),
      headers: error.status !== 503 ? [] : [error.code === 'no_leader' ? SOON : RETRY_AFTER],
    });
  }

  send(pending: Pending<S>, response: RouteResponse): void {
    const { connection } = pending;
    if (response === STREAMED) {
      if (connection.aborted) this.cancelled(pending);
      else this.#settled(pending, pending.route.success);
      return;
    }
    const { body, status } = response;
    if (connection.aborted) {
      if (isInParts(body)) void body[Symbol.asyncIterator]().return?.();
      else this.#release(body);
      return;
    }
    const { acceptEncoding, origin } = connection.headers;
    const headers: Header[] = pending.logged ? [[REQUEST_ID, pending.id]] : [];
    if (body !== null) {
      headers.push(response.type === undefined ? JSON_TYPE : ['content-type', response.type]);
      headers.push(origin === undefined ? VARY_ENCODING : VARY_BOTH);
    }
    if (origin !== undefined) headers.push(ANY_ORIGIN);
    const limits = pending.passage?.headers() ?? [];
    if (limits.length > 0) {
      headers.push(...limits);
      if (origin !== undefined) headers.push(EXPOSED_LIMITS);
    }
    if (response.headers !== undefined) headers.push(...response.headers);
    this.#addCommit(pending.route, response, headers);
    if (isInParts(body)) {
      const coding = response.isCompressed === true ? null : responseCoding(acceptEncoding);
      if (coding !== null) headers.push(['content-encoding', coding]);
      if (connection.method === 'HEAD') {
        void body[Symbol.asyncIterator]().return?.();
        connection.stream(status, headers).end();
        this.#settled(pending, status);
        return;
      }
      void this.#sendParts(pending, status, headers, body, coding);
      return;
    }
    if (body !== null && body.length > 0 && acceptEncoding !== undefined) {
      const coding = responseCoding(acceptEncoding);
      if (coding !== null) {
        const bytes = typeof body === 'string' ? Buffer.from(body) : body;
        const finish = (encoded: Buffer | null): void => {
          if (encoded !== null) {
            headers.push(['content-encoding', coding]);
            this.#release(body);
          }
          this.#respond(pending, status, headers, encoded ?? body);
        };
        const atOnce = this.#underWay === 1 ? ENCODE_AT_ONCE_MAX : ENCODE_AT_ONCE_ALWAYS;
        if (bytes.length <= atOnce) {
          finish(encodeAtOnce(coding, bytes));
        } else encode(coding, bytes).then(finish, () => finish(null));
        return;
      }
    }
    this.#respond(pending, status, headers, body);
  }

  /** What the client waits for to read what it has written, unless another node has said so. */
  #addCommit(route: RouteOf<S>, response: RouteResponse, headers: Header[]): void {
    const { cluster } = this.#options;
    if (cluster === null || !isClusterWrite(route)) return;
    if (response.headers?.some(([name]) => name === COMMIT) === true) return;
    headers.push([COMMIT, String(cluster.member.node.applied)]);
  }

  #respond(pending: Pending<S>, status: number, headers: Header[], body: ResponseBody): void {
    const { connection } = pending;
    if (connection.aborted) return;
    connection.respond(status, headers, body, this.#release);
    this.#settled(pending, status);
  }

  /** Never rejects. */
  async #sendParts(
    pending: Pending<S>,
    status: number,
    headers: Header[],
    parts: AsyncIterable<Buffer>,
    coding: Coding | null,
  ): Promise<void> {
    const { connection } = pending;
    const stream = connection.stream(status, headers);
    let wake = (): void => {};
    stream.onDrain(() => wake());
    connection.onAbort(() => wake());
    const send = async (source: AsyncIterable<Buffer>): Promise<void> => {
      for await (const part of source) {
        if (!connection.aborted && !stream.write(part)) {
          await new Promise<void>((resolve) => {
            wake = resolve;
            if (connection.aborted) resolve();
          });
        }
        if (connection.aborted) throw new Error('the client went away');
      }
    };
    try {
      if (coding === null) await pipeline(parts, send);
      else await pipeline(parts, encoder(coding), send);
      stream.end();
      this.#settled(pending, status);
    } catch (error) {
      if (!connection.aborted) {
        this.#options.logger.error(
          { err: error, requestId: pending.id },
          'a response was cut short',
        );
        stream.abort();
      }
      this.cancelled(pending);
    }
  }

  /** The client disconnected before the response was complete. */
  cancelled(pending: Pending<S>): void {
    this.#settled(pending, CLIENT_CLOSED);
  }

  /** The response is complete. */
  #settled(pending: Pending<S>, status: number): void {
    if (!pending.open) return;
    this.closed(pending);
    meterOf(pending)?.close();
    if (pending.logged) {
      const { connection, route, id, startedAt } = pending;
      const { method } = connection;
      const ms = performance.now() - startedAt;
      const { metrics } = this.#options;
      if (status !== CLIENT_CLOSED && metrics.enabled())
        metrics.record(['request', method, route.path, status, ms / 1000]);
      pending.span?.end(
        {
          'http.request.method': method,
          'http.route': route.path,
          'http.response.status_code': status,
          'gannet.request_id': id,
        },
        status >= 500,
      );
      this.#tell(method, route.path, status, ms, id, pending.span?.traceId);
    }
  }

  closed(pending: Pending<S>): void {
    pending.open = false;
    this.#underWay--;
    if (this.#underWay === 0) this.#onIdle?.();
  }

  /** @param route the pattern: the actual path may be long or contain a secret */
  #tell(
    method: string,
    route: string,
    status: number,
    ms: number,
    requestId: string,
    traceId?: string,
  ): void {
    this.#options.logs.often('info', 'http', {
      message: 'request',
      method,
      route,
      status,
      durationMs: Math.round(ms * 1000) / 1000,
      requestId,
      ...(traceId !== undefined && { traceId }),
    });
  }
}

function isInParts(body: RouteResponse['body']): body is AsyncIterable<Buffer> {
  return body !== null && typeof body === 'object' && Symbol.asyncIterator in body;
}

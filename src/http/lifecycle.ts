/**
 * What happens to every request, in this order: length of the head, preflight, route, phase of the
 * server, authorization, limits of the key, forwarding of a write to the leader of a cluster, query
 * parameters, body (content type, size, syntax, fields), form of the index uid, handler. HEAD is a
 * GET whose body is not sent. Each step may respond; all errors are sent by `fail`.
 */
import { pipeline } from 'node:stream/promises';
import type { Access, Authorizer } from '../auth/authorize.ts';
import type { Refused, RequestMeter } from '../auth/throttle.ts';
import type { BufferPool } from '../base/buffer-pool.ts';
import type { Logger, Logs } from '../base/logger.ts';
import { ok, type Result } from '../base/result.ts';
import { isWrite } from '../contract/actions.ts';
import { ApiError, exportToItself, noLeader, toApiError } from '../contract/errors.ts';
import { INDEX_UID_RULE, isIndexUid } from '../contract/formats.ts';
import { bodyBytesMax, type RequestLimits } from '../contract/limits.ts';
import { checkedBody } from '../contract/validator.ts';
import { BodyThread } from './body-thread.ts';
import type { ClusterMember, Dependencies } from './dependencies.ts';
import type { TaskService } from './services.ts';
import { collectBody, LARGE_BODY_BYTES, LARGE_SETTINGS_BYTES } from './body.ts';
import {
  responseCoding,
  type Coding,
  encode,
  ENCODE_AT_ONCE_ALWAYS,
  ENCODE_AT_ONCE_MAX,
  encodeAtOnce,
  encoder,
} from './encoding.ts';
import type { Connection, ReleaseBody, ResponseBody } from './connection.ts';
import { COMMIT, forward } from './forward.ts';
import { headTooLong, REQUEST_HEAD_BYTES_MAX } from './socket-library.ts';
import type { HttpMetrics } from './metrics.ts';
import type { Phase } from './phase.ts';
import { requestIdOf } from './request-id.ts';
import {
  STREAMED,
  type BodyParser,
  type RouteResponse,
  type RequestContext,
  type Route,
  type RouteOf,
} from './route.ts';
import { Router, type Match } from './router.ts';

/** The main thread, as an HTTP thread sees it. */
export interface MainThread {
  /** The routes that only the main thread serves. */
  readonly routes: readonly Pick<Route, 'method' | 'path'>[];
  /** Whether this request of a route of this thread is for the main thread nevertheless. */
  wants(connection: Connection): boolean;
  /** REQUIRES: called while the connection is being handled */
  forward(connection: Connection): void;
}

/** @template S what the handlers use of the server */
export interface LifecycleOptions<S> {
  /** Those that are served here. */
  routes: readonly RouteOf<S>[];
  /** Absent: this is the main thread. */
  mainThread?: MainThread;
  /** Passed to the handlers. */
  server: S;
  /** null: this server is none of a cluster. */
  cluster: { member: ClusterMember; tasks: Pick<TaskService, 'get'> } | null;
  authorizer: Authorizer;
  limits: RequestLimits;
  logger: Logger;
  /** Gets a line per request. */
  logs: Pick<Logs, 'often'>;
  metrics: Pick<HttpMetrics, 'enabled' | 'record'>;
  phase: Phase;
  /** The mark of requests that an export of this process sends. */
  processMark: string;
  /** Gets back the buffers of responses. */
  responseBuffers: BufferPool;
}

type Header = readonly [name: string, value: string];

const ALL_METHODS = 'GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS, CONNECT, TRACE';
const JSON_TYPE: Header = ['content-type', 'application/json'];
const VARY_ENCODING: Header = ['vary', 'accept-encoding'];
const VARY_BOTH: Header = ['vary', 'accept-encoding, origin'];
const ANY_ORIGIN: Header = ['access-control-allow-origin', '*'];
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
/** The query of a route that takes none. */
const NO_QUERY = ok(undefined);
/** Seconds that a refused client should wait. */
const RETRY_AFTER: Header = ['retry-after', '10'];
/** Where another node is about to lead. */
const SOON: Header = ['retry-after', '1'];
/** How long the response to a write waits for that; it is accepted already. */
const OWN_WRITE_MS = 2000;
/** How long a request waits for a commit, or the end of a task, that this node has yet to apply. */
const WAIT_FOR_MS = 10_000;
/** Longest time between two looks at a task that a request waits for. */
const LOOK_MS = 100;
/** A write gets an error when the log of the cluster has not responded for so long. */
const LOG_SILENT_MS = 7000;
/** How often that is checked while a write is under way. */
const CHECK_LOG_MS = 500;

/** One request in progress. */
interface Pending<S> {
  readonly connection: Connection;
  readonly route: RouteOf<S>;
  readonly id: string;
  /** Value of `performance.now()`. */
  readonly startedAt: number;
  /** Whether the request is logged and counted in the metrics. */
  readonly logged: boolean;
  open: boolean;
  /** The meter of the request that makes this one, if that is a request with a meter. */
  readonly outer: RequestMeter | undefined;
  /** Absent: the key has no limits. */
  passage: RequestMeter | Refused | undefined;
}

export class Lifecycle<S = Dependencies> {
  /** null: a route of the main thread. */
  readonly #router = new Router<RouteOf<S> | null>();
  readonly #options: LifecycleOptions<S>;
  readonly #release: ReleaseBody;
  readonly #bodies = new BodyThread();
  #underWay = 0;
  #onIdle: (() => void) | null = null;

  constructor(options: LifecycleOptions<S>) {
    this.#options = options;
    this.#release = (body) => {
      if (body instanceof Buffer) options.responseBuffers.giveBack(body);
    };
    for (const route of options.routes) this.#router.add(route.method, route.path, route);
    for (const { method, path } of options.mainThread?.routes ?? [])
      this.#router.add(method, path, null);
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

  /**
   * @param logged whether the request is logged and counted in the metrics; the server's own
   *   requests are not
   * @param outer that of the request that makes this one
   */
  handle(connection: Connection, logged: boolean, outer?: RequestMeter): void {
    try {
      this.#handle(connection, logged, outer);
    } catch (error) {
      this.#options.logger.error({ err: error }, 'a request failed unexpectedly');
      connection.respond(500, [JSON_TYPE], JSON.stringify(toApiError(error)));
    }
  }

  #handle(connection: Connection, logged: boolean, outer: RequestMeter | undefined): void {
    const { headers, method } = connection;
    if (refusedUnread(connection)) return;
    if (
      method === 'OPTIONS' &&
      headers.origin !== undefined &&
      headers.requestMethod !== undefined
    ) {
      preflight(connection);
      return;
    }
    const match = this.#router.match(method, connection.path);
    const { authorizer, mainThread } = this.#options;
    const route = match.kind === 'found' ? match.target : null;
    if (mainThread !== undefined && (route === null || mainThread.wants(connection))) {
      mainThread.forward(connection);
      return;
    }
    if (match.kind !== 'found' || route === null) {
      this.#respondNoRoute(connection, match, logged);
      return;
    }
    const id = logged ? requestIdOf(headers.requestId) : '';
    const startedAt = performance.now();
    const pending: Pending<S> = {
      connection,
      route,
      id,
      startedAt,
      logged,
      open: true,
      outer,
      passage: undefined,
    };
    this.#underWay++;
    connection.onAbort(() => this.#cancelled(pending));
    const { phase, processMark } = this.#options;
    if (phase.current === 'stopping') connection.closes = true;
    else if (phase.current === 'starting' && route.atOnce !== true) {
      this.#fail(pending, new ApiError('internal', 'The server is starting.', 503));
      return;
    }
    // Before authorization, so that the export ends with the true reason. Only this process knows
    // the mark.
    if (headers.exportedBy === processMark) {
      this.#fail(pending, exportToItself());
      return;
    }
    if (route.action !== null) {
      const access = this.#authorized(connection, route, match.params);
      if (!access.ok) this.#fail(pending, access.error);
      // The limits of a key are counted in one place.
      else if (access.value.throttle !== null && mainThread !== undefined) {
        this.#closed(pending);
        mainThread.forward(connection);
      } else if (this.#passes(pending, access.value) && !this.#isForwarded(pending)) {
        this.#readInput(pending, match.params, access.value);
      }
    } else {
      this.#readInput(pending, match.params, authorizer.open());
    }
  }

  #authorized(
    { headers }: Connection,
    { action, alsoNeeds }: RouteOf<S>,
    params: RequestContext['params'],
  ): Result<Access, ApiError> {
    const { authorizer } = this.#options;
    const uid = params.index_uid ?? params.alias ?? null;
    const access = authorizer.authorize(headers, action!, uid);
    if (!access.ok || alsoNeeds === undefined) return access;
    const second = authorizer.authorize(headers, alsoNeeds, uid);
    return second.ok ? access : second;
  }

  #respondNoRoute(connection: Connection, match: Match<unknown>, logged: boolean): void {
    const { headers, method } = connection;
    const id = requestIdOf(headers.requestId);
    const response: Header[] = [[REQUEST_ID, id]];
    if (headers.origin !== undefined) response.push(ANY_ORIGIN);
    if (match.kind === 'wrongMethod') response.push(['allow', match.allow]);
    const status = match.kind === 'wrongMethod' ? 405 : 404;
    connection.respond(status, response, null);
    if (logged) this.#tell(METHODS.has(method) ? method : 'OTHER', NO_ROUTE, status, 0, id);
  }

  /** Whether the limits of the key let the request pass; otherwise it is refused. */
  #passes(pending: Pending<S>, { throttle }: Access): boolean {
    if (throttle === null) return true;
    const { route, outer } = pending;
    pending.passage = throttle.enter(route.isSearch === true, outer?.takeCover());
    const { refusal } = pending.passage;
    if (refusal !== null) this.#fail(pending, refusal);
    return refusal === null;
  }

  /** Whether a write goes to the leader of the cluster; it is answered then. */
  #isForwarded(pending: Pending<S>): boolean {
    const { cluster } = this.#options;
    const { connection } = pending;
    if (cluster === null || !isClusterWrite(pending.route)) return false;
    const { member } = cluster;
    const route = member.node.route(connection.headers.forwarded !== undefined);
    if (route.kind === 'here') return false;
    if (route.kind === 'no_leader') this.#fail(pending, noLeader());
    else {
      this.#forwarded(connection, route.url, member).then(
        (response) => this.#send(pending, response),
        (error: unknown) => this.#fail(pending, error),
      );
    }
    return true;
  }

  /**
   * The response of the leader, once this node has applied it: its client finds here what it has
   * written here.
   */
  async #forwarded(
    connection: Connection,
    url: string,
    cluster: ClusterMember,
  ): Promise<RouteResponse> {
    const response = await forward(connection, url, cluster.client, cluster.node.leaderSignal);
    const commit = response.headers?.find(([name]) => name === COMMIT)?.[1];
    if (commit !== undefined) {
      await cluster.node.waitFor(Number(commit), OWN_WRITE_MS, new AbortController().signal);
    }
    return response;
  }

  /**
   * Resolves once this node has applied the commit, or the end of the task, that the client has
   * named. Throws `ApiError`.
   */
  async #applied(
    { connection }: Pending<S>,
    cluster: NonNullable<LifecycleOptions<S>['cluster']>,
    awaited: string,
  ): Promise<void> {
    const match = /^(task:)?(\d{1,15})$/.exec(awaited);
    if (match === null) {
      throw new ApiError(
        'bad_request',
        'The header `Gannet-Wait-For` must be the number of a commit, as `Gannet-Commit` has it, ' +
          'or `task:` and the uid of a task.',
      );
    }
    const number = Number(match[2]);
    const { node } = cluster.member;
    const ending = new AbortController();
    connection.onAbort(() => ending.abort());
    if (match[1] === undefined) {
      if (await node.waitFor(number, WAIT_FOR_MS, ending.signal)) return;
      throw new ApiError('cluster_unavailable', `This node has not applied commit ${number} yet.`);
    }
    if (await this.#ended(number, cluster, ending.signal)) return;
    throw new ApiError('cluster_unavailable', `Task ${number} has not ended on this node yet.`);
  }

  async #ended(
    taskUid: number,
    { member: { node }, tasks }: NonNullable<LifecycleOptions<S>['cluster']>,
    signal: AbortSignal,
  ): Promise<boolean> {
    for (const begin = performance.now(); !signal.aborted;) {
      const { applied } = node;
      const status = tasks.get(taskUid, null)?.status;
      if (status !== undefined && status !== 'enqueued' && status !== 'processing') return true;
      if (performance.now() - begin > WAIT_FOR_MS) return false;
      // The leader shows the end of a task a moment after it has applied it.
      await node.waitFor(applied + 1, LOOK_MS, signal);
    }
    return false;
  }

  /**
   * Ends a write with an error while the log does not respond: its outcome is known only once the
   * log is back.
   */
  #watchLog(pending: Pending<S>, { node }: ClusterMember): void {
    const begun = performance.now();
    const timer = setInterval(() => {
      if (!pending.open) clearInterval(timer);
      else if (Math.min(node.silentMs, performance.now() - begun) >= LOG_SILENT_MS) {
        clearInterval(timer);
        const reason = 'The write may have happened: etcd does not respond.';
        this.#fail(pending, new ApiError('cluster_unavailable', reason));
      }
    }, CHECK_LOG_MS);
  }

  #readInput(pending: Pending<S>, params: RequestContext['params'], access: Access): void {
    const { connection, route } = pending;
    const pathFault = route.pathFault?.(params) ?? null;
    if (pathFault !== null) {
      this.#fail(pending, pathFault);
      return;
    }
    const query = route.query?.parse(connection.query) ?? NO_QUERY;
    const run = (value?: unknown): void => {
      if (!query.ok) {
        this.#fail(pending, query.error);
        return;
      }
      this.#run(pending, {
        requestId: pending.id,
        params,
        query: query.value,
        rawQuery: connection.query,
        body: value,
        access,
        meter: meterOf(pending),
        connection,
        own: !pending.logged,
      });
    };
    const { body } = route;
    if (
      (!query.ok && route.bodyFirst !== true) ||
      body === undefined ||
      body === 'upload' ||
      (body.optional === true && hasNoBody(connection))
    ) {
      run();
      return;
    }
    const wrongType = jsonTypeFault(connection.headers.contentType);
    if (wrongType === null) this.#readBody(pending, body, run);
    else this.#fail(pending, wrongType);
  }

  /** @param run called with the body after it is checked */
  #readBody(pending: Pending<S>, body: BodyParser<unknown>, run: (value: unknown) => void): void {
    const { connection } = pending;
    const { limits } = this.#options;
    const settings = body.settings ?? null;
    const kept = settings === null ? LARGE_BODY_BYTES : LARGE_SETTINGS_BYTES;
    const limit = bodyBytesMax(body.kind ?? 'other', limits);
    const bounds = { limit, dropped: limits.payloadBytes, kept };
    collectBody(connection, bounds, (outcome) => {
      if (outcome instanceof ApiError) {
        this.#fail(pending, outcome);
        return;
      }
      const take = (checked: Result<unknown, ApiError>, isConverted: boolean): void => {
        if (connection.aborted) return;
        const fault = checked.ok ? (body.fault?.(checked.value) ?? null) : checked.error;
        if (fault !== null) this.#fail(pending, fault);
        else if (checked.ok) {
          const isFinal = isConverted || body.convert === undefined;
          run(isFinal ? checked.value : body.convert!(checked.value));
        }
      };
      const { parts, size } = outcome;
      if (size < kept) {
        const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
        take(checkedBody(bytes, body.schema), false);
      } else {
        void this.#bodies
          .check(parts, body.schema, settings)
          .then((checked) => take(checked, settings !== null));
      }
    });
  }

  #run(pending: Pending<S>, context: RequestContext): void {
    const uid = context.params.index_uid ?? context.params.alias;
    if (uid !== undefined && pending.route.anyUid !== true && !isIndexUid(uid)) {
      this.#fail(pending, badIndexUid(uid));
      return;
    }
    const { server, cluster } = this.#options;
    let response: RouteResponse | Promise<RouteResponse>;
    const { waitFor } = pending.connection.headers;
    if (cluster !== null && isClusterWrite(pending.route)) this.#watchLog(pending, cluster.member);
    // Without a key, nobody may hold a request.
    const waits = waitFor !== undefined && pending.route.action !== null;
    try {
      response =
        !waits || cluster === null
          ? pending.route.handle(context, server)
          : this.#applied(pending, cluster, waitFor).then(() =>
              pending.route.handle(context, server),
            );
    } catch (error) {
      this.#fail(pending, error);
      return;
    }
    if (response instanceof Promise) {
      response.then(
        (settled) => this.#send(pending, settled),
        (error: unknown) => this.#fail(pending, error),
      );
    } else this.#send(pending, response);
  }

  #fail(pending: Pending<S>, thrown: unknown): void {
    const error = toApiError(thrown);
    if (pending.connection.aborted) {
      this.#cancelled(pending);
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
    this.#send(pending, {
      status: error.status,
      body: JSON.stringify(pending.route.errorBody?.(error) ?? error),
      headers: error.status !== 503 ? [] : [error.code === 'no_leader' ? SOON : RETRY_AFTER],
    });
  }

  #send(pending: Pending<S>, response: RouteResponse): void {
    const { connection } = pending;
    if (response === STREAMED) {
      if (connection.aborted) this.#cancelled(pending);
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
      this.#cancelled(pending);
    }
  }

  /** The client disconnected before the response was complete. */
  #cancelled(pending: Pending<S>): void {
    this.#settled(pending, CLIENT_CLOSED);
  }

  /** The response is complete. */
  #settled(pending: Pending<S>, status: number): void {
    if (!pending.open) return;
    this.#closed(pending);
    meterOf(pending)?.close();
    if (pending.logged) {
      const { connection, route, id, startedAt } = pending;
      const { method } = connection;
      const ms = performance.now() - startedAt;
      const { metrics } = this.#options;
      if (status !== CLIENT_CLOSED && metrics.enabled())
        metrics.record(method, route.path, status, ms / 1000);
      this.#tell(method, route.path, status, ms, id);
    }
  }

  #closed(pending: Pending<S>): void {
    pending.open = false;
    this.#underWay--;
    if (this.#underWay === 0) this.#onIdle?.();
  }

  /** @param route the pattern: the actual path may be long or contain a secret */
  #tell(method: string, route: string, status: number, ms: number, requestId: string): void {
    this.#options.logs.often('info', 'http', {
      message: 'request',
      method,
      route,
      status,
      durationMs: Math.round(ms * 1000) / 1000,
      requestId,
    });
  }
}

function meterOf({ passage }: Pick<Pending<never>, 'passage'>): RequestMeter | undefined {
  return passage?.refusal === null ? passage : undefined;
}

function isClusterWrite({ action }: Pick<Route, 'action'>): boolean {
  return action !== null && isWrite(action);
}

function isInParts(body: RouteResponse['body']): body is AsyncIterable<Buffer> {
  return body !== null && typeof body === 'object' && Symbol.asyncIterator in body;
}

/** Refuses a request that cannot be read; false: it can be read. */
function refusedUnread(connection: Connection): boolean {
  const { framingFault } = connection;
  const error =
    framingFault !== null
      ? new ApiError('bad_request', `The request cannot be read: ${framingFault}.`)
      : connection.headBytes > REQUEST_HEAD_BYTES_MAX
        ? headTooLong()
        : null;
  if (error === null) return false;
  if (framingFault === null) connection.closes = true;
  // Deferred: the library takes no further request from a connection that waits for a response.
  setImmediate(() => connection.respond(error.status, [JSON_TYPE], JSON.stringify(error)));
  return true;
}

function preflight(connection: Connection): void {
  const { requestHeaders } = connection.headers;
  connection.respond(
    200,
    [
      ANY_ORIGIN,
      ['access-control-allow-methods', ALL_METHODS],
      ...(requestHeaders === undefined
        ? []
        : ([['access-control-allow-headers', requestHeaders]] as const)),
      ['access-control-max-age', '86400'],
      ['vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers'],
    ],
    null,
  );
}

function badIndexUid(uid: string): ApiError {
  return new ApiError(
    'invalid_index_uid',
    `\`${uid}\` is not a valid index uid; ${INDEX_UID_RULE}.`,
  );
}

const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+$/;

/** Type and subtype in lower case without parameters; null when the text is no media type. */
export function mediaType(header: string): string | null {
  const type = header.split(';', 1)[0]!.trim().toLowerCase();
  return MEDIA_TYPE.test(type) ? type : null;
}

export function missingContentType(accepted: string): ApiError {
  return new ApiError(
    'missing_content_type',
    `The \`Content-Type\` header is missing; accepted are ${accepted}.`,
  );
}

export function invalidContentType(received: string, accepted: string): ApiError {
  return new ApiError(
    'invalid_content_type',
    `The \`Content-Type\` \`${received}\` is not accepted here; accepted are ${accepted}.`,
  );
}

function hasNoBody({ headers }: Connection): boolean {
  return headers.contentType === undefined && Number(headers.contentLength ?? 0) === 0;
}

function jsonTypeFault(header: string | undefined): ApiError | null {
  if (header === 'application/json') return null;
  if (header === undefined) return missingContentType('`application/json`');
  const type = mediaType(header);
  return type !== null && (type.endsWith('/json') || type.endsWith('+json'))
    ? null
    : invalidContentType(header, '`application/json`');
}

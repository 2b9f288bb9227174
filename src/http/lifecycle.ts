/**
 * What happens to every request, in this order; each stage may respond. `stages/unread.ts`: length
 * of the head, preflight. Here: route, phase of the server, authorization, limits of the key.
 * `stages/leader.ts`: forwarding of a write to the leader of a cluster. `stages/input.ts`: query
 * parameters, body (content type, size, syntax, fields). Here: form of the index uid, handler.
 * `stages/responses.ts`: the response, and all errors. HEAD is a GET whose body is not sent.
 */
import type { AuditEntry } from '../audit/audit-log.ts';
import type { Access } from '../auth/authorize.ts';
import type { RequestMeter } from '../auth/throttle.ts';
import { rfc3339, systemClock } from '../base/clock.ts';
import type { Result } from '../base/result.ts';
import { type Span, within } from '../base/tracing.ts';
import { isAudited } from '../contract/actions.ts';
import { ApiError, exportToItself, toApiError } from '../contract/errors.ts';
import { INDEX_UID_RULE, isIndexUid, normalizeUuid } from '../contract/formats.ts';
import type { Connection } from './connection.ts';
import type { Dependencies } from './dependencies.ts';
import { requestIdOf } from './request-id.ts';
import { STREAMED, type RouteResponse, type RequestContext, type RouteOf } from './route.ts';
import { Router } from './router.ts';
import { InputStage } from './stages/input.ts';
import { LeaderStage } from './stages/leader.ts';
import { JSON_TYPE, meterOf, type LifecycleOptions, type Pending } from './stages/pending.ts';
import { Responses } from './stages/responses.ts';
import { preflighted, refusedUnread } from './stages/unread.ts';

export class Lifecycle<S = Dependencies> {
  /** null: a route of the main thread. */
  readonly #router = new Router<RouteOf<S> | null>();
  readonly #options: LifecycleOptions<S>;
  readonly #responses: Responses<S>;
  readonly #input: InputStage<S>;
  /** null: this server is none of a cluster. */
  readonly #leader: LeaderStage<S> | null;

  constructor(options: LifecycleOptions<S>) {
    const { cluster, limits } = options;
    this.#options = options;
    this.#responses = new Responses(options);
    this.#input = new InputStage(limits, this.#responses);
    this.#leader = cluster === null ? null : new LeaderStage(cluster, this.#responses);
    for (const route of options.routes) this.#router.add(route.method, route.path, route);
    for (const { method, path } of options.mainThread?.routes ?? [])
      this.#router.add(method, path, null);
  }

  /** Number of requests without a complete response. */
  get underWay(): number {
    return this.#responses.underWay;
  }

  /** Resolves when no request is in progress, after `timeoutMs` at the latest. */
  drained(timeoutMs: number): Promise<void> {
    return this.#responses.drained(timeoutMs);
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
    if (refusedUnread(connection) || preflighted(connection)) return;
    const match = this.#router.match(method, connection.path);
    const { mainThread } = this.#options;
    const route = match.kind === 'found' ? match.target : null;
    if (mainThread !== undefined && (route === null || mainThread.wants(connection))) {
      mainThread.forward(connection);
      return;
    }
    if (match.kind !== 'found' || route === null) {
      this.#responses.noRoute(connection, match, logged);
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
      span: this.#spanOf(connection, route, logged),
      outer,
      passage: undefined,
    };
    this.#responses.opened(pending);
    within(pending.span, () => this.#proceed(pending, match.params));
  }

  #spanOf(
    { headers }: Connection,
    { method, path }: RouteOf<S>,
    logged: boolean,
  ): Span | undefined {
    const { tracer } = this.#options;
    return logged ? tracer?.request(`${method} ${path}`, headers) : undefined;
  }

  #proceed(pending: Pending<S>, params: RequestContext['params']): void {
    const { connection, route } = pending;
    const { headers } = connection;
    const { authorizer, mainThread, phase, processMark } = this.#options;
    if (phase.current === 'stopping') connection.closes = true;
    else if (phase.current === 'starting' && route.atOnce !== true) {
      this.#responses.fail(pending, new ApiError('internal', 'The server is starting.', 503));
      return;
    }
    // Before authorization, so that the export ends with the true reason. Only this process knows
    // the mark.
    if (headers.exportedBy === processMark) {
      this.#responses.fail(pending, exportToItself());
      return;
    }
    if (route.action !== null) {
      const access = this.#authorized(connection, route, params);
      if (!access.ok) this.#responses.fail(pending, access.error);
      // The limits of a key are counted in one place.
      else if (access.value.throttle !== null && mainThread !== undefined) {
        this.#responses.closed(pending);
        mainThread.forward(connection);
      } else if (this.#passes(pending, access.value) && this.#leader?.forwards(pending) !== true) {
        this.#readInput(pending, params, access.value);
      }
    } else {
      this.#readInput(pending, params, authorizer.open());
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

  /** Whether the limits of the key let the request pass; otherwise it is refused. */
  #passes(pending: Pending<S>, { throttle }: Access): boolean {
    if (throttle === null) return true;
    const { route, outer } = pending;
    pending.passage = throttle.enter(route.isSearch === true, outer?.takeCover());
    const { refusal } = pending.passage;
    if (refusal !== null) this.#responses.fail(pending, refusal);
    return refusal === null;
  }

  #readInput(pending: Pending<S>, params: RequestContext['params'], access: Access): void {
    const { connection, id, logged } = pending;
    this.#input.read(pending, params, (query, body) =>
      within(pending.span, () =>
        this.#run(pending, {
          requestId: id,
          startedAt: pending.startedAt,
          params,
          query,
          rawQuery: connection.query,
          body,
          access,
          meter: meterOf(pending),
          connection,
          own: !logged,
        }),
      ),
    );
  }

  /** Runs the handler, and records what it changes. */
  #handled({ route }: Pending<S>, context: RequestContext): RouteResponse | Promise<RouteResponse> {
    const { audit, server } = this.#options;
    const handle = (): RouteResponse | Promise<RouteResponse> => route.handle(context, server);
    const { action } = route;
    if (audit === null || context.own || action === null || !isAudited(action)) return handle();
    const { method, path } = route;
    const entry = { ...this.#auditedOf(context), action, method, route: path };
    return audit.recorded(
      entry,
      handle,
      (response) => response === STREAMED || response.status < 400,
    );
  }

  /** Who makes a request, and what for. A key in the path may be there by its value. */
  #auditedOf({
    access,
    connection,
    params: { key_or_uid: key, ...params },
    requestId,
  }: RequestContext): Pick<AuditEntry, 'time' | 'key' | 'params' | 'requestId' | 'address'> {
    const { masterKey, values } = this.#options.authorizer;
    const uid =
      key === undefined ? undefined : (normalizeUuid(key) ?? values.find(key)?.record.uid);
    return {
      time: rfc3339(systemClock.now()),
      key: masterKey === null ? null : access.holder.split(' ', 1)[0]!,
      params: uid === undefined ? params : { ...params, key: uid },
      requestId,
      address: connection.remoteAddress(),
    };
  }

  #run(pending: Pending<S>, context: RequestContext): void {
    const uid = context.params.index_uid ?? context.params.alias;
    if (uid !== undefined && pending.route.anyUid !== true && !isIndexUid(uid)) {
      this.#responses.fail(pending, badIndexUid(uid));
      return;
    }
    const leader = this.#leader;
    let response: RouteResponse | Promise<RouteResponse>;
    const { waitFor } = pending.connection.headers;
    leader?.watchLog(pending);
    // Without a key, nobody may hold a request.
    const waits = waitFor !== undefined && pending.route.action !== null;
    try {
      response =
        !waits || leader === null
          ? this.#handled(pending, context)
          : leader.applied(pending, waitFor).then(() => this.#handled(pending, context));
    } catch (error) {
      this.#responses.fail(pending, error);
      return;
    }
    if (response instanceof Promise) {
      response.then(
        (settled) => this.#responses.send(pending, settled),
        (error: unknown) => this.#responses.fail(pending, error),
      );
    } else this.#responses.send(pending, response);
  }
}

function badIndexUid(uid: string): ApiError {
  return new ApiError(
    'invalid_index_uid',
    `\`${uid}\` is not a valid index uid; ${INDEX_UID_RULE}.`,
  );
}

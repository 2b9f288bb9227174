/** One request in progress, as the stages of the lifecycle hand it on. */
import type { AuditLog } from '../../audit/audit-log.ts';
import type { Authorizer } from '../../auth/authorize.ts';
import type { Refused, RequestMeter } from '../../auth/throttle.ts';
import type { BufferPool } from '../../base/buffer-pool.ts';
import type { Logger, Logs } from '../../base/logger.ts';
import type { Span, Tracer } from '../../base/tracing.ts';
import { isWrite } from '../../contract/actions.ts';
import type { RequestLimits } from '../../contract/limits.ts';
import type { Connection } from '../connection.ts';
import type { ClusterMember } from '../dependencies.ts';
import type { RequestMetrics } from '../metrics.ts';
import type { Phase } from '../phase.ts';
import type { Route, RouteOf } from '../route.ts';
import type { TaskService } from '../services.ts';

/** The main thread, as an HTTP thread sees it. */
export interface MainThread {
  /** The routes that only the main thread serves. */
  readonly routes: readonly Pick<Route, 'method' | 'path'>[];
  /** Whether this request of a route of this thread is for the main thread nevertheless. */
  wants(connection: Connection): boolean;
  /** REQUIRES: called while the connection is being handled */
  forward(connection: Connection): void;
}

/** The cluster that this server is a node of. */
export interface Cluster {
  readonly member: ClusterMember;
  readonly tasks: Pick<TaskService, 'get'>;
}

/** @template S what the handlers use of the server */
export interface LifecycleOptions<S> {
  /** Those that are served here. */
  routes: readonly RouteOf<S>[];
  /** Absent: this is the main thread. */
  mainThread?: MainThread;
  /** null: nothing is traced. */
  tracer: Tracer | null;
  /** null: changes are not recorded. */
  audit: Pick<AuditLog, 'recorded'> | null;
  /** Passed to the handlers. */
  server: S;
  /** null: this server is none of a cluster. */
  cluster: Cluster | null;
  authorizer: Authorizer;
  limits: RequestLimits;
  logger: Logger;
  /** Gets a line per request. */
  logs: Pick<Logs, 'often'>;
  metrics: Pick<RequestMetrics, 'enabled' | 'record'>;
  phase: Phase;
  /** The mark of requests that an export of this process sends. */
  processMark: string;
  /** Gets back the buffers of responses. */
  responseBuffers: BufferPool;
}

export type Header = readonly [name: string, value: string];

export const JSON_TYPE: Header = ['content-type', 'application/json'];
export const ANY_ORIGIN: Header = ['access-control-allow-origin', '*'];

/** One request in progress. */
export interface Pending<S> {
  readonly connection: Connection;
  readonly route: RouteOf<S>;
  readonly id: string;
  /** Value of `performance.now()`. */
  readonly startedAt: number;
  /** Whether the request is logged and counted in the metrics. */
  readonly logged: boolean;
  open: boolean;
  /** undefined: it is not traced. */
  readonly span: Span | undefined;
  /** The meter of the request that makes this one, if that is a request with a meter. */
  readonly outer: RequestMeter | undefined;
  /** Absent: the key has no limits. */
  passage: RequestMeter | Refused | undefined;
}

export function meterOf({ passage }: Pick<Pending<never>, 'passage'>): RequestMeter | undefined {
  return passage?.refusal === null ? passage : undefined;
}

export function isClusterWrite({ action }: Pick<Route, 'action'>): boolean {
  return action !== null && isWrite(action);
}

/** The declaration of a route, and what its handler takes and returns. */
import type { Access, RouteAction } from '../auth/authorize.ts';
import type { RequestMeter } from '../auth/throttle.ts';
import { jsonString } from '../base/json.ts';
import { jsonText } from '../base/json-slices.ts';
import type { Declared, Static } from '../contract/declare.ts';
import type { ApiError, ErrorCode } from '../contract/errors.ts';
import type { BodyKind } from '../contract/limits.ts';
import type { QueryParser } from '../contract/query.ts';
import type { Schema } from '../contract/schema.ts';
import type { SettingName } from '../contract/settings.ts';
import type { TaskRequest } from '../contract/tasks.ts';
import type { Dependencies, ReadDependencies } from './dependencies.ts';
import type { Connection, HeaderList, ResponseBody } from './connection.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface RouteResponse {
  status: number;
  /** null: no body. A buffer is sent as it is; its memory may be reused afterwards. */
  body: ResponseBody | AsyncIterable<Buffer>;
  /** Default `application/json`. */
  type?: string;
  headers?: HeaderList;
  /** Compressing it again would only cost time. */
  isCompressed?: boolean;
}

export interface RequestContext<Q = unknown, B = unknown> {
  /**
   * The response's header `X-Request-Id`, also in the log; empty for a request of the server's own.
   */
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Q;
  /** The query string as sent. */
  readonly rawQuery: string;
  readonly body: B;
  readonly access: Access;
  /** When the head of the request had arrived, by `performance.now()`. */
  readonly startedAt: number;
  /** Counts its searches. Absent: the key has no limits. */
  readonly meter?: RequestMeter | undefined;
  readonly connection: Connection;
  /** The request comes from this process itself. */
  readonly own: boolean;
}

/**
 * Identifies the requester (a key at an address) that shares a scarce resource fairly with others.
 * Call it before the handler waits.
 */
export function requesterOf({ access, connection }: RequestContext): string {
  return `${access.holder} ${connection.remoteAddress()}`;
}

/**
 * A JSON body: its schema, which is also published, and the conversion of a body that the schema
 * accepts.
 */
export interface BodyParser<B> {
  readonly schema: Schema;
  /** Accepts a request without content type and body; the value is then undefined. */
  readonly optional?: boolean;
  /** Default: `other`. */
  readonly kind?: BodyKind;
  /**
   * Set for a body that changes settings: the name of the one setting, or `all` for an object of
   * several. A large body is converted to a `SettingsChange` on another thread.
   */
  readonly settings?: SettingName | 'all';
  /** Returns what is wrong with a body beyond its schema. */
  fault?(checked: B): ApiError | null;
  /** Absent: the value is used as it is. */
  convert?(checked: unknown): B;
}

/** @template S what the handler uses of the server */
export interface Route<Q = unknown, B = unknown, S = Dependencies> {
  readonly method: Method;
  /** `/indexes/:index_uid/search`; parameters in snake case. */
  readonly path: string;
  /** null: no authorization. */
  readonly action: RouteAction | null;
  /**
   * Only other nodes of the cluster send such requests. The handler checks that; the route is not
   * in the published description.
   */
  readonly forNodes?: true;
  /** A second action that the key must have; checked together with the first. */
  readonly alsoNeeds?: RouteAction;
  /** One sentence for the published description. */
  readonly summary: string;
  /** Absent: the query string is ignored. */
  readonly query?: QueryParser<Q>;
  /** Absent: the body is ignored. `upload`: the handler reads it itself. */
  readonly body?: BodyParser<B> | 'upload';
  /** A malformed uid in the path matches no index: the handler reports it. */
  readonly anyUid?: boolean;
  /** Returns what is wrong with the path; called after authorization, before all other checks. */
  pathFault?(params: Readonly<Record<string, string>>): ApiError | null;
  /** The body is checked before the query string. */
  readonly bodyFirst?: boolean;
  /** Serves requests even while the server is starting. */
  readonly atOnce?: boolean;
  /** Counts towards the concurrent searches of its key. */
  readonly isSearch?: boolean;
  /** The body of an error, where clients read more of it than others. Default: the error itself. */
  errorBody?(error: ApiError): object;
  readonly success: number;
  /** Errors whose status does not follow from the other members, for the published description. */
  readonly errors?: readonly ErrorCode[];
  /** The body of a success; absent: none. `text`: not JSON. */
  readonly response?: Schema | 'text';
  /** Default: `application/json`. */
  readonly responseType?: string;
  /** Types of text that a request may ask for instead. */
  readonly otherResponseTypes?: readonly string[];
  handle(context: RequestContext<Q, B>, server: S): RouteResponse | Promise<RouteResponse>;
}

export type RouteOf<S> = Route<unknown, unknown, S>;

/** A route that HTTP threads serve as well. */
export type ReadRoute = RouteOf<ReadDependencies>;

/** Erases the types of query and body, which the parsers of the route guarantee. */
export function route<Q, B, S>(definition: Route<Q, B, S>): RouteOf<S> {
  return definition as unknown as RouteOf<S>;
}

export function bodyOf<S extends Declared>(
  schema: S,
  options: Pick<BodyParser<Static<S>>, 'optional' | 'kind'> = {},
): BodyParser<Static<S>> {
  return { schema, ...options };
}

export function json(status: number, value: unknown): RouteResponse {
  return { status, body: jsonString(value) };
}

/** A response with status 200 and a value that may be long. */
export function longJson(value: unknown): RouteResponse | Promise<RouteResponse> {
  const text = jsonText(value);
  return text instanceof Promise ? text.then(bytes) : { status: 200, body: text };
}

/** `body`: a whole body, or parts that are produced as fast as the client reads them. */
export function bytes(body: Buffer | AsyncIterable<Buffer>): RouteResponse {
  return { status: 200, body };
}

/** Registers a task and responds with its summary. */
export async function registered(
  { services }: Pick<Dependencies, 'services'>,
  request: TaskRequest,
  status = 202,
): Promise<RouteResponse> {
  return json(status, await services.tasks.register(request));
}

export const NO_CONTENT: RouteResponse = { status: 204, body: null };

/** The handler sends the response itself. */
export const STREAMED: RouteResponse = { status: 0, body: null };

/** What a route is, and what its handler gets and gives. */
import type { Access, RouteAction } from '../auth/authorize.ts';
import { jsonString } from '../base/json.ts';
import { jsonText } from '../base/json-slices.ts';
import type { ApiError } from '../contract/errors.ts';
import type { BodyKind } from '../contract/limits.ts';
import type { QueryParser } from '../contract/query.ts';
import type { Schema } from '../contract/schema.ts';
import type { SettingName } from '../contract/settings.ts';
import type { TaskRequest } from '../contract/tasks.ts';
import type { Dependencies } from './dependencies.ts';
import type { Connection, HeaderList, ResponseBody } from './connection.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface RouteResponse {
  status: number;
  /** null: no body. A buffer is sent as it is, and its memory may be used again after that. */
  body: ResponseBody | AsyncIterable<Buffer>;
  /** Default `application/json`. */
  type?: string;
  headers?: HeaderList;
}

export interface RequestContext<Q = unknown, B = unknown> {
  /** Stands in the answer's header `X-Request-Id` and in the log; empty for a request of the server's own. */
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Q;
  /** The query string as sent. */
  readonly rawQuery: string;
  readonly body: B;
  readonly access: Access;
  readonly connection: Connection;
  /** This process asks itself. */
  readonly own: boolean;
}

/** Who takes turns with others for what is scarce: a key, at an address. To be called before the handler waits. */
export function requesterOf({ access, connection }: RequestContext): string {
  return `${access.holder} ${connection.remoteAddress()}`;
}

/** A JSON body: its schema, which is published too, and how what it lets through becomes a value. */
export interface BodyParser<B> {
  readonly schema: Schema;
  /** A request without content type and without body is fine; the value is then undefined. */
  readonly optional?: boolean;
  /** Default: `other`. */
  readonly kind?: BodyKind;
  /** The body changes this setting, or some of all settings: a large one is made a `SettingsChange` beside the event loop. */
  readonly settings?: SettingName | 'all';
  /** What is wrong with a body beyond its schema. */
  fault?(checked: B): ApiError | null;
  /** Absent: the value is taken as it is. */
  convert?(checked: unknown): B;
}

export interface Route<Q = unknown, B = unknown> {
  readonly method: Method;
  /** `/indexes/:index_uid/search`; parameters in snake case. */
  readonly path: string;
  /** null: no authorization at all. */
  readonly action: RouteAction | null;
  /** A second action that the key must have; checked with the first one. */
  readonly alsoNeeds?: RouteAction;
  /** One sentence for the published description. */
  readonly summary: string;
  /** Absent: the query string is ignored. */
  readonly query?: QueryParser<Q>;
  /** Absent: the body is ignored. `upload`: the handler reads it itself. */
  readonly body?: BodyParser<B> | 'upload';
  /** A malformed uid in the path is that of no index: the handler tells so. */
  readonly anyUid?: boolean;
  /** What is wrong with the path; found after authorization, before all else. */
  pathFault?(params: Readonly<Record<string, string>>): ApiError | null;
  /** The body is checked before the query string. */
  readonly bodyFirst?: boolean;
  /** Answers while the server is starting, too. */
  readonly atOnce?: boolean;
  /** It counts among the searches of its key that are under way. */
  readonly isSearch?: boolean;
  /** How many searches the body asks for. Absent: one. */
  searches?(body: B, server: Dependencies): number;
  /** Errors also have the member that clients of OpenAI read. */
  readonly openAiErrors?: boolean;
  readonly success: number;
  /** The body of a success; absent: none. `text`: no JSON. */
  readonly response?: Schema | 'text';
  /** Default: `application/json`. */
  readonly responseType?: string;
  /** Types of text that a request may ask for instead. */
  readonly otherResponseTypes?: readonly string[];
  handle(
    context: RequestContext<Q, B>,
    server: Dependencies,
  ): RouteResponse | Promise<RouteResponse>;
}

/** Forgets the types of query and body, which the parsers of the route guarantee. */
export function route<Q, B>(definition: Route<Q, B>): Route {
  return definition as unknown as Route;
}

/** `B` is the type that the schema describes. */
export function bodyOf<B>(
  schema: Schema,
  options: Pick<BodyParser<B>, 'optional' | 'kind'> = {},
): BodyParser<B> {
  return { schema, ...options };
}

export function json(status: number, value: unknown): RouteResponse {
  return { status, body: jsonString(value) };
}

/** Status 200 and a value that may be long. */
export function longJson(value: unknown): RouteResponse | Promise<RouteResponse> {
  const text = jsonText(value);
  return text instanceof Promise ? text.then(bytes) : { status: 200, body: text };
}

/** `body`: at once, or in parts that are made as fast as the client reads them. */
export function bytes(body: Buffer | AsyncIterable<Buffer>): RouteResponse {
  return { status: 200, body };
}

/** Registers a task and answers with its summary. */
export async function registered(
  { services }: Pick<Dependencies, 'services'>,
  request: TaskRequest,
  status = 202,
): Promise<RouteResponse> {
  return json(status, await services.tasks.register(request));
}

export const NO_CONTENT: RouteResponse = { status: 204, body: null };

/** The handler has begun to answer by itself. */
export const STREAMED: RouteResponse = { status: 0, body: null };

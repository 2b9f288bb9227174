/** What a route is, and what its handler gets and gives. */
import type { Access, RouteAction } from '../auth/authorize.ts';
import { err, ok, type Result } from '../base/result.ts';
import { ApiError } from '../contract/errors.ts';
import type { QueryParser } from '../contract/query.ts';
import { validator, type Schema } from '../contract/schema.ts';
import type { Exchange, HeaderList, ReplyBody } from './exchange.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Reply {
  status: number;
  /** null: no body. A buffer is sent as it is, and its memory may be used again after that. */
  body: ReplyBody;
  /** Default `application/json`. */
  type?: string;
  headers?: HeaderList;
}

export interface RequestContext<Q = unknown, B = unknown> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Q;
  /** The query string as sent. */
  readonly rawQuery: string;
  readonly body: B;
  readonly access: Access;
  readonly exchange: Exchange;
}

/** A JSON body: its schema for the published description, and how it becomes a value. */
export interface BodyParser<B> {
  readonly schema: Schema;
  /** A request without content type and without body is fine; the value is then undefined. */
  readonly optional?: boolean;
  /** The route only reads: a smaller limit holds for the body. */
  readonly reads?: boolean;
  /** `marked`: see `parseJson`. `text`: the body as sent. */
  parse(value: unknown, marked: unknown, text: () => string): Result<B, ApiError>;
}

export interface Route<Q = unknown, B = unknown> {
  readonly method: Method;
  /** `/indexes/:index_uid/search`; parameters in snake case. */
  readonly path: string;
  /** null: no authorization at all. */
  readonly action: RouteAction | null;
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
  readonly success: number;
  handle(context: RequestContext<Q, B>): Reply | Promise<Reply>;
}

/** Forgets the types of query and body, which the parsers of the route guarantee. */
export function route<Q, B>(definition: Route<Q, B>): Route {
  return definition as unknown as Route;
}

export function bodyOf<B>(schema: Schema): BodyParser<B> {
  const { validate } = validator<B>(schema);
  return { schema, parse: (value, marked) => validate(value, marked) };
}

/** Like `bodyOf`, for routes that need the text as well. */
export function bodyWithText<B>(schema: Schema): BodyParser<{ value: B; text: string }> {
  const { validate } = validator<B>(schema);
  return {
    schema,
    parse(value, marked, text) {
      const checked = validate(value, marked);
      return checked.ok ? ok({ value: checked.value, text: text() }) : err(checked.error);
    },
  };
}

export function json(status: number, value: unknown): Reply {
  return { status, body: JSON.stringify(value) };
}

export function bytes(body: Buffer): Reply {
  return { status: 200, body };
}

export const NO_CONTENT: Reply = { status: 204, body: null };

/** The handler has begun to answer by itself. */
export const STREAMED: Reply = { status: 0, body: null };

/** Query string and body of a request: content type, size, syntax, fields. */
import { ok, type Result } from '../../base/result.ts';
import { ApiError } from '../../contract/errors.ts';
import { bodyBytesMax, type RequestLimits } from '../../contract/limits.ts';
import { checkedBody } from '../../contract/validator.ts';
import { BodyThread } from '../body-thread.ts';
import { collectBody, LARGE_BODY_BYTES, LARGE_SETTINGS_BYTES } from '../body.ts';
import type { Connection } from '../connection.ts';
import type { BodyParser, RequestContext } from '../route.ts';
import type { Pending } from './pending.ts';
import type { Responses } from './responses.ts';

/** The query of a route that takes none. */
const NO_QUERY = ok(undefined);

export class InputStage<S> {
  readonly #limits: RequestLimits;
  readonly #responses: Responses<S>;
  readonly #bodies = new BodyThread();

  constructor(limits: RequestLimits, responses: Responses<S>) {
    this.#limits = limits;
    this.#responses = responses;
  }

  /** @param next called with the query and the body once both are checked */
  read(
    pending: Pending<S>,
    params: RequestContext['params'],
    next: (query: unknown, body: unknown) => void,
  ): void {
    const { connection, route } = pending;
    const pathFault = route.pathFault?.(params) ?? null;
    if (pathFault !== null) {
      this.#responses.fail(pending, pathFault);
      return;
    }
    const query = route.query?.parse(connection.query) ?? NO_QUERY;
    const run = (value?: unknown): void => {
      if (query.ok) next(query.value, value);
      else this.#responses.fail(pending, query.error);
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
    else this.#responses.fail(pending, wrongType);
  }

  /** @param run called with the body after it is checked */
  #readBody(pending: Pending<S>, body: BodyParser<unknown>, run: (value: unknown) => void): void {
    const { connection } = pending;
    const limits = this.#limits;
    const settings = body.settings ?? null;
    const kept = settings === null ? LARGE_BODY_BYTES : LARGE_SETTINGS_BYTES;
    const limit = bodyBytesMax(body.kind ?? 'other', limits);
    const bounds = { limit, dropped: limits.payloadBytes, kept };
    collectBody(connection, bounds, (outcome) => {
      if (outcome instanceof ApiError) {
        this.#responses.fail(pending, outcome);
        return;
      }
      const take = (checked: Result<unknown, ApiError>, isConverted: boolean): void => {
        if (connection.aborted) return;
        const fault = checked.ok ? (body.fault?.(checked.value) ?? null) : checked.error;
        if (fault !== null) this.#responses.fail(pending, fault);
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

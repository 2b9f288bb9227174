/** Requests that end before their route is known. */
import { ApiError } from '../../contract/errors.ts';
import type { Connection } from '../connection.ts';
import { headTooLong, REQUEST_HEAD_BYTES_MAX } from '../socket-library.ts';
import { ANY_ORIGIN, JSON_TYPE } from './pending.ts';

const ALL_METHODS = 'GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS, CONNECT, TRACE';

/** Refuses a request that cannot be read; false: it can be read. */
export function refusedUnread(connection: Connection): boolean {
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

/** Responds to a preflight of a browser; false: it is none. */
export function preflighted(connection: Connection): boolean {
  const { origin, requestMethod, requestHeaders } = connection.headers;
  if (connection.method !== 'OPTIONS') return false;
  if (origin === undefined || requestMethod === undefined) return false;
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
  return true;
}

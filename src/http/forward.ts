/** Writes that a node of a cluster sends on to its leader, and the leader's responses. */
import { Readable } from 'node:stream';
import { ApiError } from '../contract/errors.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import { type Connection, HEADER_FIELDS, type RequestHeaders } from './connection.ts';
import type { RouteResponse } from './route.ts';

/** Says that a node has sent the request on: it goes no further. */
export const FORWARDED = 'gannet-forwarded';
/** A header of a response: the commit after which the write can be read. */
export const COMMIT = 'gannet-commit';

/** A large payload is sent before there is a response. */
const ANSWER_MS = 600_000;

const PASSED = new Set<keyof RequestHeaders>([
  ...(['authorization', 'legacyKey', 'contentType', 'contentEncoding', 'accept'] as const),
  ...(['requestId', 'userId', 'originRemote', 'originTaskUid', 'writeId'] as const),
]);

/** REQUIRES: called while the connection is being handled, whose body is read from here on. */
export async function forward(
  connection: Connection,
  url: string,
  client: OutboundClient,
): Promise<RouteResponse> {
  const headers: Record<string, string> = { [FORWARDED]: 'true' };
  for (const [header, field] of Object.entries(HEADER_FIELDS)) {
    const value = connection.headers[field];
    if (value !== undefined && PASSED.has(field)) headers[header] = value;
  }
  const body = bodyOf(connection);
  const ending = new AbortController();
  connection.onAbort(() => ending.abort());
  const query = connection.query === '' ? '' : `?${connection.query}`;
  try {
    const response = await client.fetch({
      method: connection.method as 'POST',
      url: `${url}${connection.path}${query}`,
      headers,
      ...(body === null ? {} : { body }),
      timeoutMs: ANSWER_MS,
      signal: ending.signal,
    });
    const passed = ['retry-after', COMMIT].flatMap((name) => {
      const value = response.headers[name];
      return typeof value === 'string' ? [[name, value] as const] : [];
    });
    const type = response.headers['content-type'];
    return {
      status: response.status,
      body: response.body.length === 0 ? null : response.body,
      headers: passed,
      ...(typeof type === 'string' ? { type } : {}),
    };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    // It may have been done.
    throw new ApiError('cluster_unavailable', `The leader could not be asked: ${error.message}`);
  }
}

/** null: there is none. */
function bodyOf(connection: Connection): Readable | null {
  const { contentLength, contentType } = connection.headers;
  if (connection.method === 'DELETE' && contentType === undefined && !Number(contentLength ?? 0)) {
    return null;
  }
  const body = new Readable({ read: () => connection.resume() });
  connection.receive((chunk, last) => {
    const hasSpace = chunk.length === 0 || body.push(Buffer.from(chunk));
    if (last) body.push(null);
    else if (!hasSpace) connection.pause();
  });
  connection.onAbort(() => body.destroy(new Error('the client went away')));
  return body;
}

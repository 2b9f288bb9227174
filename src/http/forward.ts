/**
 * What a node of a cluster asks of others for its own client: writes go to the leader, and some
 * reports are made of what each node knows.
 */
import { Readable } from 'node:stream';
import { ApiError, noLeader } from '../contract/errors.ts';
import type { OutboundClient, OutboundResponse } from '../outbound/outbound-client.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import type { ClusterMember } from './dependencies.ts';
import { type Connection, HEADER_FIELDS, type RequestHeaders } from './connection.ts';
import type { RouteResponse } from './route.ts';

/** Says that a node has sent the request on: it goes no further. */
export const FORWARDED = 'gannet-forwarded';
/** A header of a response: the commit after which the write can be read. */
export const COMMIT = 'gannet-commit';

/** Longest time without any progress: the leader takes no more of the body, or does not respond. */
const SILENT_MS = 8000;
/** The leader stores a payload before it responds, at this rate at least. */
const BYTES_PER_MS_MIN = 256;
/** No request takes longer. */
const ANSWER_MS = 600_000;

const PASSED = new Set<keyof RequestHeaders>([
  ...(['authorization', 'legacyKey', 'contentType', 'contentEncoding', 'accept'] as const),
  ...(['requestId', 'userId', 'originRemote', 'originTaskUid', 'writeId'] as const),
]);

const CREDENTIALS = new Set<keyof RequestHeaders>(['authorization', 'legacyKey', 'requestId']);

/** How long another node may take to answer a question, and the size of its answer. */
const ASKED_MS_MAX = 3000;
const ASKED_BYTES_MAX = 16 * 2 ** 20;

/**
 * REQUIRES: called while the connection is being handled, whose body is read from here on.
 * @param leads aborted when the leader has changed, or cannot be reached
 */
export async function forward(
  connection: Connection,
  url: string,
  client: OutboundClient,
  leads: AbortSignal,
): Promise<RouteResponse> {
  const headers = passedHeaders(connection, PASSED);
  const ending = new AbortController();
  const end = (): void => ending.abort();
  let reason = 'the leader does not respond';
  const change = (): void => {
    reason = 'the leader has changed, or cannot be reached';
    end();
  };
  connection.onAbort(end);
  leads.addEventListener('abort', change, { once: true });
  let silence = setTimeout(end, SILENT_MS);
  const body = bodyOf(connection, (bytes) => {
    clearTimeout(silence);
    silence = setTimeout(end, SILENT_MS + bytes / BYTES_PER_MS_MIN);
  });
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
    // No process listens there: nothing was sent.
    if (error.failure === 'unreachable') throw noLeader();
    const why = error.failure === 'canceled' ? reason : error.message;
    throw new ApiError('cluster_unavailable', `The write may have happened: ${why}.`);
  } finally {
    clearTimeout(silence);
    leads.removeEventListener('abort', change);
  }
}

export interface AskedNode {
  readonly name: string;
  /** null: it does not run. */
  readonly url: string | null;
}

/** All nodes of the cluster but this one. */
export async function otherNodes({ name: own, node }: ClusterMember): Promise<AskedNode[]> {
  const { nodes, registered } = await node.status();
  const urls = new Map(nodes.map(({ name, url }) => [name, url]));
  return [...new Set([...(registered ?? []), ...urls.keys()])]
    .filter((name) => name !== own)
    .map((name) => ({ name, url: urls.get(name) ?? null }));
}

/** The response of another node to the same caller; null: it does not respond in time. */
export async function askNode(
  connection: Connection,
  { client }: ClusterMember,
  { url }: AskedNode,
  method: 'GET' | 'POST',
  path: string,
): Promise<OutboundResponse | null> {
  if (url === null) return null;
  const headers = passedHeaders(connection, CREDENTIALS);
  const ending = new AbortController();
  connection.onAbort(() => ending.abort());
  try {
    return await client.fetch(
      { method, url: url + path, headers, timeoutMs: ASKED_MS_MAX, signal: ending.signal },
      { bytesMax: ASKED_BYTES_MAX },
    );
  } catch (error) {
    if (error instanceof OutboundError) return null;
    throw error;
  }
}

function passedHeaders(
  { headers: given }: Connection,
  passed: ReadonlySet<keyof RequestHeaders>,
): Record<string, string> {
  const headers: Record<string, string> = { [FORWARDED]: 'true' };
  for (const [header, field] of Object.entries(HEADER_FIELDS)) {
    const value = given[field];
    if (value !== undefined && passed.has(field)) headers[header] = value;
  }
  return headers;
}

/**
 * null: there is none.
 * @param onProgress called with the number of bytes that the leader has taken so far
 */
function bodyOf(connection: Connection, onProgress: (bytes: number) => void): Readable | null {
  const { contentLength, contentType } = connection.headers;
  if (connection.method === 'DELETE' && contentType === undefined && !Number(contentLength ?? 0)) {
    return null;
  }
  let bytes = 0;
  const body = new Readable({
    read: () => {
      onProgress(bytes);
      connection.resume();
    },
  });
  connection.receive((chunk, last) => {
    bytes += chunk.length;
    const hasSpace = chunk.length === 0 || body.push(Buffer.from(chunk));
    if (last) body.push(null);
    else if (!hasSpace) connection.pause();
  });
  connection.onAbort(() => body.destroy(new Error('the client went away')));
  return body;
}

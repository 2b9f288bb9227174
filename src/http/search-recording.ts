/** What is recorded of a search: read off its request and the head of its answer. */
import type { Recorder, Sender } from '../analytics/recorder.ts';
import type { SearchRequest } from '../contract/search.ts';
import type { SearchResponse } from '../search/response.ts';
import { asks, type Connection } from './connection.ts';
import type { RequestContext } from './route.ts';

type Recorded = Pick<SearchRequest, 'q' | 'filter'>;

/** Takes the answer to a query, the first one where no position is told. */
export type ResponseListener = (
  response: Omit<SearchResponse, 'bytes'>,
  durationMs: number,
  position?: number,
) => void;

/**
 * Who takes the answer to a query, or null when nothing is recorded.
 * REQUIRES: before the filter of the caller's token is added, which is not recorded
 */
export function recordingOf(
  recorder: Recorder | null,
  { connection, own }: Pick<RequestContext, 'connection' | 'own'>,
  indexUid: string,
  { q, filter }: Recorded,
): ResponseListener | null {
  if (recorder === null || own) return null;
  const { proxySearch, testSearch } = connection.headers;
  // What a server of the network asks, it has recorded itself.
  if (asks(proxySearch) || asks(testSearch)) return null;
  return ({ head, queryUids }, durationMs, position = 0) => {
    if (connection.aborted) return;
    recorder.search({
      at: 0,
      indexUid,
      query: q ?? '',
      filter,
      hits: head.totalHits ?? -1,
      durationMs,
      sender: senderOf(connection, null),
      queryUid: queryUids?.[position] ?? null,
    });
  };
}

/** @param givenId by the body of the request */
export function senderOf(connection: Connection, givenId: string | null): Sender {
  const { userId, forwardedFor } = connection.headers;
  const id = userId ?? givenId;
  if (id !== null) return { id };
  const [address] = forwardedFor?.split(',', 1) ?? [connection.remoteAddress()];
  return { address: address! };
}

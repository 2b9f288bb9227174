/** What analytics record of a search: taken from its request and the head of its response. */
import { createHash } from 'node:crypto';
import { interleaved } from '../analytics/interleaving.ts';
import type { Recorder, Sender } from '../analytics/recorder.ts';
import { foldedQuery } from '../analytics/reports.ts';
import type { IndexSearchRequest } from '../contract/search.ts';
import type { SearchResponse } from '../search/response.ts';
import { asks, type Connection } from './connection.ts';
import type { RequestContext } from './route.ts';

type Recorded = Pick<IndexSearchRequest, 'q' | 'filter' | 'interleave'>;

/** Called with the response to a query, the first one when no position is given. */
export type ResponseListener = (
  response: Omit<SearchResponse, 'bytes'>,
  durationMs: number,
  position?: number,
) => void;

/**
 * The listener for the response to a query, or null when nothing is recorded. REQUIRES: called
 * before the filter of the caller's token is added, which is not recorded
 */
export function recordingOf(
  recorder: Recorder | null,
  { connection, own }: Pick<RequestContext, 'connection' | 'own'>,
  indexUid: string,
  { q, filter, interleave }: Recorded,
): ResponseListener | null {
  if (recorder === null || own) return null;
  const { proxySearch, testSearch } = connection.headers;
  // The server that sent the request has recorded the search itself.
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
      interleaved: interleave ? interleaved(interleave.with, head.teams ?? []) : null,
    });
  };
}

/** @param givenId the user id in the body of the request */
export function senderOf(connection: Connection, givenId: string | null): Sender {
  const { userId, forwardedFor } = connection.headers;
  const id = userId ?? givenId;
  if (id !== null) return { id };
  const [address] = forwardedFor?.split(',', 1) ?? [connection.remoteAddress()];
  return { address: address! };
}

/**
 * The seed of an interleaved search: the same for all searches of a user for a query, so that pages
 * belong to one draft.
 */
export function seedOf(connection: Connection, indexUids: readonly string[], q: string): number {
  const of = JSON.stringify([senderOf(connection, null), indexUids, foldedQuery(q)]);
  return createHash('sha256').update(of).digest().readUIntBE(0, 6);
}

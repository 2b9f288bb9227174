/** What is recorded of a search: read off its request and the bytes of its answer. */
import type { Recorder, Sender } from '../analytics/recorder.ts';
import type { SearchRequest } from '../contract/search.ts';
import { asks, type Exchange } from './exchange.ts';
import type { RequestContext } from './route.ts';

type Recorded = Pick<SearchRequest, 'q' | 'filter' | 'facets' | 'page' | 'hitsPerPage'>;
/** What tells how an answer gives its total. */
type Shape = Pick<SearchRequest, 'facets' | 'page' | 'hitsPerPage'>;

const UUID_CHARS = 36;

/** Takes the answer to one query; its bytes are not kept. */
export type AnswerListener = (answer: Buffer, durationMs: number) => void;

/**
 * Who takes the answer to a query, or null when nothing is recorded.
 * REQUIRES: before the filter of the caller's token is added, which is not recorded
 */
export function recordingOf(
  recorder: Recorder | null,
  { exchange, own }: Pick<RequestContext, 'exchange' | 'own'>,
  indexUid: string,
  request: Recorded,
  shape: Shape = request,
): AnswerListener | null {
  if (recorder === null || own) return null;
  const { proxySearch, testSearch, includeMetadata } = exchange.headers;
  // What a server of the network asks, it has recorded itself.
  if (asks(proxySearch) || asks(testSearch)) return null;
  const { q, filter } = request;
  const asksForMetadata = asks(includeMetadata);
  return (answer, durationMs) => {
    if (exchange.aborted) return;
    recorder.search({
      at: 0,
      indexUid,
      query: q ?? '',
      filter,
      hits: totalHits(answer, shape),
      durationMs,
      sender: senderOf(exchange, null),
      queryUid: asksForMetadata ? queryUidOf(answer) : null,
    });
  };
}

/** @param told by the body of the request */
export function senderOf(exchange: Exchange, told: string | null): Sender {
  const { userId, forwardedFor } = exchange.headers;
  const id = userId ?? told;
  if (id !== null) return { id };
  const [address] = forwardedFor?.split(',', 1) ?? [exchange.remoteAddress()];
  return { address: address! };
}

const TOTAL_HITS = Buffer.from('"totalHits":');
const ESTIMATED_TOTAL_HITS = Buffer.from('"estimatedTotalHits":');

/** Of an answer of the engine; -1 when it has none. What follows the hits is looked at alone. */
export function totalHits(answer: Buffer, { facets, page, hitsPerPage }: Shape): number {
  const name = isNumber(page) || isNumber(hitsPerPage) ? TOTAL_HITS : ESTIMATED_TOTAL_HITS;
  const at =
    facets === undefined || facets === null
      ? lastBefore(answer, name, answer.length)
      : lastBefore(answer, name, answer.lastIndexOf(',"facetDistribution":{', undefined, 'latin1'));
  if (at < 0) return -1;
  let total = 0;
  for (let i = at + name.length; i < answer.length; i++) {
    const digit = answer[i]! - 0x30;
    if (digit < 0 || digit > 9) break;
    total = total * 10 + digit;
  }
  return total;
}

/** How far back the number stands at most, but for long metadata and performance details: bytes. */
const NEAR_BYTES = 256;

/** Where `name` begins for the last time before `end`, or -1. A call of the library costs more than a look at the end. */
function lastBefore(bytes: Buffer, name: Buffer, end: number): number {
  if (end < 0) return bytes.lastIndexOf(name);
  const least = Math.max(0, end - NEAR_BYTES);
  for (let i = end - name.length; i >= least; i--) {
    let same = 0;
    while (same < name.length && bytes[i + same] === name[same]) same++;
    if (same === name.length) return i;
  }
  return bytes.lastIndexOf(name, least);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number';
}

function queryUidOf(answer: Buffer): string | null {
  const name = '"queryUid":"';
  const at = answer.lastIndexOf(name, undefined, 'latin1');
  if (at < 0) return null;
  const start = at + name.length;
  return answer.toString('latin1', start, start + UUID_CHARS);
}

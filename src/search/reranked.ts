/**
 * `rerank`: the first documents of a search in another order (docs/behaviour/reranking.md). The
 * engine returns them all with the page, so that every page of the list agrees with the others.
 */
import { membersAt } from '../base/json-spans.ts';
import { SEARCH_DEFAULTS, type SearchRequest } from '../contract/search.ts';
import { isGiven } from '../contract/settings/setting.ts';
import type { EngineResult } from '../engine/native.ts';

/** A model reads no longer query, and a request may repeat it for each document. */
const QUERY_CHARACTERS_MAX = 4096;

/** A search whose page has documents to be reranked. */
export interface Reranking {
  model: string;
  q: string;
  /** This number of documents is reranked. */
  documents: number;
  /** The page: hits from `begin` to `end`, excluded. */
  begin: number;
  end: number;
  /** What the engine is asked for instead of the page. */
  wide: Pick<SearchRequest, 'offset' | 'limit' | 'page' | 'hitsPerPage'>;
  extras: { hitSpans: true; sources: number; firstPage: number };
  /** The members of the response that describe the page. */
  page: Record<string, number>;
  /** Positions of pins, which stay. */
  fixed: ReadonlySet<number>;
}

/** null: there is nothing to rerank. */
export function rerankingOf(
  params: SearchRequest & { pins?: readonly { position: number }[] },
): Reranking | null {
  const { rerank, q } = params;
  if (!isGiven(rerank) || !isGiven(q) || q.trim() === '') return null;
  const documents = rerank.documents ?? SEARCH_DEFAULTS.reranked;
  const isPaged = isGiven(params.page) || isGiven(params.hitsPerPage);
  const size = (isPaged ? params.hitsPerPage : params.limit) ?? SEARCH_DEFAULTS.limit;
  const page = params.page ?? 1;
  const begin = isPaged ? (page - 1) * size : (params.offset ?? 0);
  if (size === 0 || begin < 0 || begin >= documents) return null;
  const all = Math.max(documents, begin + size);
  return {
    ...{ model: rerank.model, q: beginningOf(q), documents, begin, end: begin + size },
    wide: isPaged ? { page: 1, hitsPerPage: all } : { offset: 0, limit: all },
    extras: { hitSpans: true, sources: documents, firstPage: size },
    page: isPaged ? { hitsPerPage: size, page } : { limit: size, offset: begin },
    fixed: new Set((params.pins ?? []).map(({ position }) => position)),
  };
}

/** Without half of a surrogate pair at the end. */
function beginningOf(q: string): string {
  return q.slice(0, QUERY_CHARACTERS_MAX).replace(/[\ud800-\udbff]$/, '');
}

/** The number of hits in a result with their positions. */
export function hitsOf({ head }: EngineResult): number {
  return (head.hitSpans?.length ?? 0) / 2;
}

/**
 * The response to the request of the client.
 * @param found the result of the wide search
 * @param scores of its first documents; null: they could not be made
 */
export function rerankedResponse(
  found: EngineResult,
  reranking: Reranking,
  scores: readonly number[] | null,
): EngineResult {
  const { bytes, head } = found;
  const spans = head.hitSpans ?? new Uint32Array();
  const order = orderOf(hitsOf(found), scores ?? [], reranking.fixed);
  const shown = order.slice(reranking.begin, reranking.end);
  const open = bytes.indexOf('[') + 1;
  const parts: Buffer[] = [bytes.subarray(0, spans[0] ?? open)];
  const hitSpans: number[] = [];
  let at = parts[0]!.length;
  for (const [n, hit] of shown.entries()) {
    if (n > 0) parts.push(COMMA);
    at += n > 0 ? 1 : 0;
    const text = bytes.subarray(spans[2 * hit], spans[2 * hit + 1]);
    parts.push(text);
    hitSpans.push(at, at + text.length);
    at += text.length;
  }
  const rest = bytes.toString('utf8', spans.at(-1) ?? open);
  parts.push(Buffer.from(restOf(rest, reranking.page, head.totalHits ?? 0, scores === null)));
  const { sources: _, hitSpans: __, ...others } = head;
  return {
    bytes: Buffer.concat(parts),
    head: { ...others, ...(hitSpans.length > 0 && { hitSpans: Uint32Array.from(hitSpans) }) },
  };
}

const COMMA = Buffer.from(',');

/** The hits by descending score; hits without a score, and fixed ones, stay. */
function orderOf(hits: number, scores: readonly number[], fixed: ReadonlySet<number>): number[] {
  const order = Array.from({ length: hits }, (_, n) => n);
  const moved = order.slice(0, scores.length).filter((n) => !fixed.has(n));
  const best = moved.toSorted((a, b) => scores[b]! - scores[a]! || a - b);
  for (const [n, position] of moved.entries()) order[position] = best[n]!;
  return order;
}

/** What follows the hits, with the members of the page. */
function restOf(
  rest: string,
  page: Readonly<Record<string, number>>,
  total: number,
  isUnranked: boolean,
): string {
  const opened = `{"hits":[${rest}`;
  const values: Record<string, number> = { ...page };
  if (page.hitsPerPage !== undefined) values.totalPages = Math.ceil(total / page.hitsPerPage);
  let text = ']';
  let lacking: unknown[] = isUnranked ? ['rerank'] : [];
  for (const { name, begin, end } of membersAt(opened, 0)) {
    if (name === 'hits') continue;
    const value = opened.slice(begin, end);
    if (name === 'degraded') lacking = [...(JSON.parse(value) as unknown[]), ...lacking];
    else text += `,"${name}":${Object.hasOwn(values, name) ? values[name] : value}`;
  }
  if (lacking.length > 0) text += `,"degraded":${JSON.stringify(lacking)}`;
  return `${text}}`;
}

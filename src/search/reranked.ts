/**
 * `rerank`: the first documents of a search in another order (docs/behaviour/reranking.md). The
 * engine ranks them all with the page, so that every page of the list agrees with the others.
 */
import { hitsPageOf, SEARCH_DEFAULTS, type SearchRequest } from '../contract/search.ts';
import { isGiven } from '../contract/settings/setting.ts';

/** A model reads no longer query, and a request may repeat it for each document. */
const QUERY_CHARACTERS_MAX = 4096;

/** What is reranked. */
export interface Reranking {
  model: string;
  q: string;
  /** This number of documents. */
  documents: number;
}

/** null: there is nothing to rerank. */
export function rerankingOf(params: SearchRequest): Reranking | null {
  const { rerank, q } = params;
  if (!isGiven(rerank) || !isGiven(q) || q.trim() === '') return null;
  const documents = rerank.documents ?? SEARCH_DEFAULTS.reranked;
  const shown = hitsPageOf(params);
  const [begin, size] =
    'page' in shown
      ? [(shown.page - 1) * shown.hitsPerPage, shown.hitsPerPage]
      : [shown.offset, shown.limit];
  if (size === 0 || begin < 0 || begin >= documents) return null;
  return { model: rerank.model, q: beginningOf(q), documents };
}

/** Without half of a surrogate pair at the end. */
function beginningOf(q: string): string {
  return q.slice(0, QUERY_CHARACTERS_MAX).replace(/[\ud800-\udbff]$/, '');
}

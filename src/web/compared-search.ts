/** What differs between the two searches of a comparison. Pure functions. */
import type { Marks } from './marks.ts';
import { searchQueries, type SearchState } from './search-request.ts';

/** Parameters of one side. */
export interface Compared {
  /** Uid of an index; empty: the one of the view. */
  readonly index: string;
  /** Empty: as in the settings. */
  readonly matchingStrategy: string;
  /** `field:asc`, a formula with its direction, or empty. */
  readonly sort: string;
  readonly embedder: string;
  readonly semanticRatio: number;
  /** How words and meaning are merged; empty: by their scores. */
  readonly fusion: string;
  /** Least score of what only vectors find; empty: as in the settings. */
  readonly minScore: string;
}

export interface Comparison {
  readonly left: Compared;
  readonly right: Compared;
}

/** Both sides as the search is. */
function comparedOf({ sort, embedder, semanticRatio }: SearchState): Compared {
  const plain = { index: '', matchingStrategy: '', fusion: '', minScore: '' };
  return { ...plain, sort, embedder, semanticRatio };
}

/** @param text JSON of the address; empty: no comparison */
export function comparisonFrom(text: string, state: SearchState): Comparison | null {
  if (text === '') return null;
  const initial = comparedOf(state);
  try {
    const { left, right } = JSON.parse(text) as { left?: object; right?: object };
    return { left: { ...initial, ...left }, right: { ...initial, ...right } };
  } catch {
    return { left: initial, right: initial };
  }
}

/** For the address: only what differs from the search. */
export function comparisonText({ left, right }: Comparison, state: SearchState): string {
  const initial = comparedOf(state);
  const part = (side: Compared): object =>
    Object.fromEntries(
      Object.entries(side).filter(([name, value]) => value !== initial[name as keyof Compared]),
    );
  return JSON.stringify({ left: part(left), right: part(right) });
}

/** Hits of each side among which a moved one is sought. */
const COMPARED = 100;

export function comparedQuery(
  uid: string,
  state: SearchState,
  { matchingStrategy, sort, embedder, semanticRatio, fusion, minScore }: Compared,
  options: { marks: Marks; explain: boolean },
): Record<string, unknown> {
  const side = { ...state, sort, embedder, semanticRatio, page: 1 };
  const [query] = searchQueries(uid, side, { ...options, facets: false });
  const bound = Number(minScore);
  const isBound = minScore !== '' && bound >= 0 && bound <= 1;
  return {
    ...query,
    hitsPerPage: COMPARED,
    ...(matchingStrategy !== '' && { matchingStrategy }),
    ...(embedder !== '' && {
      hybrid: {
        embedder,
        semanticRatio,
        ...(fusion !== '' && { fusion }),
        ...(isBound && { minScore: bound }),
      },
    }),
  };
}

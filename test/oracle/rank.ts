/**
 * The ranking rules, each as a cost per step of a path (search.md 2.6, 2.7) and the highest cost a path
 * could have. A document gets its cheapest path, rule after rule.
 */
import { isNgram, slotsOf, type Node } from './expand.ts';
import { gaps, type Candidate, type Places, type State } from './match.ts';

export interface RankContext {
  /** Weight of a field by field id. */
  weight: (field: number) => number;
  maxWeight: number;
  byAttribute: boolean;
  /** Number of indexed words of a field of a document. */
  wordCount: (document: number, field: number) => number;
}

export interface GraphRule {
  kind: 'typo' | 'proximity' | 'attributeRank' | 'wordPosition' | 'exactWords';
  cost(candidate: Candidate, from: State | null, to: State): number;
  max(from: State | null, to: State): number;
}

const NGRAM_TYPOS = [0, 2, 3];

export const typoRule: GraphRule = {
  kind: 'typo',
  cost: (_, _from, to) => NGRAM_TYPOS[slotsOf(to.node) - 1]! + to.alternative.typos,
  max: (_from, { node }) =>
    node.term.phrase ? 0 : NGRAM_TYPOS[slotsOf(node) - 1]! + Math.max(node.allowedTypos, 1),
};

const FAR = 3;

function adjacent(from: State | null, to: State): from is State {
  return from !== null && from.node.term.last + 1 === to.node.term.first;
}

export function proximityRule(context: RankContext): GraphRule {
  return {
    kind: 'proximity',
    cost(candidate, from, to) {
      const extra = slotsOf(to.node) - 1;
      if (!adjacent(from, to)) return extra;
      if (context.byAttribute) return extra + attributeDistance(from, to);
      return extra + wordDistance(candidate, from, to);
    },
    max: (from, to) => slotsOf(to.node) - 1 + (adjacent(from, to) ? FAR : 0),
  };
}

function wordDistance(candidate: Candidate, from: State, to: State): number {
  let best = FAR;
  const ahead = (left: Places, right: Places): void => {
    best = Math.min(best, gaps(left, right)[0] - 1);
  };
  const [forward, backward] = gaps(from.places, to.places);
  best = Math.min(best, forward - 1);
  // For a short prefix the pairs in the other order are those of the word itself.
  if (!to.node.shortPrefix || to.alternative.typos > 0) best = Math.min(best, backward);
  else best = Math.min(best, gaps(from.places, candidate.byWord.get(to.node.verbatim) ?? [])[1]);
  for (const l of from.phrases) {
    if (l.last === null) continue;
    ahead(l.last, to.places);
    for (const r of to.phrases) if (r.first !== null) ahead(l.last, r.first);
  }
  for (const r of to.phrases) if (r.first !== null) ahead(from.places, r.first);
  return best;
}

function attributeDistance(from: State, to: State): number {
  const fields = (state: State, end: 'first' | 'last'): Set<number> => {
    const out = new Set(state.places.map((place) => place >> 16));
    for (const hit of state.phrases) for (const place of hit[end] ?? []) out.add(place >> 16);
    return out;
  };
  const left = fields(from, 'last');
  return [...fields(to, 'first')].some((field) => left.has(field)) ? 0 : FAR;
}

/** All places that stand for a state: its words, and the first real words of its phrases. */
function* placesOf(candidate: Candidate, state: State): Generator<number> {
  yield* state.places;
  for (const { phrase } of state.phrases) {
    const first = phrase.words.find((word) => word !== null)!;
    yield* candidate.byWord.get(first) ?? [];
  }
}

export function attributeRankRule(context: RankContext): GraphRule {
  return {
    kind: 'attributeRank',
    cost(candidate, _from, to) {
      let best = Infinity;
      for (const place of placesOf(candidate, to)) {
        best = Math.min(best, context.weight(place >> 16));
      }
      return best * slotsOf(to.node);
    },
    max: (_from, to) => context.maxWeight * slotsOf(to.node),
  };
}

const POSITION_STEPS = [0, 1, 4, 7, 11, 16, 24, 64, 256, 1024];

export function positionCost(delta: number): number {
  const cost = POSITION_STEPS.findIndex((step) => delta <= step);
  return cost < 0 ? POSITION_STEPS.length : cost;
}

/** Positions are known exactly up to 15 only. */
export function bucketed(position: number): number {
  if (position < 16) return position;
  if (position < 24) return 24;
  let power = 32;
  while (power < position) power *= 2;
  return position === 24 ? 32 : power;
}

export const wordPositionRule: GraphRule = {
  kind: 'wordPosition',
  cost(candidate, _from, to) {
    let best = Infinity;
    for (const place of placesOf(candidate, to)) {
      const delta = Math.abs(bucketed(place & 0xffff) - to.node.term.first);
      let sum = 0;
      for (let i = 0; i < slotsOf(to.node); i++) sum += positionCost(delta + i);
      best = Math.min(best, sum);
    }
    return best;
  },
  max: (_from, to) => 10 * slotsOf(to.node),
};

export const exactWordsRule: GraphRule = {
  kind: 'exactWords',
  cost(candidate, _from, to) {
    const { node, alternative } = to;
    if (node.term.phrase) return 0;
    const verbatim = !isNgram(node) && alternative.typos === 0 && candidate.byWord.has(node.verbatim);
    return verbatim ? 0 : slotsOf(node);
  },
  max: (_from, to) => slotsOf(to.node),
};

export type MatchType = 'exactMatch' | 'matchesStart' | 'noExactMatch';

const MAX_COUNTED_WORDS = 30;

/** @param nodes the terms still in play for the whole bucket */
export function matchType(candidate: Candidate, nodes: ReadonlySet<Node>, context: RankContext): MatchType {
  const wanted: [position: number, word: number][] = [];
  let count = 0;
  for (const node of [...nodes].sort((a, b) => a.term.first - b.term.first)) {
    const { term } = node;
    if (term.phrase) {
      const phrase = node.alternatives[0]?.phrases[0];
      for (const [i, word] of (phrase?.words ?? []).entries()) {
        if (word !== null) wanted.push([term.first + i, word]);
      }
      if (term.first !== count) return 'noExactMatch';
      count += term.words.length;
    } else if (node.verbatim >= 0) {
      if (term.first !== count) return 'noExactMatch';
      wanted.push([term.first, node.verbatim]);
      count++;
    }
  }
  if (wanted.length === 0) return 'noExactMatch';
  let best: MatchType = 'noExactMatch';
  const [firstPosition, firstWord] = wanted[0]!;
  const inField = (field: number, position: number, word: number): boolean =>
    (candidate.byWord.get(word) ?? []).some(
      (place) => place >> 16 === field && bucketed(place & 0xffff) === bucketed(position),
    );
  for (const place of candidate.byWord.get(firstWord) ?? []) {
    const field = place >> 16;
    if (bucketed(place & 0xffff) !== bucketed(firstPosition)) continue;
    if (!wanted.every(([position, word]) => inField(field, position, word))) continue;
    best = 'matchesStart';
    if (count <= MAX_COUNTED_WORDS && context.wordCount(candidate.document, field) === count) return 'exactMatch';
  }
  return best;
}

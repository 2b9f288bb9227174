/**
 * The ranking rules, each as a cost per step of a path (docs/behaviour/ranking.md) and the highest
 * cost a path could have. A document gets its cheapest path, rule after rule.
 */
import { INSIDE, slotsOf, type Node } from './expand.ts';
import {
  gaps,
  stateOf,
  type Candidate,
  type Path,
  type Occurrences,
  type State,
  type Step,
} from './match.ts';

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
  /**
   * The cheapest way for a document to take a path, and the path with the derivations that this way
   * leaves; null when the document cannot take it.
   */
  take(candidate: Candidate, path: Path): { cost: number; path: Path } | null;
  /** The highest cost the path could have for any document. */
  max(path: Path): number;
}

/** A rule that judges each step separately and leaves the derivations unchanged. */
function stepRule(
  kind: GraphRule['kind'],
  cost: (candidate: Candidate, step: Step, state: State, previous: Step | null) => number,
  max: (step: Step, previous: Step | null) => number,
): GraphRule {
  return {
    kind,
    take(candidate, path) {
      let total = 0;
      for (const [i, step] of path.entries()) {
        const state = stateOf(candidate, step);
        if (state === null) return null;
        total += cost(candidate, step, state, path[i - 1] ?? null);
      }
      return { cost: total, path };
    },
    max: (path) => path.reduce((sum, step, i) => sum + max(step, path[i - 1] ?? null), 0),
  };
}

const NGRAM_TYPOS = [0, 2, 3];

export const typoRule: GraphRule = {
  kind: 'typo',
  take(candidate, path) {
    let cost = 0;
    const chosen: Step[] = [];
    for (const step of path) {
      const states = candidate.states.get(step.node);
      if (states === undefined) return null;
      const typos =
        step.typos ?? (step.verbatim ? 0 : states.findIndex((state) => state !== undefined));
      if (stateOf(candidate, { ...step, typos }) === null) return null;
      cost += NGRAM_TYPOS[slotsOf(step.node) - 1]! + typos;
      chosen.push({ ...step, typos });
    }
    return { cost, path: chosen };
  },
  max: (path) =>
    path.reduce((sum, { node, verbatim }) => {
      const own = node.synonymsOnly ? 0 : Math.max(node.allowedTypos, node.inside ? INSIDE : 1);
      // A word held to its verbatim form keeps the 1 of the split words only if it never allowed
      // typos.
      if (node.term.phrase || (verbatim && node.allowedTypos > 0)) return sum;
      return sum + NGRAM_TYPOS[slotsOf(node) - 1]! + own;
    }, 0),
};

const FAR = 3;

const adjacent = (from: Step | null, to: Step): from is Step =>
  from !== null && from.node.term.last + 1 === to.node.term.first;

export function proximityRule(): GraphRule {
  return stepRule(
    'proximity',
    (candidate, step, state, previous) => {
      const extra = slotsOf(step.node) - 1;
      if (!adjacent(previous, step)) return extra;
      const left = stateOf(candidate, previous)!;
      return extra + wordDistance(candidate, previous, left, step, state);
    },
    (step, previous) => slotsOf(step.node) - 1 + (adjacent(previous, step) ? FAR : 0),
  );
}

function wordDistance(
  candidate: Candidate,
  previous: Step,
  left: State,
  step: Step,
  right: State,
): number {
  let best = FAR;
  const ahead = (l: Occurrences, r: Occurrences): void => {
    best = Math.min(best, gaps(l, r)[0] - 1);
  };
  const [forward, backward] = gaps(left.anywhere, right.anywhere);
  best = Math.min(best, forward - 1);
  // For a short prefix the pairs in the other order are those of the word itself.
  if (!step.node.shortPrefix || (step.typos ?? 0) > 0) best = Math.min(best, backward);
  else
    best = Math.min(best, gaps(left.anywhere, candidate.byWord.get(step.node.verbatim) ?? [])[1]);
  for (const l of left.phrases) {
    const end = l.phrase.words.at(-1);
    if (end == null) continue;
    const last = candidate.byWord.get(end)!;
    ahead(last, right.anywhere);
    for (const r of right.phrases) if (r.first !== null) ahead(last, r.first);
  }
  for (const r of right.phrases) if (r.first !== null) ahead(left.anywhere, r.first);
  if (step.node.shortPrefix && (step.typos ?? 0) === 0) {
    const words = step.node.alternatives.find(({ typos }) => typos === 0)?.words ?? [];
    const prefixed = [...words].flatMap((word) => candidate.byWord.get(word) ?? []);
    for (const l of phraseEnds(candidate, previous)) ahead(l, prefixed);
  }
  return best;
}

/**
 * Occurrences of the last words of the phrases that stand for a step, whether the document contains
 * the phrase or not. In front of a short prefix only these are known.
 */
function phraseEnds(candidate: Candidate, step: Step): Occurrences[] {
  if (step.verbatim && !step.node.term.phrase) return [];
  return step.node.alternatives
    .filter(({ typos }) => typos === (step.verbatim ? 0 : (step.typos ?? typos)))
    .flatMap(({ phrases }) => phrases.map(({ words }) => words.at(-1)))
    .flatMap((word) => (word == null ? [] : [candidate.byWord.get(word) ?? []]));
}

/** All occurrences that stand for a state: its words, and the first real words of its phrases. */
function* occurrencesOf(candidate: Candidate, state: State): Generator<number> {
  yield* state.anywhere;
  for (const { phrase } of state.phrases) {
    const first = phrase.words.find((word) => word !== null)!;
    yield* candidate.byWord.get(first) ?? [];
  }
}

export function attributeRankRule(context: RankContext): GraphRule {
  return stepRule(
    'attributeRank',
    (candidate, step, state) => {
      let best = Infinity;
      for (const occurrence of occurrencesOf(candidate, state)) {
        if (candidate.inField[occurrence >> 16])
          best = Math.min(best, context.weight(occurrence >> 16));
      }
      return best * slotsOf(step.node);
    },
    (step) => context.maxWeight * slotsOf(step.node),
  );
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

export const wordPositionRule = stepRule(
  'wordPosition',
  (candidate, step, state) => {
    let best = Infinity;
    for (const occurrence of occurrencesOf(candidate, state)) {
      const delta = Math.abs(bucketed(occurrence & 0xffff) - step.node.term.first);
      let sum = 0;
      for (let i = 0; i < slotsOf(step.node); i++) sum += positionCost(delta + i);
      best = Math.min(best, sum);
    }
    return best;
  },
  (step) => 10 * slotsOf(step.node),
);

export const exactWordsRule: GraphRule = {
  kind: 'exactWords',
  take(candidate, path) {
    let cost = 0;
    const chosen: Step[] = [];
    for (const step of path) {
      if (stateOf(candidate, step) === null) return null;
      const exact = { ...step, verbatim: true };
      const possible = (step.typos ?? 0) === 0 && stateOf(candidate, exact) !== null;
      chosen.push(possible ? exact : step);
      if (!possible) cost += slotsOf(step.node);
    }
    return { cost, path: chosen };
  },
  max: (path) => path.reduce((sum, { node }) => sum + slotsOf(node), 0),
};

export type MatchType = 'exactMatch' | 'matchesStart' | 'noExactMatch';

const MAX_COUNTED_WORDS = 30;

/** @param nodes the terms still in play for the whole bucket */
export function matchType(
  candidate: Candidate,
  nodes: ReadonlySet<Node>,
  context: RankContext,
): MatchType {
  const wanted: [position: number, word: number][] = [];
  let count = 0;
  let nextSlot = 0;
  for (const node of [...nodes].sort((a, b) => a.term.first - b.term.first)) {
    const { term } = node;
    if (!term.phrase && node.verbatim < 0) continue;
    if (node.firstSlot !== nextSlot) return 'noExactMatch';
    const words = term.phrase ? (node.alternatives[0]?.phrases[0]?.words ?? []) : [node.verbatim];
    // The phrase stands at its first real word. A leading hole moves the words behind it, as a slot
    // of the phrase, but does not count as a word.
    for (const [i, word] of words.entries()) if (word !== null) wanted.push([term.first + i, word]);
    count += term.last - term.first + 1;
    nextSlot = node.lastSlot + 1;
  }
  if (wanted.length === 0) return 'noExactMatch';
  // Field and position are known separately: each word at its position in any field, all words in
  // one field.
  const atPosition = ([position, word]: [number, number]): boolean =>
    (candidate.byWord.get(word) ?? []).some(
      (occurrence) => bucketed(occurrence & 0xffff) === bucketed(position),
    );
  if (!wanted.every(atPosition)) return 'noExactMatch';
  let best: MatchType = 'noExactMatch';
  for (const field of new Set(
    (candidate.byWord.get(wanted[0]![1]) ?? []).map((occurrence) => occurrence >> 16),
  )) {
    if (!candidate.inField[field]) continue;
    const inField = ([, word]: [number, number]): boolean =>
      candidate.byWord.get(word)!.some((occurrence) => occurrence >> 16 === field);
    if (!wanted.every(inField)) continue;
    best = 'matchesStart';
    if (count <= MAX_COUNTED_WORDS && context.wordCount(candidate.document, field) === count)
      return 'exactMatch';
  }
  return best;
}

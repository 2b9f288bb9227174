/**
 * The rule `proximity` where precision is `byAttribute` (docs/behaviour/ranking.md, proximity).
 *
 * Which documents hold two words in one attribute is found out once for a pair of words, among the
 * documents of the bucket that asks first; a later bucket of the same search finds none by this
 * pair. Pairs that are a split of a word of the query graph are known for all documents. Next to
 * each other in the order of the query, a pair costs 0; in the other order, which is asked for only
 * where needed, 1; anything else 3.
 */
import type { Lexicon, Node } from './expand.ts';
import {
  matches,
  stateOf,
  type Candidate,
  type Path,
  type Occurrences,
  type Step,
} from './match.ts';
import { slotsOf } from './expand.ts';

/** The bucket that asked for a pair first, by pair of sides. */
export type AskedPairs = Map<string, number>;

/**
 * What stands on one side of a pair: a word, all words of a short prefix, or the end of a phrase.
 */
interface Side {
  key: string;
  words: readonly number[];
  /** Only documents that match it count. */
  phrase: ((candidate: Candidate) => boolean) | null;
}

export interface Taken {
  candidate: Candidate;
  path: Path;
  order: number;
  cost: number;
}

const BACKWARD = 1;
const FAR = 3;

const adjacent = (from: Step, to: Step): boolean => from.node.term.last + 1 === to.node.term.first;

/** `a|b` for every way to cut a word of the graph into two words of the index. */
function splits(nodes: readonly Node[], lexicon: Lexicon): Set<string> {
  const out = new Set<string>();
  for (const { term, synonymsOnly } of nodes) {
    if (term.phrase || synonymsOnly) continue;
    const chars = [...term.words.join('')];
    for (let at = 1; at < chars.length; at++) {
      const left = lexicon.id(chars.slice(0, at).join(''));
      const right = lexicon.id(chars.slice(at).join(''));
      if (left >= 0 && right >= 0) out.add(`${left}|${right}`);
    }
  }
  return out;
}

/** @param end which word of a phrase counts */
function sidesOf(step: Step, end: 'first' | 'last'): Side[] {
  const { node } = step;
  const out: Side[] = [];
  const word = (id: number): Side => ({ key: String(id), words: [id], phrase: null });
  if (step.verbatim && !node.term.phrase && !node.shortPrefix) return [word(node.verbatim)];
  for (const { typos, words, phrases } of node.alternatives) {
    if (typos !== (step.verbatim ? 0 : (step.typos ?? typos))) continue;
    if (node.shortPrefix && typos === 0) {
      const key = `${node.term.words.join('')}*`;
      out.push({ key, words: [...words], phrase: null });
    } else for (const id of words) out.push(word(id));
    // In its verbatim form, a short prefix keeps only the list of its words.
    if (step.verbatim && !node.term.phrase) continue;
    for (const phrase of phrases) {
      const id = end === 'first' ? phrase.words[0] : phrase.words.at(-1);
      if (id === null || id === undefined) continue;
      const holds = (candidate: Candidate): boolean =>
        stateOf(candidate, { ...step, typos })?.phrases.some((hit) => hit.phrase === phrase) ??
        false;
      out.push({ ...word(id), phrase: holds });
    }
  }
  return out;
}

function share(candidate: Candidate, left: readonly number[], right: readonly number[]): boolean {
  const occurrences = (word: number): Occurrences => candidate.byWord.get(word) ?? [];
  const fields = new Set(
    left.flatMap((word) => occurrences(word).map((occurrence) => occurrence >> 16)),
  );
  return right.some((word) => occurrences(word).some((occurrence) => fields.has(occurrence >> 16)));
}

/**
 * Parts of a bucket by increasing cost, each made when it is asked for.
 * @param bucketNumber greater for later buckets of the search
 */
export function* splitByAttribute(
  bucket: { candidates: readonly Candidate[]; paths: readonly Path[] },
  nodes: readonly Node[],
  lexicon: Lexicon,
  asked: AskedPairs,
  bucketNumber: number,
  excluded: Uint8Array,
): Generator<Taken[]> {
  const free = splits(nodes, lexicon);
  let remaining = bucket.candidates;
  const holding = new Map<string, Set<number>>();
  const dead = new Set<string>();
  const nameOf = (left: Step, right: Step, cost: number): string =>
    [left, right, cost]
      .map((x) => (typeof x === 'number' ? x : `${nodes.indexOf(x.node)} ${x.typos} ${x.verbatim}`))
      .join(', ');

  const ask = (left: Side, right: Side, out: Set<number>): void => {
    const sides = [left, right];
    if (sides.some(({ phrase }) => phrase !== null && !remaining.some(phrase))) return;
    const key = `${left.key}|${right.key}`;
    if (!free.has(key)) {
      if ((asked.get(key) ?? bucketNumber) < bucketNumber) return;
      asked.set(key, bucketNumber);
    }
    for (const candidate of remaining) {
      if (!sides.every(({ phrase }) => phrase === null || phrase(candidate))) continue;
      if (share(candidate, left.words, right.words)) out.add(candidate.document);
    }
  };
  /** The documents for which two steps next to each other cost this at most. */
  const documentsOf = (left: Step, right: Step, cost: number): Set<number> => {
    const name = nameOf(left, right, cost);
    let out = holding.get(name);
    if (out !== undefined) return out;
    out = new Set();
    for (const l of sidesOf(left, 'last')) {
      for (const r of sidesOf(right, 'first')) {
        ask(l, r, out);
        if (cost < BACKWARD || l.phrase !== null || r.phrase !== null) continue;
        if (!r.key.endsWith('*')) ask(r, l, out);
        else if (right.node.verbatim >= 0) {
          // For a short prefix the pairs in the other order are those of the word itself.
          const { verbatim } = right.node;
          ask({ key: String(verbatim), words: [verbatim], phrase: null }, l, out);
        }
      }
    }
    holding.set(name, out);
    return out;
  };
  /** Whether the steps from `at` on may cost exactly `left`, as far as is known. */
  const possible = (path: Path, at: number, left: number): boolean => {
    if (left < 0) return false;
    if (at === path.length) return left === 0;
    if (at === 0 || !adjacent(path[at - 1]!, path[at]!)) return possible(path, at + 1, left);
    return [0, BACKWARD, FAR].some(
      (cost) =>
        !dead.has(nameOf(path[at - 1]!, path[at]!, cost)) && possible(path, at + 1, left - cost),
    );
  };

  const extra = (path: Path): number => path.reduce((sum, step) => sum + slotsOf(step.node) - 1, 0);
  const max = Math.max(...bucket.paths.map((path) => extra(path) + FAR * path.length));
  for (let cost = 0; cost <= max && remaining.length > 0; cost++) {
    const taken = new Map<Candidate, Taken>();
    for (const [order, path] of bucket.paths.entries()) {
      const walk = (at: number, left: number, among: readonly Candidate[]): void => {
        if (among.length === 0 || !possible(path, at, left)) return;
        if (at === path.length) {
          for (const candidate of among) {
            if (!taken.has(candidate)) taken.set(candidate, { candidate, path, order, cost });
          }
          return;
        }
        const [from, to] = [path[at - 1], path[at]!];
        if (from === undefined || !adjacent(from, to)) return walk(at + 1, left, among);
        for (const step of [0, BACKWARD]) {
          if (!possible(path, at + 1, left - step)) continue;
          const documents = documentsOf(from, to, step);
          if (!remaining.some(({ document }) => documents.has(document)))
            dead.add(nameOf(from, to, step));
          walk(
            at + 1,
            left - step,
            among.filter(({ document }) => documents.has(document)),
          );
        }
        walk(at + 1, left - FAR, among);
      };
      const free = remaining.filter((candidate) => !taken.has(candidate));
      walk(
        0,
        cost - extra(path),
        free.filter((candidate) => matches(candidate, path)),
      );
    }
    if (taken.size === 0) continue;
    const rest = remaining.filter((candidate) => !taken.has(candidate));
    yield remaining.flatMap((candidate) => taken.get(candidate) ?? []);
    remaining = rest.filter(({ document }) => excluded[document] === 0);
  }
}

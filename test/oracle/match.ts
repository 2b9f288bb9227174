/**
 * What one document offers to a query: for each node of the query graph the alternatives that occur
 * in it, and the paths through the graph that it can take.
 */
import { isNgram, type Node, type Phrase } from './expand.ts';

/** Occurrences of words in a document, as field * 65536 + position. */
export type Occurrences = readonly number[];

export interface PhraseHit {
  phrase: Phrase;
  /** Occurrences of the first word; null for a stop word. */
  first: Occurrences | null;
}

/** How a document matches a node. */
export interface State {
  /** Occurrences in the fields that are searched. */
  occurrences: number[];
  /**
   * Occurrences in all fields, of all words that stand for the node: distances and positions are
   * known without field.
   */
  anywhere: number[];
  phrases: PhraseHit[];
}

/** A node on a path, with the derivations that earlier rules left. */
export interface Step {
  node: Node;
  /** Number of typos of the derivations; null when no rule has chosen yet. */
  typos: number | null;
  /** Only the word as typed. */
  verbatim: boolean;
}

export type Path = readonly Step[];

export interface Candidate {
  document: number;
  /** Occurrences of every word of the query graph. */
  byWord: ReadonlyMap<number, Occurrences>;
  /** Per node, by number of typos. */
  states: ReadonlyMap<Node, (State | undefined)[]>;
  /**
   * Per node, occurrences in all fields of all words that stand for it, with any number of typos.
   */
  anywhere: ReadonlyMap<Node, Occurrences>;
  /** By field: whether it is searched. */
  inField: readonly boolean[];
}

/**
 * Documents of one bucket and the paths that led to it, in the order in which paths are visited.
 */
export interface Bucket {
  candidates: Candidate[];
  paths: Path[];
}

const GAP_NEVER = 1 << 20;

/**
 * True when some occurrence of `b` is 1..`slots` after an occurrence of `a` in the same field;
 * `anywhere`: in the same field.
 */
function follows(a: Occurrences, b: Occurrences, slots: number, anywhere: boolean): boolean {
  for (const x of a) {
    for (const y of b) {
      if (y >> 16 === x >> 16 && (anywhere || (y > x && y - x <= slots))) return true;
    }
  }
  return false;
}

/** Adjacency counts in every field, but each word must occur in one that is searched. */
export function matchPhrase(
  phrase: Phrase,
  byWord: ReadonlyMap<number, Occurrences>,
  inField: readonly boolean[],
  byAttribute: boolean,
): boolean {
  const { words } = phrase;
  for (let i = 0; i < words.length; i++) {
    if (words[i] === null) continue;
    const a = byWord.get(words[i]!);
    if (a === undefined || !a.some((occurrence) => inField[occurrence >> 16])) return false;
    for (let j = i + 1; j <= i + 2 && j < words.length; j++) {
      if (words[j] === null) continue;
      const b = byWord.get(words[j]!);
      if (b === undefined || !follows(a, b, j - i, byAttribute)) return false;
    }
  }
  return true;
}

/**
 * The smallest distances between left and right occurrences in one field: right after left, and
 * left after right.
 */
export function gaps(left: Occurrences, right: Occurrences): [forward: number, backward: number] {
  let forward = GAP_NEVER;
  let backward = GAP_NEVER;
  for (const x of left) {
    for (const y of right) {
      if (x >> 16 !== y >> 16) continue;
      if (y > x && y - x < forward) forward = y - x;
      if (x > y && x - y < backward) backward = x - y;
    }
  }
  return [forward, backward];
}

/**
 * Node sequences by how many slots they leave out, each list in visiting order: at each slot the
 * node with the nearer end first, then leaving the slot out.
 *
 * A slot that is left out takes with it what comes later in the query and goes before it. What
 * comes earlier in the query stays, also where it goes before it: a way is built from the left, and
 * nobody looks back.
 * @param removal when a slot goes: the number of its group; slots that are not listed stay
 */
export function sequences(
  nodes: readonly Node[],
  slots: number,
  removal: ReadonlyMap<number, number>,
): Node[][][] {
  const out = Array.from({ length: removal.size + 1 }, (): Node[][] => []);
  const goesAt = (slot: number): number => removal.get(slot) ?? Infinity;
  // A node of several slots goes with the last of them.
  const lastGoes = ({ firstSlot, lastSlot }: Node): number =>
    Math.max(...Array.from({ length: lastSlot - firstSlot + 1 }, (_, i) => goesAt(firstSlot + i)));
  const walk = (slot: number, path: Node[], dropped: number, removed: number): void => {
    if (slot === slots) {
      if (path.length > 0) out[dropped]!.push(path);
      return;
    }
    const next = nodes
      .filter((node) => node.firstSlot === slot && lastGoes(node) >= removed)
      .sort((a, b) => a.lastSlot - b.lastSlot);
    for (const node of next) walk(node.lastSlot + 1, [...path, node], dropped, removed);
    if (removal.has(slot)) walk(slot + 1, path, dropped + 1, Math.max(removed, goesAt(slot)));
  };
  walk(0, [], 0, 0);
  return out;
}

/** What the document has for a step, or null. */
export function stateOf(candidate: Candidate, step: Step): State | null {
  const states = candidate.states.get(step.node);
  if (states === undefined) return null;
  if (step.verbatim) {
    if (step.node.term.phrase) return states[0] ?? null;
    const occurrences = candidate.byWord.get(step.node.verbatim);
    if (isNgram(step.node) || occurrences === undefined) return null;
    const searched = occurrences.filter((occurrence) => candidate.inField[occurrence >> 16]);
    if (searched.length === 0) return null;
    // The list of a short prefix is a unit: it stays when only the word itself is requested.
    if (step.node.shortPrefix) return states[0] ?? null;
    return { occurrences: searched, anywhere: [...occurrences], phrases: [] };
  }
  if (step.typos !== null) return states[step.typos] ?? null;
  const present = states.filter((state) => state !== undefined);
  return {
    occurrences: present.flatMap((state) => state.occurrences),
    anywhere: [...(candidate.anywhere.get(step.node) ?? [])],
    phrases: present.flatMap((state) => state.phrases),
  };
}

export const matches = (candidate: Candidate, path: Path): boolean =>
  path.every((step) => stateOf(candidate, step) !== null);

/** The single-word terms and phrases of the paths, as far as a verbatim match is possible. */
export function singleNodes(paths: readonly Path[]): Set<Node> {
  const out = new Set<Node>();
  for (const path of paths) {
    for (const { node, typos } of path) if (!isNgram(node) && (typos ?? 0) === 0) out.add(node);
  }
  return out;
}

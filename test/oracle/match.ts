/**
 * What one document offers to a query: for each node of the query graph the alternatives that occur in
 * it, and the paths through them.
 */
import { isNgram, type Alternative, type Node, type Phrase } from './expand.ts';

/** Places of one word in a document, ascending, as field * 65536 + position. */
export type Places = number[];

export interface PhraseHit {
  phrase: Phrase;
  /** Places of the first and of the last word; null for a stop word. */
  first: Places | null;
  last: Places | null;
}

/** A node matched through one of its alternatives. */
export interface State {
  node: Node;
  alternative: Alternative;
  places: Places;
  phrases: PhraseHit[];
}

export interface Edge {
  /** -1 at the start of the query. */
  from: number;
  to: number;
}

export interface Candidate {
  document: number;
  /** Places of single words that are asked for by themselves. */
  byWord: Map<number, Places>;
  states: State[];
  /** Edges still in play, ordered so that a path meets them from left to right. */
  edges: Edge[];
  /** States a path may end with. */
  ends: Set<number>;
}

const GAP_NEVER = 1 << 20;

/** True when some place of `b` lies 1..`slots` after a place of `a` in the same field (exactly 1 for neighbours). */
function follows(a: Places, b: Places, slots: number): boolean {
  for (const x of a) {
    for (const y of b) if (y > x && y - x <= slots) return true;
  }
  return false;
}

export function matchPhrase(phrase: Phrase, byWord: Map<number, Places>): boolean {
  const { words } = phrase;
  for (let i = 0; i < words.length; i++) {
    if (words[i] === null) continue;
    const a = byWord.get(words[i]!);
    if (a === undefined) return false;
    for (let j = i + 1; j <= i + 2 && j < words.length; j++) {
      if (words[j] === null) continue;
      const b = byWord.get(words[j]!);
      if (b === undefined || !follows(a, b, j - i)) return false;
    }
  }
  return true;
}

/** The smallest distance from the left places to the right ones: [forward, backward] gaps, each in one field. */
export function gaps(left: Places, right: Places): [forward: number, backward: number] {
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

/** Edges between states that cover the kept slots from the first to the last. Empty when no path does. */
export function connect(states: readonly State[], kept: readonly number[]): { edges: Edge[]; ends: Set<number> } {
  const at = new Map(kept.map((slot, index) => [slot, index]));
  const begins: number[][] = kept.map(() => []);
  const finish: number[] = [];
  for (const [s, { node }] of states.entries()) {
    const first = at.get(node.firstSlot);
    const last = at.get(node.lastSlot);
    const whole = first !== undefined && last !== undefined && last - first === node.lastSlot - node.firstSlot;
    finish.push(whole ? last + 1 : -1);
    if (whole) begins[first]!.push(s);
  }
  // Which kept slots can be followed by a path to the end, from the right; then the edges, from the left.
  const open = new Array<boolean>(kept.length + 1).fill(false);
  open[kept.length] = true;
  for (let i = kept.length - 1; i >= 0; i--) open[i] = begins[i]!.some((s) => open[finish[s]!]);
  const edges: Edge[] = [];
  const ends = new Set<number>();
  const arriving: number[][] = [...kept.map(() => []), []];
  arriving[0]!.push(-1);
  for (let i = 0; i < kept.length; i++) {
    if (arriving[i]!.length === 0) continue;
    for (const to of begins[i]!) {
      if (!open[finish[to]!]) continue;
      for (const from of arriving[i]!) edges.push({ from, to });
      arriving[finish[to]!]!.push(to);
      if (finish[to] === kept.length) ends.add(to);
    }
  }
  return ends.size > 0 ? { edges, ends } : { edges: [], ends };
}

/** Keeps the cheapest paths only; returns their cost. */
export function restrict(candidate: Candidate, cost: (from: State | null, to: State) => number): number {
  const { states, edges, ends } = candidate;
  const state = (s: number): State | null => (s < 0 ? null : states[s]!);
  const costs = edges.map((e) => cost(state(e.from), states[e.to]!));
  const ahead = new Map<number, number>([[-1, 0]]);
  for (const [i, e] of edges.entries()) {
    const c = ahead.get(e.from)! + costs[i]!;
    if (c < (ahead.get(e.to) ?? Infinity)) ahead.set(e.to, c);
  }
  const behind = new Map<number, number>();
  for (const end of ends) behind.set(end, 0);
  for (let i = edges.length - 1; i >= 0; i--) {
    const e = edges[i]!;
    const c = (behind.get(e.to) ?? Infinity) + costs[i]!;
    if (c < (behind.get(e.from) ?? Infinity)) behind.set(e.from, c);
  }
  const best = behind.get(-1)!;
  candidate.edges = edges.filter(
    (e, i) => ahead.get(e.from)! + costs[i]! + (behind.get(e.to) ?? Infinity) === best,
  );
  const alive = new Set(candidate.edges.map((e) => e.to));
  candidate.ends = new Set([...ends].filter((s) => alive.has(s) && ahead.get(s) === best));
  return best;
}

/** The highest cost over the paths in play. */
export function highest(candidate: Candidate, cost: (from: State | null, to: State) => number): number {
  const ahead = new Map<number, number>([[-1, 0]]);
  for (const e of candidate.edges) {
    const from = e.from < 0 ? null : candidate.states[e.from]!;
    const c = ahead.get(e.from)! + cost(from, candidate.states[e.to]!);
    if (c > (ahead.get(e.to) ?? -1)) ahead.set(e.to, c);
  }
  return Math.max(...[...candidate.ends].map((s) => ahead.get(s)!));
}

/** Single-word terms and phrases that a path in play goes through. */
export function singleNodes(candidates: readonly Candidate[]): Set<Node> {
  const out = new Set<Node>();
  for (const { states, edges } of candidates) {
    for (const e of edges) {
      const { node, alternative } = states[e.to]!;
      if (!isNgram(node) && alternative.typos === 0) out.add(node);
    }
  }
  return out;
}

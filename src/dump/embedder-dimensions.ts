/**
 * Finds the dimensions of embedders from the documents of a dump. Settings need not contain them,
 * and no provider is called during an import.
 */
import { own } from '../base/own.ts';
import type { AnyFields } from '../contract/embedders/fields.ts';
import type { Embedders } from '../contract/embedders/sources.ts';
import { indexingFragments, numberFragments } from '../embedding/embedder-state.ts';
import type { EmbedderState, EmbedderStates } from '../engine/embedder-states.ts';

/** Dimensions by name of the embedder. */
export type Dimensions = Record<string, number>;

/**
 * The dimensions of the embeddings in some JSON lines. Incomplete and invalid lines are skipped.
 */
export function dimensionsIn(lines: string): Dimensions {
  const found = new Map<string, number>();
  for (const line of lines.split('\n')) {
    if (!line.includes('"_vectors"')) continue;
    let document: { _vectors?: unknown };
    try {
      document = JSON.parse(line) as { _vectors?: unknown };
    } catch {
      continue;
    }
    const vectors = document._vectors;
    if (typeof vectors !== 'object' || vectors === null) continue;
    for (const [name, given] of Object.entries(vectors)) {
      const length = lengthOf(given);
      if (length !== null && !found.has(name)) found.set(name, length);
    }
  }
  return Object.fromEntries(found);
}

/** The length of an embedding, in a list of embeddings or an object with either; null: none. */
function lengthOf(given: unknown): number | null {
  const list = Array.isArray(given)
    ? given
    : (given as { embeddings?: unknown } | null)?.embeddings;
  if (!Array.isArray(list) || list.length === 0) return null;
  const first: unknown = list[0];
  if (typeof first === 'number') return list.length;
  return Array.isArray(first) && first.length > 0 ? first.length : null;
}

/** The states of the embedders of an index, as a batch would store them. */
export function statesOf(embedders: Embedders, found: Dimensions): EmbedderStates {
  const states = new Map<string, EmbedderState>();
  for (const [name, embedder] of Object.entries(embedders)) {
    const { dimensions = own(found, name) }: AnyFields = embedder;
    if (dimensions === undefined) continue;
    const names = Object.keys(indexingFragments(embedder));
    states.set(
      name,
      names.length === 0 ? { dimensions } : { dimensions, fragments: numberFragments(names) },
    );
  }
  return Object.fromEntries(states);
}

/**
 * What the server has learned about the embedders of an index: stored next to its settings, never
 * shown.
 */
import { own } from '../base/own.ts';
import type { Distribution } from '../contract/embedders/fields.ts';
import {
  computes,
  dimensionsOf,
  distributionOf,
  type Embedders,
  indexingPart,
} from '../contract/embedders/sources.ts';

/** Key of the states among the stored settings. */
export const EMBEDDER_STATES = 'embedderStates';

export interface EmbedderState {
  /** Dimensions of its embeddings. */
  dimensions: number;
  /** Numbers of the indexing fragments: the embeddings of a document are in this order. */
  fragments?: Record<string, number>;
  /**
   * How similarities become scores, for the engine; null: they are the scores. `completeStates`
   * adds it.
   */
  distribution?: Distribution | null;
  /**
   * Whether embeddings are computed, for the engine; otherwise they come with the documents.
   * `completeStates` adds it.
   */
  computes?: boolean;
}

export type EmbedderStates = Record<string, EmbedderState>;

/**
 * Settings to store, with what the engine needs about embedders: it knows neither providers nor
 * their models.
 */
export function completeStates(
  settings: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const embedders = Object.entries((settings.embedders ?? {}) as Embedders);
  if (embedders.length === 0) return settings;
  const before = (settings[EMBEDDER_STATES] ?? {}) as EmbedderStates;
  const states = embedders.flatMap(([name, embedder]): [string, EmbedderState][] => {
    const known = own(before, name);
    const dimensions = known?.dimensions ?? dimensionsOf(indexingPart(embedder));
    if (dimensions === null) return [];
    const distribution = distributionOf(embedder);
    return [[name, { ...known, dimensions, distribution, computes: computes(embedder) }]];
  });
  return { ...settings, [EMBEDDER_STATES]: Object.fromEntries(states) };
}

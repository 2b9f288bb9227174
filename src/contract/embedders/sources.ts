/** Every source of embeddings, in the order in which messages list them. */
import { composite, type CompositeEmbedder, type PartEmbedder } from './composite.ts';
import type { AnyFields, Distribution, FieldRules } from './fields.ts';
import { huggingFace } from './hugging-face.ts';
import { ollama } from './ollama.ts';
import { openAi } from './open-ai.ts';
import { rest } from './rest.ts';
import type { EmbedderFrom, EmbedderSource } from './source.ts';
import { userProvided } from './user-provided.ts';

const ENTRIES = [openAi, huggingFace, ollama, userProvided, rest, composite] as const;

/** An embedder in its stored form. */
export type Embedder = EmbedderFrom<(typeof ENTRIES)[number]>;
export type Embedders = Record<string, Embedder>;
/** An embedder without parts. */
export type SimpleEmbedder = Exclude<Embedder, CompositeEmbedder>;
/** An embedder that computes embeddings itself. */
export type ComputedEmbedder = CompositeEmbedder | PartEmbedder;
export type SourceName = Embedder['source'];

export const SOURCES = ENTRIES as unknown as readonly EmbedderSource<
  SourceName,
  FieldRules,
  Embedder
>[];

export function sourceOf(name: SourceName): (typeof SOURCES)[number] {
  return SOURCES.find((source) => source.name === name)!;
}

/** Whether embeddings are made here, of documents and of queries. */
export function computes(embedder: Embedder): embedder is ComputedEmbedder {
  return embedder.source !== 'userProvided';
}

/** Whether embeddings of documents follow the documents, instead of being made in their batches. */
export function embedsLater(embedder: Embedder): embedder is ComputedEmbedder {
  return computes(embedder) && embedder.mode === 'background';
}

/** The part of an embedder that embeds documents. */
export function indexingPart(embedder: ComputedEmbedder): PartEmbedder;
export function indexingPart(embedder: Embedder): SimpleEmbedder;
export function indexingPart(embedder: Embedder): SimpleEmbedder {
  return embedder.source === 'composite' ? embedder.indexingEmbedder : embedder;
}

/** The part of an embedder that embeds queries. */
export function searchPart(embedder: ComputedEmbedder): PartEmbedder;
export function searchPart(embedder: Embedder): SimpleEmbedder;
export function searchPart(embedder: Embedder): SimpleEmbedder {
  return embedder.source === 'composite' ? embedder.searchEmbedder : embedder;
}

/** Length of its embeddings; null: unknown before the first one. */
export function dimensionsOf(embedder: SimpleEmbedder): number | null {
  const { dimensions }: AnyFields = embedder;
  return sourceOf(embedder.source).dimensions?.(embedder) ?? dimensions ?? null;
}

/** How similarities become scores; null: they are the scores. */
export function distributionOf(embedder: Embedder): Distribution | null {
  const builtIn = (part: SimpleEmbedder): Distribution | null =>
    sourceOf(part.source).distribution?.(part) ?? null;
  return embedder.distribution ?? builtIn(searchPart(embedder)) ?? builtIn(indexingPart(embedder));
}

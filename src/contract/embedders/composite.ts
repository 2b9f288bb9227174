import type { EmbedderOf, FieldName, Part } from './fields.ts';
import { huggingFace } from './hugging-face.ts';
import { ollama } from './ollama.ts';
import { openAi } from './open-ai.ts';
import { rest } from './rest.ts';
import type { EmbedderFrom, EmbedderSource } from './source.ts';

/** Sources allowed for its parts: those that compute embeddings. */
const PART_SOURCES = [openAi, huggingFace, ollama, rest] as const;

export type PartEmbedder = EmbedderFrom<(typeof PART_SOURCES)[number]>;

/** Fields not allowed in a part, apart from those that no part has. */
export const REFUSED_IN: Readonly<Record<Part, readonly FieldName[]>> = {
  searchEmbedder: ['documentTemplate', 'documentTemplateMaxBytes', 'chunks', 'indexingFragments'],
  indexingEmbedder: ['searchFragments'],
};

const fields = {
  searchEmbedder: 'required',
  indexingEmbedder: 'required',
  mode: 'optional',
} as const;

export type CompositeEmbedder = EmbedderOf<'composite', typeof fields> & Record<Part, PartEmbedder>;

/** One embedder for documents and another for queries. */
export const composite: EmbedderSource<'composite', typeof fields, CompositeEmbedder> = {
  name: 'composite',
  fields,
  identifiedBy: [],
};

export function canBePart(source: string | null | undefined): boolean {
  return PART_SOURCES.some(({ name }) => name === source);
}

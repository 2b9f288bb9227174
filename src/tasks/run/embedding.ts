/**
 * Connects batches with embedders: what a batch embeds, and what a change of settings means for
 * embeddings.
 */
import { activeSpan, within } from '../../base/tracing.ts';
import {
  attributeNames,
  type SearchableAttribute,
} from '../../contract/settings/searchable-attributes.ts';
import { computes, type Embedders } from '../../contract/embedders/sources.ts';
import { ApiError } from '../../contract/errors.ts';
import { type EmbeddingChange, embeddingChanges } from '../../embedding/embedder-state.ts';
import { EmbeddingError } from '../../embedding/embedding-error.ts';
import type { EmbedderRequests } from '../../embedding/embedder-requests.ts';
import {
  type EmbedderFailures,
  type EmbeddingService,
  TemplateFault,
} from '../../embedding/embedding-service.ts';
import { EMBEDDER_STATES, type EmbedderStates } from '../../engine/embedder-states.ts';
import type { BatchProgress } from '../../engine/native.ts';

/** Complete settings as the engine stores them, with what is known about the embedders. */
export type StoredSettings = Readonly<Record<string, unknown>>;

/** The part of the batch's context that embedding needs. */
interface Context {
  readonly batch: { readonly indexUid: string | null };
  readonly embedding: EmbeddingService | null;
  readonly embedderRequests: EmbedderRequests;
  readonly embedderFailures: EmbedderFailures;
  readonly cancel: { readonly signal: AbortSignal };
}

/** Embeds the documents that the engine passes out while it applies a batch. */
export interface DocumentEmbedding {
  /** Rejects with `ApiError` or `BatchCanceled`. */
  embed(chunk: Uint8Array): Promise<Buffer>;
  /** The progress of the current request; null before the first text. */
  progress(): BatchProgress['steps'][number] | null;
  close(): void;
}

/** Returns null when no embedder of the settings makes embeddings of documents. */
export function openEmbedding(
  { batch: { indexUid }, embedding, embedderRequests, embedderFailures, cancel }: Context,
  settings: StoredSettings | null,
): DocumentEmbedding | null {
  const embedders = embeddersOf(settings);
  if (embedding === null || !Object.values(embedders).some(computes)) return null;
  const searchableAttributes = searchableNames(settings);
  const batch = withApiErrors(() =>
    embedding.openBatch(
      indexUid ?? '',
      { embedders, states: statesOf(settings), searchableAttributes },
      { requests: embedderRequests, failures: embedderFailures, signal: cancel.signal },
    ),
  );
  // The engine calls back from outside of the asynchronous context of the batch.
  const span = activeSpan();
  return {
    embed: (chunk) => within(span, () => batch.embed(chunk)).catch(throwApiError),
    progress: () => {
      const { embedded, total } = batch.texts();
      return total === 0 ? null : { currentStep: 'embedding texts', finished: embedded, total };
    },
    close: () => batch.close(),
  };
}

/**
 * Sets up the embedders that a change of settings affects. Rejects with `ApiError`.
 * @returns the settings to store, and by name of the embedder which embeddings change
 */
export async function setUpEmbedders(
  { embedding, embedderRequests, cancel }: Context,
  before: StoredSettings | null,
  after: StoredSettings,
): Promise<{ settings: StoredSettings; embeddings: Record<string, EmbeddingChange> }> {
  const embedders = embeddersOf(after);
  const old = { embedders: embeddersOf(before), states: statesOf(before) };
  if (embedding === null) return { settings: after, embeddings: {} };
  const call = { requests: embedderRequests, signal: cancel.signal };
  const states = await embedding.setUp(old, embedders, call).catch(throwApiError);
  const embeddings = embeddingChanges(
    { ...old, searchableAttributes: searchableNames(before) },
    { embedders, states, searchableAttributes: searchableNames(after) },
  );
  return { settings: { ...after, [EMBEDDER_STATES]: states }, embeddings };
}

function searchableNames(settings: StoredSettings | null): string[] {
  return attributeNames((settings?.searchableAttributes ?? ['*']) as SearchableAttribute[]);
}

function embeddersOf(settings: StoredSettings | null): Embedders {
  return (settings?.embedders ?? {}) as Embedders;
}

function statesOf(settings: StoredSettings | null): EmbedderStates {
  return (settings?.[EMBEDDER_STATES] ?? {}) as EmbedderStates;
}

function withApiErrors<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    return throwApiError(error);
  }
}

function throwApiError(error: unknown): never {
  if (error instanceof EmbeddingError) throw new ApiError('vector_embedding_error', error.message);
  if (error instanceof TemplateFault) throw new ApiError('invalid_document_fields', error.message);
  throw error;
}

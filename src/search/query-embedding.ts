/** Gets vectors from embedders for queries that come without one. */
import { ApiError } from '../contract/errors.ts';
import { EMBEDDER_STATES, type EmbedderStates } from '../engine/embedder-states.ts';
import { EmbeddingError } from '../embedding/embedding-error.ts';
import type { EmbeddingService } from '../embedding/embedding-service.ts';
import type { IndexRegistry } from '../engine/registry.ts';
import type { EmbedQuery } from './run/local.ts';

export function queryEmbedding(
  registry: IndexRegistry,
  service: Pick<EmbeddingService, 'embedQuery'>,
): EmbedQuery {
  return async (uid, name, { q, media }, deadline) => {
    const entry = registry.get(uid);
    const embedder = entry?.settings.embedders[name];
    if (entry === undefined || embedder === undefined) {
      throw new ApiError('invalid_search_embedder', `The index has no embedder \`${name}\`.`);
    }
    const states = (entry.storedSettings?.[EMBEDDER_STATES] ?? {}) as EmbedderStates;
    const dimensions = states[name]?.dimensions ?? null;
    const scope = {
      ...(q === null || q === undefined ? {} : { q }),
      ...(media === null || media === undefined ? {} : { media }),
    };
    try {
      return await service.embedQuery({ embedder, dimensions, scope, deadline });
    } catch (error) {
      if (!(error instanceof EmbeddingError)) throw error;
      throw new ApiError('vector_embedding_error', error.message);
    }
  };
}

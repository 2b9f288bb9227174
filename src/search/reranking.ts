/** Asks the rerankers of indexes for scores. */
import type { Logger } from '../base/logger.ts';
import { own } from '../base/own.ts';
import { attributeNames } from '../contract/settings/searchable-attributes.ts';
import { EmbeddingError } from '../embedding/embedding-error.ts';
import type { RerankerService } from '../embedding/reranker-service.ts';
import type { IndexRegistry } from '../engine/registry.ts';
import type { RerankHits } from './run/local.ts';

export function reranking(
  registry: IndexRegistry,
  service: Pick<RerankerService, 'scores'>,
  log: Pick<Logger, 'warn'>,
): RerankHits {
  return async (uid, model, { q, sources }, deadline, signal) => {
    const settings = registry.get(uid)?.settings;
    const reranker = settings && own(settings.rerankers, model);
    // The search has found it; it may have been removed since.
    if (settings === undefined || reranker === undefined) return null;
    const searchable = attributeNames(settings.searchableAttributes);
    try {
      return await service.scores({ reranker, searchable, q, sources, deadline, signal });
    } catch (error) {
      if (signal?.aborted === true) return null;
      if (!(error instanceof EmbeddingError)) throw error;
      log.warn({ index: uid, reranker: model, reason: error.message }, 'hits are not reranked');
      return null;
    }
  };
}

/** What a search by meaning needs of its index. */
import { ApiError, featureNotEnabled } from './errors.ts';
import type { FeatureSet } from './features.ts';
import type { SearchRequest } from './search.ts';
import type { SettingsObject } from './settings.ts';

export type VectorRequest = Pick<SearchRequest, 'q' | 'vector' | 'media' | 'hybrid'>;

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Faults of `vector`, `media` and `hybrid`; the embedder is looked up only when it would be used. */
export function vectorFault(
  { q, vector, media, hybrid }: VectorRequest,
  settings: SettingsObject,
  features: FeatureSet,
): ApiError | null {
  const hasVector = isGiven(vector);
  const hasMedia = isGiven(media);
  if (!hasVector && !hasMedia && !isGiven(hybrid)) return null;
  if (hasVector && hasMedia) {
    return new ApiError(
      'invalid_search_media_and_vector',
      '`media` and `vector` cannot be given together; remove one.',
    );
  }
  if (!isGiven(hybrid)) {
    return new ApiError(
      'missing_search_hybrid',
      `\`${hasVector ? 'vector' : 'media'}\` needs \`hybrid\`, which names the embedder.`,
    );
  }
  const { embedder, semanticRatio = 0.5 } = hybrid!;
  const hasWords = typeof q === 'string' && q.trim() !== '';
  if (semanticRatio === 0 || (!hasWords && !hasVector && !hasMedia)) return null;
  if (!Object.hasOwn(settings.embedders, embedder)) {
    return new ApiError('invalid_search_embedder', `The index has no embedder \`${embedder}\`.`);
  }
  if (hasMedia && !features.multimodal) {
    return featureNotEnabled('Searching with `media`', 'multimodal');
  }
  const { dimensions } = settings.embedders[embedder]!;
  if (hasVector && typeof dimensions === 'number' && vector!.length !== dimensions) {
    return new ApiError(
      'invalid_vector_dimensions',
      `\`vector\` has ${vector!.length} dimensions, but the embedder \`${embedder}\` expects ${dimensions}.`,
    );
  }
  return null;
}

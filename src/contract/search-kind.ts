/** What a semantic search requires of its index. */
import { ApiError, featureNotEnabled } from './errors.ts';
import type { AnyFields } from './embedders/fields.ts';
import type { FeatureSet } from './features.ts';
import { SEARCH_DEFAULTS, type SearchRequest } from './search.ts';
import { isGiven } from './settings/setting.ts';

/** What determines the order: words (or nothing), vectors, or both. */
export type SearchKind = 'words' | 'semantic' | 'hybrid';

/** For a request whose `vectorFault` is null. */
export function searchKind({ q, vector, media, hybrid }: VectorRequest): SearchKind {
  if (!isGiven(hybrid)) return 'words';
  const { semanticRatio = SEARCH_DEFAULTS.hybrid.semanticRatio } = hybrid!;
  const hasWords = typeof q === 'string' && q.trim() !== '';
  if (semanticRatio === 0 || (!hasWords && !isGiven(vector) && !isGiven(media))) return 'words';
  return semanticRatio === 1 || !hasWords ? 'semantic' : 'hybrid';
}

export type VectorRequest = Pick<SearchRequest, 'q' | 'vector' | 'media' | 'hybrid'>;

/**
 * Faults of `vector`, `media` and `hybrid`; the embedder is looked up only when it would be used.
 */
export function vectorFault(
  request: VectorRequest,
  settings: { readonly embedders: Readonly<Record<string, object>> },
  features: FeatureSet,
): ApiError | null {
  const { vector, media, hybrid } = request;
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
  if (searchKind(request) === 'words') return null;
  const { embedder } = hybrid!;
  if (!Object.hasOwn(settings.embedders, embedder)) {
    return new ApiError('invalid_search_embedder', `The index has no embedder \`${embedder}\`.`);
  }
  if (hasMedia && !features.multimodal) {
    return featureNotEnabled('Searching with `media`', 'multimodal');
  }
  const { dimensions }: AnyFields = settings.embedders[embedder]!;
  if (hasVector && dimensions !== undefined && vector!.length !== dimensions) {
    return new ApiError(
      'invalid_vector_dimensions',
      `\`vector\` has ${vector!.length} dimensions, but the embedder \`${embedder}\` expects ${dimensions}.`,
    );
  }
  if (hasVector && !vector!.every((number) => Number.isFinite(Math.fround(number)))) {
    return new ApiError(
      'invalid_search_vector',
      '`vector` has a number that single precision does not hold.',
    );
  }
  return null;
}

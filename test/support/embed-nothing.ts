import { ApiError } from '../../src/contract/errors.ts';

/** For tests in which no embedder embeds queries. */
export function embedNothing(): Promise<Float32Array> {
  return Promise.reject(new ApiError('vector_embedding_error', 'no query is embedded here'));
}

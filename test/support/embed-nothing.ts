import { ApiError } from '../../src/contract/errors.ts';

/** Where no embedder makes embeddings of queries. */
export function embedNothing(): Promise<Float32Array> {
  return Promise.reject(new ApiError('vector_embedding_error', 'no query is embedded here'));
}

/** What is known of the embeddings of one embedder of an index. */
import type { EmbeddingMode } from './embedders/fields.ts';

export interface EmbedderStatus {
  indexUid: string;
  name: string;
  source: string;
  /** null: embeddings come with the documents. */
  mode: EmbeddingMode | null;
  /** Documents with embeddings. */
  done: number;
  /** Documents whose embeddings are still to be made. */
  waiting: number;
  /** Documents that the provider refuses. */
  failed: number;
  failures: { documentId: string; reason: string }[];
  /** Why nothing is made at the moment, and when it is tried again; null: nothing is wrong. */
  problem: { reason: string; retryAt: string } | null;
}

/**
 * Embedding failed. The message, for the error `vector_embedding_error`, contains no keys or
 * headers.
 */
export class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError';
  /** The affected inputs, [begin, end); null: all. */
  readonly inputs: readonly [number, number] | null;

  constructor(message: string, inputs: readonly [number, number] | null = null) {
    super(message);
    this.inputs = inputs;
  }
}

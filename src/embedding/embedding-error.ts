/**
 * Why something has no embedding: the message of the error `vector_embedding_error`. Holds no key
 * and no header.
 */
export class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError';
  /** Of what was to be embedded, the inputs concerned: [begin, end). null: all. */
  readonly inputs: readonly [number, number] | null;

  constructor(message: string, inputs: readonly [number, number] | null = null) {
    super(message);
    this.inputs = inputs;
  }
}

/**
 * Embedding failed. The message, for the error `vector_embedding_error`, contains no keys or
 * headers.
 */
export class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError';
  /** The affected inputs, [begin, end); null: all. */
  readonly inputs: readonly [number, number] | null;
  /** The provider refuses one of these inputs: sending it again would change nothing. */
  readonly refusesInput: boolean;

  constructor(
    message: string,
    inputs: readonly [number, number] | null = null,
    refusesInput = false,
  ) {
    super(message);
    this.inputs = inputs;
    this.refusesInput = refusesInput;
  }
}

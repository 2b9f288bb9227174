/** Counts the attempts of a batch to get embeddings; what `embedderRequests` of its stats shows. */
export class EmbedderRequests {
  #total = 0;
  #failed = 0;
  #lastError: string | null = null;

  begin(): void {
    this.#total++;
  }

  fail(message: string): void {
    this.#failed++;
    this.#lastError = message;
  }

  /** null: nobody was asked. */
  view(): { total: number; failed: number; lastError?: string } | null {
    if (this.#total === 0) return null;
    const counts = { total: this.#total, failed: this.#failed };
    return this.#lastError === null ? counts : { ...counts, lastError: this.#lastError };
  }
}

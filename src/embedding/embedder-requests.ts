/** Counts the embedding requests of a batch, for `embedderRequests` in its stats. */
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

  /** @returns null if there were no requests */
  view(): { total: number; failed: number; lastError?: string } | null {
    if (this.#total === 0) return null;
    const counts = { total: this.#total, failed: this.#failed };
    return this.#lastError === null ? counts : { ...counts, lastError: this.#lastError };
  }
}

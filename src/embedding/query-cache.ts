/** A cache of the most recently used query embeddings. */
const TEXT_BYTES_MAX = 2_000;
const EMBEDDERS_MAX = 1_000;

/** Keeps the most recently used values. */
class RecentValues<T> {
  readonly #values = new Map<string, T>();
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  get(key: string): T | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  set(key: string, value: T): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size <= this.#countMax) return;
    const [oldest] = this.#values.keys();
    this.#values.delete(oldest!);
  }
}

/**
 * Query embeddings by embedder, which is identified by the settings that determine its embeddings.
 */
export class QueryCache {
  readonly #entriesMax: number;
  readonly #embedders = new RecentValues<RecentValues<Float32Array>>(EMBEDDERS_MAX);

  /** @param entriesMax maximum entries per embedder; 0: nothing is cached */
  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get(embedder: string, text: string): Float32Array | undefined {
    return this.#embedders.get(embedder)?.get(text);
  }

  set(embedder: string, text: string, embedding: Float32Array): void {
    if (this.#entriesMax === 0 || Buffer.byteLength(text) > TEXT_BYTES_MAX) return;
    let texts = this.#embedders.get(embedder);
    if (texts === undefined) {
      texts = new RecentValues(this.#entriesMax);
      this.#embedders.set(embedder, texts);
    }
    texts.set(text, embedding);
  }
}

/** Times of the steps of a search, for responses that show them. */
export class Steps {
  readonly #shown: boolean;
  readonly #startedAt = performance.now();
  readonly #times: [name: string, ms: number][] = [];

  constructor(shown: boolean) {
    this.#shown = shown;
  }

  time<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#shown ? this.#timed(name, work) : work();
  }

  async #timed<T>(name: string, work: () => Promise<T>): Promise<T> {
    const from = performance.now();
    const result = await work();
    this.#times.push([name, performance.now() - from]);
    return result;
  }

  #details(): string {
    const total: [string, number] = ['search', performance.now() - this.#startedAt];
    const inner = this.#times.map(([name, ms]): [string, number] => [`search > ${name}`, ms]);
    return JSON.stringify(
      Object.fromEntries([total, ...inner].map(([name, ms]) => [name, durationText(ms)])),
    );
  }

  /** The response, a JSON object, with `performanceDetails` as last member. */
  added<T extends { bytes: Buffer }>(response: T): T {
    if (!this.#shown) return response;
    const details = Buffer.from(`,"performanceDetails":${this.#details()}}`);
    return { ...response, bytes: Buffer.concat([response.bytes.subarray(0, -1), details]) };
  }
}

function durationText(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)}s`;
  return ms >= 1 ? `${ms.toFixed(2)}ms` : `${(ms * 1000).toFixed(2)}µs`;
}

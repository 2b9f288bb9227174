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

  /** The member `performanceDetails`, as it is added to a response. */
  get member(): string {
    return `,"performanceDetails":${this.#details()}`;
  }
}

function durationText(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)}s`;
  return ms >= 1 ? `${ms.toFixed(2)}ms` : `${(ms * 1000).toFixed(2)}µs`;
}

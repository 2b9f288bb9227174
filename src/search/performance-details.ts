/** How long the steps of a search took, for answers that are asked to show it. */
export class Steps {
  readonly #shown: boolean;
  readonly #startedAt = performance.now();
  readonly #times: [name: string, ms: number][] = [];

  constructor(shown: boolean) {
    this.#shown = shown;
  }

  async time<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (!this.#shown) return work();
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

  /** The answer, a JSON object, with the member `performanceDetails` behind the others. */
  added(answer: Buffer): Buffer {
    if (!this.#shown) return answer;
    return Buffer.concat([
      answer.subarray(0, -1),
      Buffer.from(`,"performanceDetails":${this.#details()}}`),
    ]);
  }

  /** The same in those results of several searches that are asked for it. */
  addedToResults(answer: Buffer, shown: readonly boolean[]): Buffer {
    if (!this.#shown) return answer;
    const details = Buffer.from(`,"performanceDetails":${this.#details()}`);
    const parts: Buffer[] = [];
    let from = 0;
    for (const [n, end] of endsOfResults(answer).entries()) {
      parts.push(answer.subarray(from, end));
      if (shown[n] === true) parts.push(details);
      from = end;
    }
    parts.push(answer.subarray(from));
    return Buffer.concat(parts);
  }
}

/** Of `{"results":[...]}`: the places of the closing braces of its elements. */
function endsOfResults(answer: Buffer): number[] {
  const ends: number[] = [];
  let depth = 0;
  let inString = false;
  for (let at = 0; at < answer.length; at++) {
    const byte = answer[at]!;
    if (inString) {
      if (byte === 0x5c) at++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) {
      depth--;
      if (depth === 2 && byte === 0x7d) ends.push(at);
    }
  }
  return ends;
}

function durationText(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)}s`;
  return ms >= 1 ? `${ms.toFixed(2)}ms` : `${(ms * 1000).toFixed(2)}µs`;
}

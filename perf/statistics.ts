/**
 * Figures of a run: `group.figure` -> number. The name ends with the unit: Ms, Seconds, Mb,
 * PerSecond.
 */
export type Figures = Record<string, number>;

export interface Percentiles {
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** @param milliseconds at least one; sorted in place */
export function percentiles(milliseconds: number[]): Percentiles {
  milliseconds.sort((a, b) => a - b);
  const at = (share: number): number =>
    milliseconds[Math.min(milliseconds.length - 1, Math.floor(milliseconds.length * share))]!;
  return { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), maxMs: milliseconds.at(-1)! };
}

/** @param list at least one number */
export function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[list.length >> 1]!;
}

/** The median of each figure over several runs. */
export function medians(runs: readonly Figures[]): Figures {
  return Object.fromEntries(
    Object.keys(runs[0] ?? {}).map((name) => [name, median(runs.map((run) => run[name]!))]),
  );
}

export function prefixed(prefix: string, figures: object): Figures {
  return Object.fromEntries(
    Object.entries(figures as Figures).map(([name, value]) => [`${prefix}.${name}`, value]),
  );
}

/**
 * The exponent by which figures grow with the size of what they were measured on: 1 where twice the
 * size doubles the figure, 0 where the figure stays the same (least squares of the logarithms).
 * REQUIRES: two or more different sizes
 */
export function exponentOf(sizes: readonly number[], figures: readonly number[]): number {
  const mean = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0) / list.length;
  const [x, y] = [sizes.map(Math.log), figures.map(Math.log)];
  const [meanX, meanY] = [mean(x), mean(y)];
  const sum = (of: (n: number) => number): number => mean(x.map((_, n) => of(n)));
  const shared = sum((n) => (x[n]! - meanX) * (y[n]! - meanY));
  return shared / sum((n) => (x[n]! - meanX) ** 2);
}

/** A Markdown table of figures by size, with the exponent of each. */
export function growthTable(
  what: string,
  sizes: readonly number[],
  figures: readonly Figures[],
): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rows = Object.keys(figures[0] ?? {}).map((name) => {
    const list = figures.map((one) => one[name]!);
    const grows = sizes.length > 1 && list.every((figure) => figure > 0);
    const exponent = grows ? exponentOf(sizes, list).toFixed(2) : '';
    return row([name, ...list.map((figure) => String(Number(figure.toPrecision(3)))), exponent]);
  });
  const head = [what, ...sizes.map((size) => size.toLocaleString('en')), 'exponent'];
  return [row(head), row(head.map(() => '---')), ...rows].join('\n');
}

/** Whether a greater figure is better. */
export function isGain(figure: string): boolean {
  return /(PerSecond|PerCpuSecond|mrr10)$/.test(figure);
}

/**
 * Starts `work` at planned times, whether or not earlier calls have ended, as visitors of a site
 * do.
 */
export class OpenLoop {
  /** Time from the planned start to the end of each call, so waiting for a busy server counts. */
  readonly milliseconds: number[] = [];
  failures = 0;
  readonly #perSecond: number;
  readonly #work: (n: number) => Promise<void>;

  constructor(perSecond: number, work: (n: number) => Promise<void>) {
    this.#perSecond = perSecond;
    this.#work = work;
  }

  /** Resolves when the last call has ended. */
  async run(seconds: number): Promise<void> {
    const start = performance.now();
    const count = Math.floor(this.#perSecond * seconds);
    const open: Promise<void>[] = [];
    for (let n = 0; n < count;) {
      const planned = start + (n * 1000) / this.#perSecond;
      const wait = planned - performance.now();
      // Timers are up to a millisecond late, so the last stretch is polled.
      if (wait > 2) await new Promise((done) => setTimeout(done, wait - 2));
      else if (wait > 0) await new Promise((done) => setImmediate(done));
      else open.push(this.#one(n++, planned));
    }
    await Promise.all(open);
  }

  async #one(n: number, planned: number): Promise<void> {
    try {
      await this.#work(n);
      this.milliseconds.push(performance.now() - planned);
    } catch {
      this.failures++;
    }
  }
}

import type { AnalyticsRow } from '../contract/analytics.ts';

interface Source {
  /** Lists of rows, in order; empty ones are removed. */
  readonly lists: (readonly AnalyticsRow[])[];
  /** Rows of the first list that were passed on. */
  taken: number;
  hasEnded: boolean;
}

/** Merges the rows of several sources by time. Rows of one source are ordered. */
export class RowMerger {
  readonly #sources: Source[];
  readonly #add: (rows: readonly AnalyticsRow[]) => void;

  constructor(sources: number, add: (rows: readonly AnalyticsRow[]) => void) {
    this.#sources = Array.from({ length: sources }, () => ({
      lists: [],
      taken: 0,
      hasEnded: false,
    }));
    this.#add = add;
  }

  put(source: number, rows: readonly AnalyticsRow[]): void {
    if (rows.length > 0) this.#sources[source]!.lists.push(rows);
    this.#pass();
  }

  end(source: number): void {
    this.#sources[source]!.hasEnded = true;
    this.#pass();
  }

  /** Whether all sources have ended, and all their rows were passed on. */
  get isDone(): boolean {
    return this.#sources.every(({ lists, hasEnded }) => hasEnded && lists.length === 0);
  }

  /** Passes on what no later row can precede. */
  #pass(): void {
    for (;;) {
      if (this.#sources.some(({ lists, hasEnded }) => lists.length === 0 && !hasEnded)) return;
      const [first, second] = this.#sources
        .filter(({ lists }) => lists.length > 0)
        .toSorted((a, b) => timeOf(a) - timeOf(b));
      if (first === undefined) return;
      const rows = first.lists[0]!;
      let end = rows.length;
      if (second !== undefined && rows.at(-1)![1] > timeOf(second)) {
        const until = timeOf(second);
        end = first.taken + 1;
        while (end < rows.length && rows[end]![1] <= until) end++;
      }
      this.#add(first.taken === 0 && end === rows.length ? rows : rows.slice(first.taken, end));
      first.taken = end;
      if (end < rows.length) continue;
      first.lists.shift();
      first.taken = 0;
    }
  }
}

/** The time of the next row. */
function timeOf({ lists, taken }: Source): number {
  return lists[0]![taken]![1];
}

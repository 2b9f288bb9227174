import { isSearchRow, type AnalyticsRow, type SearchRow } from '../contract/analytics.ts';

/** Maximum time between two searches of a user who is still typing, in milliseconds. */
export const TYPING_MS = 3000;
/** Maximum number of searches that may prove to be those of users who are still typing. */
const TYPING_MAX = 20_000;

/**
 * Tells the searches of users who are still typing from final ones: a search is not final if the
 * same user extends it, or shortens it at its end, within three seconds and without a click.
 */
export class Typing {
  /** The last search by user and index, in the order of time. */
  readonly #last = new Map<string, SearchRow>();

  /**
   * Returns the searches that a row shows to be final.
   * @param row not earlier than those before
   */
  add(row: AnalyticsRow): SearchRow[] {
    const key = `${row[8]} ${row[3]}`;
    const final = this.final(row[1] - TYPING_MS);
    const before = this.#last.get(key);
    if (!isSearchRow(row)) {
      // A click: the user has stopped typing.
      if (before === undefined || before[2] !== row[2]) return final;
      this.#last.delete(key);
      return [...final, before];
    }
    this.#last.delete(key);
    this.#last.set(key, row);
    if (before !== undefined && !goesOn(before[4], row[4])) final.push(before);
    return final;
  }

  /**
   * Returns the searches until `until`, in ms since 1970, which nobody has extended, and the oldest
   * of too many.
   */
  final(until: number): SearchRow[] {
    const final: SearchRow[] = [];
    for (const [key, row] of this.#last) {
      if (row[1] >= until && this.#last.size <= TYPING_MAX) break;
      this.#last.delete(key);
      final.push(row);
    }
    return final;
  }
}

function goesOn(before: string, after: string): boolean {
  const [a, b] = [plainQuery(before), plainQuery(after)];
  return a !== b && (a.startsWith(b) || b.startsWith(a));
}

/** Queries that differ only in case or spaces are one. */
export function plainQuery(query: string): string {
  return query.trim().toLowerCase().replaceAll(/\s+/g, ' ');
}

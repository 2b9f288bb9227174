/**
 * Interleaved searches: which of two indexes has given a document to a page, and which one users
 * prefer (docs/behaviour/interleaving.md).
 */
import { isSearchRow, type AnalyticsRow, type Interleaved } from '../contract/analytics.ts';
import { estimate } from '../relevance/resampling.ts';
import { signTest } from '../relevance/sign-test.ts';
import { foldedQuery, isSelected, ReportFault, type Report, type Selection } from './reports.ts';

/** Digits of a document's key in `Interleaved`. */
const KEY_DIGITS = 8;
/** Documents of each index of a page whose clicks are credited. */
export const CREDITED_MAX = 100;
/** Comparisons of one report. */
export const COMPARISONS_MAX = 100_000;
/** Clicked documents that count in one comparison. */
const CLICKED_MAX = 100;
const SEED = 1;

/** @param teams as the engine returns them; absent: an index has given nothing */
export function interleaved(uid: string, teams: readonly (string | undefined)[]): Interleaved {
  const kept = (n: number): string => (teams[n] ?? '').slice(0, CREDITED_MAX * KEY_DIGITS);
  return [uid, kept(0), kept(1)];
}

/** Which index has given the document: 0, the one that was searched, or 1. null: neither. */
export function teamOf([, ...teams]: Interleaved, documentId: string): 0 | 1 | null {
  const key = documentKey(documentId).slice(0, KEY_DIGITS);
  for (const team of [0, 1] as const) {
    for (let at = 0; at < teams[team].length; at += KEY_DIGITS) {
      if (teams[team].startsWith(key, at)) return team;
    }
  }
  return null;
}

/** The key of a document in the engine: 64-bit FNV-1a of its id, in hexadecimal. */
export function documentKey(id: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(id)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, '0');
}

export interface InterleavingRow {
  indexUid: string;
  with: string;
  searches: number;
  /** Comparisons in which the other index has got more, fewer, and as many clicked documents. */
  wins: number;
  losses: number;
  ties: number;
  /** Wins less losses, as a share of all comparisons; null: there are none. */
  preference: number | null;
  preferenceLow: number | null;
  preferenceHigh: number | null;
  /** How likely so clear a result is if users prefer neither. */
  pValue: number;
}

interface Pair {
  indexUid: string;
  with: string;
  searches: number;
  /** By user and query. */
  comparisons: Map<string, Comparison>;
}

interface Comparison {
  clicked: Set<string>;
  /** Clicked documents of the other index, less those of the one that was searched. */
  lead: number;
}

/**
 * Pairs of indexes. Searches of one user for one query are one comparison, however often the user
 * repeats them: they show the same draft, and nobody weighs more by clicking more often.
 */
export class InterleavingReport implements Report<InterleavingRow> {
  readonly columns = [
    ...['indexUid', 'with', 'searches', 'wins', 'losses', 'ties'],
    ...['preference', 'preferenceLow', 'preferenceHigh', 'pValue'],
  ];
  readonly #selection: Selection;
  readonly #isVisible: (indexUid: string) => boolean;
  readonly #pairs = new Map<string, Pair>();
  #comparisons = 0;

  /** @param isVisible whether the caller may see the index that was compared with */
  constructor(selection: Selection, isVisible: (indexUid: string) => boolean) {
    this.#selection = selection;
    this.#isVisible = isVisible;
  }

  add(rows: readonly AnalyticsRow[]): void {
    for (const row of rows) {
      const of = isSearchRow(row) ? row[9] : row[10];
      if (of === undefined || !isSelected(row, this.#selection)) continue;
      const [other, team, user] = of;
      if (!this.#isVisible(other)) continue;
      const pair = this.#pairOf(row[3], other);
      if (isSearchRow(row)) {
        pair.searches++;
        continue;
      }
      const comparison = this.#comparisonOf(pair, `${user} ${foldedQuery(row[4] ?? '')}`);
      const { clicked } = comparison;
      if (clicked.has(row[6]!) || clicked.size >= CLICKED_MAX) continue;
      clicked.add(row[6]!);
      comparison.lead += team === 1 ? 1 : -1;
    }
  }

  #pairOf(indexUid: string, other: string): Pair {
    const key = `${indexUid} ${other}`;
    let pair = this.#pairs.get(key);
    if (pair === undefined) {
      pair = { indexUid, with: other, searches: 0, comparisons: new Map() };
      this.#pairs.set(key, pair);
    }
    return pair;
  }

  #comparisonOf({ comparisons }: Pair, key: string): Comparison {
    let comparison = comparisons.get(key);
    if (comparison === undefined) {
      if (++this.#comparisons > COMPARISONS_MAX) {
        throw new ReportFault(
          `The report has more than ${COMPARISONS_MAX} comparisons; choose fewer indexes or a shorter time.`,
        );
      }
      comparison = { clicked: new Set(), lead: 0 };
      comparisons.set(key, comparison);
    }
    return comparison;
  }

  /** Rows ordered by the names of the indexes. */
  rows(): InterleavingRow[] {
    return [...this.#pairs]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { comparisons, ...pair }]) => {
        const signs = [...comparisons.values()].map(({ lead }) => Math.sign(lead));
        const [wins, losses, ties] = [1, -1, 0].map(
          (sign) => signs.filter((one) => one === sign).length,
        ) as [number, number, number];
        const { mean, low, high } =
          signs.length === 0 ? { mean: null, low: null, high: null } : estimate(signs, SEED);
        return {
          ...pair,
          ...{ wins, losses, ties },
          preference: rounded(mean),
          preferenceLow: rounded(low),
          preferenceHigh: rounded(high),
          pValue: rounded(signTest(wins, losses))!,
        };
      });
  }
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 1e4) / 1e4;
}

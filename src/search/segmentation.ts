/**
 * Segments queries in scripts without spaces into words. The index holds such text by character;
 * the words determine which parts of the query must be adjacent.
 */

/** A class of single code units: these scripts are in the BMP, except rare Han characters. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

const RUNS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{M}ー々〻]+/gu;

/** Created on first use: loading the dictionaries takes some milliseconds. */
let segmenter: Intl.Segmenter | undefined;

/** The engine reads at most this much of a query, UTF-16 units. */
const QUERY_UNITS_MAX = 65_536;

/**
 * The engine uses at most this many words of a query, each of at least one unit. The platform's
 * segmenter needs 1.6 ms for them.
 */
const UNSPACED_UNITS_MAX = 1000;

/**
 * Byte offsets (UTF-8) in `query` at which a word begins inside runs of such scripts, ascending;
 * undefined when there are no such runs, or no query. Text after the first {@link
 * UNSPACED_UNITS_MAX} units of them is ignored.
 */
export function segmentation(query: string | null | undefined): number[] | undefined {
  if (typeof query !== 'string') return undefined;
  const q = query.length > QUERY_UNITS_MAX ? query.slice(0, QUERY_UNITS_MAX) : query;
  if (!UNSPACED.test(q)) return undefined;
  segmenter ??= new Intl.Segmenter('und', { granularity: 'word' });
  const offsets: number[] = [];
  let bytes = 0;
  let at = 0;
  let left = UNSPACED_UNITS_MAX;
  for (const { 0: run, index } of q.matchAll(RUNS)) {
    bytes += Buffer.byteLength(q.slice(at, index));
    at = index + run.length;
    if (!UNSPACED.test(run)) {
      bytes += Buffer.byteLength(run);
      continue;
    }
    for (const { segment } of segmenter.segment(run.slice(0, left))) {
      offsets.push(bytes);
      bytes += Buffer.byteLength(segment);
    }
    left -= run.length;
    if (left <= 0) break;
  }
  return offsets.length === 0 ? undefined : offsets;
}

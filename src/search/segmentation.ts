/**
 * Words of a query in scripts that are written without spaces. The index holds such text by character;
 * the words decide what of the query must stand together.
 */

/** One code unit class: these scripts lie in the BMP, and rarer Han beyond it. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

const RUNS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{M}ー々〻]+/gu;

/** Made when first needed: loading the dictionaries takes some milliseconds. */
let segmenter: Intl.Segmenter | undefined;

/** The engine looks at no more of a query, UTF-16 units. */
const QUERY_UNITS_MAX = 65_536;

/** The engine takes so many words of a query, each of at least one unit. The platform's segmenter needs 1.6 ms for them. */
const UNSPACED_UNITS_MAX = 1000;

/**
 * Byte offsets (UTF-8) in `query` at which a word begins inside runs of such scripts, ascending; undefined
 * when there are no such runs, or no query. What lies behind the first {@link UNSPACED_UNITS_MAX} of them is not looked at.
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

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

/**
 * Byte offsets (UTF-8) in `q` at which a word begins inside runs of such scripts, ascending; undefined
 * when there are no such runs.
 */
export function segmentation(q: string): number[] | undefined {
  if (!UNSPACED.test(q)) return undefined;
  segmenter ??= new Intl.Segmenter('und', { granularity: 'word' });
  const offsets: number[] = [];
  let bytes = 0;
  let at = 0;
  for (const { 0: run, index } of q.matchAll(RUNS)) {
    bytes += Buffer.byteLength(q.slice(at, index));
    at = index + run.length;
    const unspaced = UNSPACED.test(run);
    for (const { segment } of segmenter.segment(run)) {
      if (unspaced) offsets.push(bytes);
      bytes += Buffer.byteLength(segment);
    }
  }
  return offsets.length === 0 ? undefined : offsets;
}

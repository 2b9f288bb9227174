/** Of an answer of the engine, how long it took: read off its bytes, as answers are never parsed here. */

const KEY = Buffer.from('"processingTimeMs":');

/**
 * Whole milliseconds; undefined when the answer does not tell. Of several times the last one counts. Texts cannot hold the
 * key, as their quotes are escaped; a count of a facet value of this very name is taken for it, so nothing but metrics and
 * the log may depend on it.
 */
export function engineMsOf(answer: Buffer): number | undefined {
  for (let at = answer.lastIndexOf(KEY); at >= 0; at = answer.lastIndexOf(KEY, at - 1)) {
    let end = at + KEY.length;
    while (isDigit(answer[end])) end++;
    if (end > at + KEY.length) return Number(answer.toString('latin1', at + KEY.length, end));
    if (at === 0) return undefined;
  }
  return undefined;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** Access to strings by Unicode code point. A lone surrogate counts as a code point. */

const SURROGATE = /[\ud800-\udfff]/;

export function charCount(text: string): number {
  if (!SURROGATE.test(text)) return text.length;
  let count = 0;
  for (let at = 0; at < text.length; at += widthAt(text, at)) count++;
  return count;
}

/**
 * The offset, in code units, at which a character begins; the end of the text if there are fewer
 * characters.
 * @param chars number of the character, from 0
 */
export function offsetOf(text: string, chars: number): number {
  if (!SURROGATE.test(text)) return Math.min(chars, text.length);
  let at = 0;
  for (let n = 0; n < chars && at < text.length; n++) at += widthAt(text, at);
  return at;
}

/** The offset at which the character that ends at `offset` begins, in code units. */
export function offsetBefore(text: string, offset: number): number {
  const isPair = offset >= 2 && text.codePointAt(offset - 2)! > 0xffff;
  return offset - (isPair ? 2 : 1);
}

/** The characters `[begin, end)`. */
export function charSlice(text: string, begin: number, end: number): string {
  const from = offsetOf(text, begin);
  return text.slice(from, from + offsetOf(text.slice(from), Math.max(0, end - begin)));
}

/** The character that begins at an offset in code units. */
export function charAt(text: string, offset: number): string {
  return text.slice(offset, offset + widthAt(text, offset));
}

export function* charsIn(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += widthAt(text, at)) yield charAt(text, at);
}

/**
 * Pieces that are joined at a time. V8 keeps a concatenation of millions of pieces as a tree that
 * takes ten times the memory of the text.
 */
const PIECES_MAX = 8192;

/** Joins short pieces to a long text. */
export function textOf(pieces: Iterable<string>): string {
  const done: string[] = [];
  let open: string[] = [];
  for (const piece of pieces) {
    open.push(piece);
    if (open.length < PIECES_MAX) continue;
    done.push(open.join(''));
    open = [];
  }
  return done.join('') + open.join('');
}

/**
 * Replaces each occurrence of `wanted` in `text` by `other`. If `wanted` is empty, `other` is
 * inserted before each character and at the end.
 */
export function replaced(text: string, wanted: string, other: string): string {
  return textOf(replacement(text, wanted, other));
}

function* replacement(text: string, wanted: string, other: string): Generator<string> {
  if (wanted === '') {
    for (const char of charsIn(text)) {
      yield other;
      yield char;
    }
    yield other;
    return;
  }
  let begin = 0;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, begin)) {
    yield text.slice(begin, at);
    yield other;
    begin = at + wanted.length;
  }
  yield text.slice(begin);
}

/** The number of non-overlapping occurrences of `wanted` in `text`. */
export function occurrences(text: string, wanted: string): number {
  let count = 0;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    count++;
  }
  return count;
}

function widthAt(text: string, at: number): number {
  return text.codePointAt(at)! > 0xffff ? 2 : 1;
}

/**
 * Highlighted text. The server is asked to put marks around what matches that no document can know, and the text is
 * split at them: whatever else it holds stays text.
 */

export interface Marks {
  readonly begin: string;
  readonly end: string;
}

/** Characters of private use around digits that differ each time. */
export function newMarks(): Marks {
  const [number = 0] = crypto.getRandomValues(new Uint32Array(1));
  return { begin: `\uE000${number}\uE001`, end: `\uE000/${number}\uE001` };
}

export interface TextPart {
  readonly text: string;
  readonly marked: boolean;
}

/** Parts in order, none empty. A mark without its counterpart ends with the text. */
export function splitMarks(text: string, { begin, end }: Marks): TextPart[] {
  const parts: TextPart[] = [];
  const add = (part: string, marked: boolean): void => {
    if (part !== '') parts.push({ text: part, marked });
  };
  const [first = '', ...rest] = text.split(begin);
  add(first.replaceAll(end, ''), false);
  for (const piece of rest) {
    const at = piece.indexOf(end);
    add(at < 0 ? piece : piece.slice(0, at), true);
    if (at >= 0) add(piece.slice(at + end.length).replaceAll(end, ''), false);
  }
  return parts;
}

/**
 * Highlighted text. The server puts marks that no document can predict around matching words, and
 * the page splits the text at them. Everything else stays plain text, so documents cannot inject
 * markup.
 */

export interface Marks {
  readonly begin: string;
  readonly end: string;
}

/** Private-use characters around random digits. */
export function newMarks(): Marks {
  const [number = 0] = crypto.getRandomValues(new Uint32Array(1));
  return { begin: `\uE000${number}\uE001`, end: `\uE000/${number}\uE001` };
}

export interface TextPart {
  readonly text: string;
  readonly marked: boolean;
}

/** Parts in order, none of them empty. A mark that is not closed ends with the text. */
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

/** Characters of a long text shown before the first match. */
const LEAD = 100;

/**
 * At most `max` characters, from the beginning or, if the first match comes late, from shortly
 * before that match.
 */
export function excerpt(parts: readonly TextPart[], max: number): TextPart[] {
  const first = parts.findIndex(({ marked }) => marked);
  const before = parts.slice(0, Math.max(first, 0)).reduce((sum, { text }) => sum + text.length, 0);
  let skipped = before < max / 2 ? 0 : before - LEAD;
  let left = max;
  const shown: TextPart[] = [];
  for (const { text, marked } of parts) {
    if (left <= 0) break;
    const piece = text.slice(skipped, skipped + left);
    skipped = Math.max(0, skipped - text.length);
    left -= piece.length;
    // Drops half a surrogate pair at either end.
    const whole = piece.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '');
    if (whole !== '') shown.push({ text: whole, marked });
  }
  return shown;
}

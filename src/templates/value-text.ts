/**
 * Values of documents in templates, and the text they render to: a list as its items one after the
 * other, an object as each key followed by its value, null as an empty text.
 */

/** The text of a JSON value in a template. */
export function textOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return decimal(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return '';
      return Array.isArray(value) ? value.map(textOf).join('') : textOfMembers(value);
    default:
      return '';
  }
}

function textOfMembers(object: object): string {
  let text = '';
  for (const [key, value] of Object.entries(object)) text += key + textOf(value);
  return text;
}

/** Formats a finite number without an exponent. */
function decimal(value: number): string {
  if (Object.is(value, -0)) return '-0';
  const text = String(value);
  const match = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return text;
  const [, sign, first, rest = '', power] = match;
  const digits = first! + rest;
  const exponent = Number(power);
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  return sign + digits.padEnd(exponent + 1, '0');
}

/** An object of a document inside a template. Filters that need a text get its text. */
class ScopeObject {
  toString(): string {
    return textOf(this);
  }
}

/** Replaces all objects in a parsed JSON value by `ScopeObject`s. Changes the value itself. */
export function withTexts(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) value.forEach(withTexts);
  else {
    Object.values(value).forEach(withTexts);
    Object.setPrototypeOf(value, ScopeObject.prototype as object);
  }
  return value;
}

/** The longest prefix of `text` with at most `bytesMax` bytes in UTF-8 that cuts no character. */
export function cutText(text: string, bytesMax: number): string {
  // A UTF-16 unit takes at most three bytes.
  if (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax) return text;
  const bytes = Buffer.from(text);
  let end = bytesMax;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

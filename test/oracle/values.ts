/**
 * The values of a document under a dotted name, as filters, sort, distinct and facets see them
 * (docs/behaviour/fields.md, filters.md).
 */
import type { Document, Json } from './corpus.ts';

export interface FieldValues {
  exists: boolean;
  isNull: boolean;
  isEmpty: boolean;
  numbers: number[];
  /** Original spellings; booleans as text. */
  strings: string[];
}

const MAX_BYTES = 468;

/** Trimmed, NFKD, lower case, at most 468 bytes. Accents stay. */
export function facetForm(text: string): string {
  const form = text.trim().normalize('NFKD').toLowerCase();
  if (Buffer.byteLength(form) <= MAX_BYTES) return form;
  let bytes = 0;
  let out = '';
  for (const char of form) {
    bytes += Buffer.byteLength(char);
    if (bytes > MAX_BYTES) break;
    out += char;
  }
  return out;
}

export function valuesOf(document: Document, field: string): FieldValues {
  const out: FieldValues = {
    exists: false,
    isNull: false,
    isEmpty: false,
    numbers: [],
    strings: [],
  };
  reach(document, field, out);
  return out;
}

function reach(node: Json, rest: string, out: FieldValues): void {
  if (Array.isArray(node)) {
    for (const item of node) reach(item, rest, out);
    return;
  }
  if (node === null || typeof node !== 'object') return;
  for (const [key, value] of Object.entries(node)) {
    if (key === rest) {
      out.exists = true;
      if (value === null) out.isNull = true;
      if (
        value === '' ||
        (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
      ) {
        out.isEmpty = true;
      }
      collect(value, out);
    } else if (rest.startsWith(`${key}.`)) reach(value, rest.slice(key.length + 1), out);
  }
}

function collect(value: Json, out: FieldValues): void {
  if (Array.isArray(value)) for (const item of value) collect(item, out);
  else if (typeof value === 'number') out.numbers.push(value);
  else if (typeof value === 'boolean') out.strings.push(String(value));
  else if (typeof value === 'string' && value.trim() !== '') out.strings.push(value);
}

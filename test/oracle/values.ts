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
  eachAt(document, field, (value) => {
    out.exists = true;
    if (value === null) out.isNull = true;
    if (
      value === '' ||
      (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
    ) {
      out.isEmpty = true;
    }
    collect(value, out);
  });
  return out;
}

function eachAt(node: Json, rest: string, use: (value: Json) => void): void {
  if (Array.isArray(node)) {
    for (const item of node) eachAt(item, rest, use);
    return;
  }
  if (node === null || typeof node !== 'object') return;
  for (const [key, value] of Object.entries(node)) {
    if (key === rest) use(value);
    else if (rest.startsWith(`${key}.`)) eachAt(value, rest.slice(key.length + 1), use);
  }
}

/** The objects in a field, and in arrays in it. */
export function elementsOf(document: Document, field: string): Document[] {
  const out: Document[] = [];
  const add = (value: Json): void => {
    if (Array.isArray(value)) value.forEach(add);
    else if (value !== null && typeof value === 'object') out.push(value as Document);
  };
  eachAt(document, field, add);
  return out;
}

/** Numbers, booleans and texts that are not blank, in their order, each once. */
export function scalarsOf(document: Document, field: string): Json[] {
  const out = new Set<Json>();
  const add = (value: Json): void => {
    if (Array.isArray(value)) value.forEach(add);
    else if (typeof value === 'string' ? value.trim() !== '' : typeof value !== 'object') {
      out.add(value);
    }
  };
  eachAt(document, field, add);
  return [...out];
}

function collect(value: Json, out: FieldValues): void {
  if (Array.isArray(value)) for (const item of value) collect(item, out);
  else if (typeof value === 'number') out.numbers.push(value);
  else if (typeof value === 'boolean') out.strings.push(String(value));
  else if (typeof value === 'string' && value.trim() !== '') out.strings.push(value);
}

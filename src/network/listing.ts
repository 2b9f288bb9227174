/** Listings of documents of several servers, merged without parsing their documents into values. */
import { isUtf8 } from 'node:buffer';
import { JsonScanner, MalformedJson } from '../base/json-scanner.ts';
import { compareUtf8 } from '../base/json.ts';

export interface ListingResponse {
  /** The documents, in order, as JSON. */
  documents: Buffer[];
  total: number;
}

/** Rejects with `MalformedJson` when it is something else. */
export async function readListing(bytes: Buffer): Promise<ListingResponse> {
  if (!isUtf8(bytes)) throw new MalformedJson('not UTF-8');
  const documents: Buffer[] = [];
  let total = -1;
  let hasResults = false;
  const scanner = new JsonScanner(bytes);
  await scanner.objectInSlices(async (name) => {
    if (name === 'total') total = countOf(scanner.value());
    if (name !== 'results') return;
    hasResults = true;
    await scanner.arrayInSlices(() => {
      const from = scanner.at;
      scanner.object(() => {});
      documents.push(bytes.subarray(from, scanner.at));
    });
  });
  scanner.end();
  if (!hasResults || total < 0) throw new MalformedJson('no listing of documents');
  return { documents, total };
}

interface Criterion {
  /** null: the distance of a document's point from `from`. */
  field: string | null;
  from: { lat: number; lng: number };
  asc: boolean;
}

const NOWHERE = { lat: 0, lng: 0 };

/** The sort values of a document, one for each criterion. */
export type SortKey = readonly (string | number | null)[];

/** REQUIRES: the engine has accepted the criteria. */
export class ListingOrder {
  readonly #criteria: readonly Criterion[];

  constructor(sort: readonly string[]) {
    this.#criteria = sort.map((text) => {
      const colon = text.lastIndexOf(':');
      const field = text.slice(0, colon);
      const asc = text.slice(colon + 1) === 'asc';
      const point = /^_geoPoint\(([^,]+),([^)]+)\)$/.exec(field);
      if (point === null) return { field, from: NOWHERE, asc };
      return { field: null, from: { lat: Number(point[1]), lng: Number(point[2]) }, asc };
    });
  }

  /** Fields that documents must have to be ordered. */
  get fields(): string[] {
    return [...new Set(this.#criteria.map(({ field }) => field ?? '_geo'))];
  }

  keyOf(document: Buffer): SortKey {
    const values = new Map<string, unknown>();
    const wanted = this.fields;
    const scanner = new JsonScanner(document);
    scanner.object((name) => {
      if (wanted.some((field) => field === name || field.startsWith(`${name}.`))) {
        values.set(name, scanner.value());
      }
    });
    const object = Object.fromEntries(values);
    return this.#criteria.map(({ field, from, asc }) => {
      if (field === null) return distance(from, object._geo);
      return sortValue(valuesAt(object, field), asc);
    });
  }

  compare(a: SortKey, b: SortKey): number {
    for (const [n, { asc }] of this.#criteria.entries()) {
      const order = compareSorts(a[n]!, b[n]!, asc);
      if (order !== 0) return order;
    }
    return 0;
  }
}

/**
 * Scalars at a path of a document or of a part of it, through arrays; a name may itself contain
 * dots.
 */
export function valuesAt(value: unknown, path: string | null): unknown[] {
  if (Array.isArray(value)) return value.flatMap((element) => valuesAt(element, path));
  if (path === null) return typeof value === 'object' ? [] : [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    if (name === path) return valuesAt(member, null);
    return path.startsWith(`${name}.`) ? valuesAt(member, path.slice(name.length + 1)) : [];
  });
}

/** The value that comes first; numbers before texts. */
function sortValue(values: readonly unknown[], asc: boolean): string | number | null {
  let best: string | number | null = null;
  for (const value of values) {
    const one = typeof value === 'number' ? value : normalized(String(value));
    if (one === '') continue;
    if (best === null || compareSorts(one, best, asc) < 0) best = one;
  }
  return best;
}

/** The form in which the engine compares texts: trimmed, decomposed, in lower case. */
function normalized(text: string): string {
  return text.trim().normalize('NFKD').toLowerCase();
}

/** Numbers before strings, missing values last, whatever the direction. */
function compareSorts(a: string | number | null, b: string | number | null, asc: boolean): number {
  const kind = kindOf(a) - kindOf(b);
  if (kind !== 0 || a === null || b === null) return kind;
  const order = typeof a === 'number' ? a - (b as number) : compareUtf8(a, b as string);
  return asc ? order : -order;
}

function kindOf(value: string | number | null): number {
  if (value === null) return 2;
  return typeof value === 'number' ? 0 : 1;
}

/** A count is shown as an integer, so it must be one. */
function countOf(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new MalformedJson('not a count');
}

const EARTH_RADIUS_METRES = 6_371_008.7714;

/** In whole metres: the engine treats points within a metre as equal. */
function distance(from: { lat: number; lng: number }, geo: unknown): number | null {
  if (typeof geo !== 'object' || geo === null) return null;
  const lat = Number((geo as Record<string, unknown>).lat);
  const lng = Number((geo as Record<string, unknown>).lng);
  if (!Number.isFinite(lat) || !Number.isFinite(lng)) return null;
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const a =
    Math.sin(radians(lat - from.lat) / 2) ** 2 +
    Math.cos(radians(from.lat)) *
      Math.cos(radians(lat)) *
      Math.sin(radians(lng - from.lng) / 2) ** 2;
  return Math.round(2 * EARTH_RADIUS_METRES * Math.asin(Math.min(1, Math.sqrt(a))));
}

/** The document without the values at some paths. */
export function withoutPaths(document: Buffer, paths: ReadonlySet<string>): Buffer {
  if (paths.size === 0) return document;
  const parts: Buffer[] = [];
  let from = 0;
  const scanner = new JsonScanner(document);
  const cut = (prefix: string): void => {
    const open = scanner.at + 1;
    let previous = open;
    let isFirst = true;
    scanner.object((name) => {
      const path = prefix + name;
      if (paths.has(path)) {
        scanner.skip();
        // A member is removed with the comma before it, the first one with the comma after it.
        const hasComma = isFirst && document[scanner.at] === COMMA;
        parts.push(document.subarray(from, previous));
        from = hasComma ? scanner.at + 1 : scanner.at;
        previous = from;
        return;
      }
      const isInside = [...paths].some((other) => other.startsWith(`${path}.`));
      if (isInside && scanner.peek() === OPEN_OBJECT) cut(`${path}.`);
      else scanner.skip();
      previous = scanner.at;
      isFirst = false;
    });
  };
  cut('');
  parts.push(document.subarray(from));
  return Buffer.concat(parts);
}

const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;

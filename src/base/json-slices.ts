/** JSON of values that are too large for one iteration of the event loop. */
import { setImmediate } from 'node:timers/promises';
import { jsonString, RawJson } from './json.ts';

/** JSON written in one iteration, UTF-16 units: about a millisecond. */
const SLICE_UNITS = 128 * 1024;

/**
 * A lower bound of what `JSON.stringify` has to write, but at most `limit`, UTF-16 units. `RawJson`
 * counts as `limit`.
 */
export function weightOf(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 1;
  if (value instanceof RawJson) return limit;
  let weight = 2;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && weight < limit; i++) {
      weight += weightOf(value[i], limit - weight) + 1;
    }
    return weight;
  }
  for (const name in value) {
    weight += name.length + 4 + weightOf((value as Record<string, unknown>)[name], limit - weight);
    if (weight >= limit) return limit;
  }
  return weight;
}

/** This many characters of a text count as one more value. */
export const CHARACTERS_OF_VALUE = 128;

function countOfText(text: string): number {
  return 1 + Math.floor(text.length / CHARACTERS_OF_VALUE);
}

/** Number of values in a value. Stops counting soon after `limit`. `RawJson` counts as `limit`. */
export function countValues(value: unknown, limit: number): number {
  if (value instanceof RawJson) return limit;
  if (typeof value === 'string') return countOfText(value);
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && count < limit; i++) count += countValues(value[i], limit);
    return count;
  }
  for (const name in value) {
    count += countOfText(name) + countValues((value as Record<string, unknown>)[name], limit);
    if (count >= limit) break;
  }
  return count;
}

/**
 * The output of `jsonString` as UTF-8; yields to the event loop meanwhile. The value must not
 * change until then. REQUIRES: JSON can represent the value, and no large part of it but `RawJson`
 * has a `toJSON`
 */
export async function jsonInSlices(value: unknown): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let text = '';
  const flush = (): void => {
    if (text !== '') parts.push(Buffer.from(text));
    text = '';
  };
  for (const piece of pieces(value)) {
    if (typeof piece === 'string') text += piece;
    else {
      flush();
      parts.push(piece);
    }
    if (text.length < SLICE_UNITS) continue;
    flush();
    await setImmediate();
  }
  flush();
  return Buffer.concat(parts);
}

/** Longer JSON is written in slices, UTF-16 units. */
const AT_ONCE_UNITS_MAX = 64 * 1024;

/** The JSON of a value, made by `jsonInSlices` unless it is short. */
export function jsonText(value: unknown): string | Promise<Buffer> {
  return weightOf(value, AT_ONCE_UNITS_MAX) < AT_ONCE_UNITS_MAX
    ? jsonString(value)
    : jsonInSlices(value);
}

function* pieces(value: unknown): Generator<string | Uint8Array, void> {
  if (value instanceof RawJson) yield value.bytes;
  else if (typeof value === 'string') yield* piecesOfText(value);
  else if (weightOf(value, SLICE_UNITS) < SLICE_UNITS) yield jsonString(value);
  else if (Array.isArray(value)) yield* piecesOfArray(value);
  else yield* piecesOfObject(value as Record<string, unknown>);
}

function* piecesOfText(text: string): Generator<string, void> {
  yield '"';
  for (let start = 0; start < text.length;) {
    let end = Math.min(start + SLICE_UNITS, text.length);
    // Keep both halves of a surrogate pair together.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end--;
    yield JSON.stringify(text.slice(start, end)).slice(1, -1);
    start = end;
  }
  yield '"';
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function* piecesOfArray(elements: readonly unknown[]): Generator<string | Uint8Array, void> {
  yield '[';
  for (let start = 0; start < elements.length;) {
    let end = start;
    for (let weight = 0; end < elements.length; end++) {
      weight += 1 + weightOf(elements[end], SLICE_UNITS);
      if (weight >= SLICE_UNITS) break;
    }
    if (start > 0) yield ',';
    if (end > start) yield jsonString(elements.slice(start, end)).slice(1, -1);
    else yield* pieces(elements[end++]);
    start = end;
  }
  yield ']';
}

function* piecesOfObject(object: Record<string, unknown>): Generator<string | Uint8Array, void> {
  yield '{';
  let separator = '';
  for (const name of Object.keys(object)) {
    const member = object[name];
    if (member === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    yield* pieces(member);
    separator = ',';
  }
  yield '}';
}

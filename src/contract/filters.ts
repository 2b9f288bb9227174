/** The JSON types of a filter; the engine parses its syntax. */
import { RawJson, shortJson } from '../base/json.ts';
import { ApiError, type ErrorCode } from './errors.ts';

/**
 * A string, or an array of strings and of arrays of strings; null is no filter. The engine reports
 * faults of long ones.
 */
export function filterKindFault(filter: unknown, code: ErrorCode): ApiError | null {
  if (filter === null || filter === undefined || typeof filter === 'string') return null;
  if (filter instanceof RawJson) return null;
  if (!Array.isArray(filter)) return wrongKind(code, filter, 'a string or an array');
  for (const element of filter) {
    if (typeof element === 'string') continue;
    if (!Array.isArray(element)) {
      return wrongKind(code, element, 'a string or an array of strings inside the array');
    }
    for (const inner of element) {
      if (typeof inner !== 'string')
        return wrongKind(code, inner, 'a string inside the inner array');
    }
  }
  return null;
}

function wrongKind(code: ErrorCode, value: unknown, expected: string): ApiError {
  return new ApiError(
    code,
    `Invalid filter: expected ${expected}, but found \`${shortJson(value)}\`.`,
  );
}

/** An attribute or a value as a filter writes it, whatever characters it has. */
export function quotedInFilter(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** Whether a filter of valid type restricts nothing. */
export function isEmptyFilter(filter: unknown): boolean {
  if (filter === null || filter === undefined) return true;
  // A long filter is not empty; the engine decides whether it restricts anything.
  if (filter instanceof RawJson) return false;
  if (typeof filter === 'string') return filter.trim() === '';
  return (filter as unknown[]).every(isEmptyFilter);
}

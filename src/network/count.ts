import { MalformedJson } from '../base/json-scanner.ts';

/** A count that another server tells: it is shown as an integer, so it must be one. Throws `MalformedJson`. */
export function countOf(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new MalformedJson('not a count');
}

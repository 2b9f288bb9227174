/**
 * Parses JSON text to script values. Unlike `JSON.parse`, it distinguishes integers from floats: a
 * number without fraction and exponent is a bigint, even beyond 64 bits, which a script can only
 * keep.
 */
import { JsonCursor, type Making } from '../base/json-cursor.ts';
import { ObjectMap, type Value } from './values.ts';

const VALUES: Making<Value> = {
  number: (token) => (/[.eE]/.test(token) ? Number(token) : BigInt(token)),
  object() {
    const map = new ObjectMap();
    return [map, (name, value) => map.set(name, value)];
  },
};

export function readJson(text: string): Value {
  return new JsonCursor(text).value(VALUES);
}

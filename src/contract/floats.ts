/**
 * The declared schema determines which fields hold fractions: those of type `number`. Responses
 * write whole numbers in them as `2.0`, as other servers of this API do: typed clients distinguish
 * them from integers.
 */
import { floatText, JsonFloat, RawJson } from '../base/json.ts';
import type { Schema } from './schema.ts';

export type FloatMarker = <T>(value: T) => T;

type Mark = (value: unknown) => unknown;

/**
 * Returns a function that marks the floats of a value with this schema; it copies the parts with
 * floats and leaves the value unchanged.
 */
export function floatsOf(schema: Schema): FloatMarker {
  return (marker(schema) ?? ((value: unknown) => value)) as FloatMarker;
}

/** null: nothing inside can be a float. */
function marker(schema: Schema): Mark | null {
  const types = schema.type === undefined ? [] : [schema.type].flat();
  const marks = [
    types.includes('number') ? markNumber : null,
    schema.items === undefined ? null : markItems(schema.items),
    markMembers(schema),
    ...(schema.oneOf ?? []).map(marker),
  ].filter((mark) => mark !== null);
  if (marks.length <= 1) return marks[0] ?? null;
  return (value) => marks.reduce((marked, mark) => mark(marked), value);
}

function markNumber(value: unknown): unknown {
  return typeof value === 'number' ? new JsonFloat(value) : value;
}

function markItems(items: Schema): Mark | null {
  const mark = marker(items);
  if (mark === null) return null;
  return (value) => {
    if (!Array.isArray(value)) return value;
    const isVector = value.every((item) => typeof item === 'number');
    return isVector && mark === markNumber ? floatList(value) : value.map(mark);
  };
}

/** A vector is one part, not thousands. */
function floatList(numbers: readonly number[]): RawJson {
  return new RawJson(`[${numbers.map(floatText).join(',')}]`);
}

function markMembers({ properties, additionalProperties }: Schema): Mark | null {
  const marks = new Map(
    Object.entries(properties ?? {}).flatMap(([name, property]): [string, Mark][] => {
      const mark = marker(property);
      return mark === null ? [] : [[name, mark]];
    }),
  );
  const others = typeof additionalProperties === 'object' ? marker(additionalProperties) : null;
  if (marks.size === 0 && others === null) return null;
  return (value) => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value) || value instanceof RawJson) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => {
        const isNamed = Object.hasOwn(properties ?? {}, name);
        const mark = isNamed ? marks.get(name) : others;
        return [name, mark?.(member) ?? member];
      }),
    );
  };
}

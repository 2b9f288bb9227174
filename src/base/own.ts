/**
 * A member of a record whose names clients choose. Inherited members such as `constructor` do not
 * count.
 */
export function own<V>(record: Readonly<Record<string, V>>, name: string): V | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

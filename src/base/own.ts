/** A member of a record whose names clients choose. What every object has, such as `constructor`, is none. */
export function own<V>(record: Readonly<Record<string, V>>, name: string): V | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

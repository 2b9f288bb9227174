export type Column = Int32Array | Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** Returns a longer copy, padded with zeros. */
export function grown<T extends Column>(column: T, size: number): T {
  const larger = emptyLike(column, size);
  larger.set(column);
  return larger;
}

export function emptyLike<T extends Column>(like: T, size: number): T {
  return new (like.constructor as new (size: number) => T)(size);
}

/** Compares two lists of results. Pure functions. */

/** Where a hit is in the other list. */
export type Movement =
  | { readonly kind: 'same' }
  /** Positive: higher here than there. */
  | { readonly kind: 'moved'; readonly by: number }
  | { readonly kind: 'absent' };

/**
 * For each id of `here`, where it is in `there`.
 * @param here ids in order, like `there`
 */
export function movements(here: readonly string[], there: readonly string[]): Movement[] {
  const positions = new Map(there.map((id, position) => [id, position]));
  return here.map((id, position) => {
    const other = positions.get(id);
    if (other === undefined) return { kind: 'absent' };
    return other === position ? { kind: 'same' } : { kind: 'moved', by: other - position };
  });
}

/** Compares two lists of results. Pure functions. */

/** Where a hit is in the other list. */
export type Movement =
  | { readonly kind: 'same' }
  /** Positive: higher here than there. */
  | { readonly kind: 'moved'; readonly by: number }
  | { readonly kind: 'absent' };

/** How the first hits of a list differ from those of another. */
export interface Moves {
  readonly up: number;
  readonly down: number;
  readonly added: number;
  readonly dropped: number;
}

/** @param first number of hits that count; each is sought in the whole other list */
export function movesOf(before: readonly string[], after: readonly string[], first: number): Moves {
  const ofAfter = movements(after, before).slice(0, first);
  const moved = (sign: number): number =>
    ofAfter.filter((one) => one.kind === 'moved' && Math.sign(one.by) === sign).length;
  const absent = (list: readonly Movement[]): number =>
    list.filter(({ kind }) => kind === 'absent').length;
  return {
    up: moved(1),
    down: moved(-1),
    added: absent(ofAfter),
    dropped: absent(movements(before, after).slice(0, first)),
  };
}

/** How much a person would notice. */
export function changeOf({ up, down, added, dropped }: Moves): number {
  return up + down + added + dropped;
}

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

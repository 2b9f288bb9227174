/**
 * `movies` matches itself, `mov*` every uid that begins with `mov`, `*` every uid. Case-sensitive.
 */
export class IndexPatterns {
  readonly #exact = new Set<string>();
  readonly #prefixes = new Set<string>();
  /** Lengths of the prefixes, the longest first. */
  readonly #lengths: readonly number[];

  constructor(patterns: Iterable<string>) {
    for (const pattern of patterns) {
      if (pattern.endsWith('*')) this.#prefixes.add(pattern.slice(0, -1));
      else this.#exact.add(pattern);
    }
    const lengths = new Set([...this.#prefixes].map(({ length }) => length));
    this.#lengths = [...lengths].sort((a, b) => b - a);
  }

  matches(uid: string): boolean {
    return this.best(uid) !== undefined;
  }

  /**
   * The uid itself, or the longest pattern that matches it; undefined: none does. The cost depends
   * on the length of the uid, not on the number of patterns.
   */
  best(uid: string): string | undefined {
    if (this.#exact.has(uid)) return uid;
    for (const length of this.#lengths) {
      if (length > uid.length) continue;
      const prefix = uid.slice(0, length);
      if (this.#prefixes.has(prefix)) return `${prefix}*`;
    }
    return undefined;
  }
}

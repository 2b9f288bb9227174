/** How often each name occurs. Names may be those that every object has, such as `constructor`. */
export class Counts<Name extends string = string> {
  readonly #counts = new Map<Name, number>();

  add(name: Name): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** In the order of first occurrence; other names are absent. */
  toObject(): { [N in Name]: number } {
    return Object.fromEntries(this.#counts) as { [N in Name]: number };
  }
}

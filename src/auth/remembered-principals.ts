/** Maximum number of cached credentials. */
const COUNT_MAX = 4096;
/**
 * Maximum characters of all of them: the data derived from a tenant token takes several times as
 * many bytes.
 */
const CHARACTERS_MAX = 2 ** 20;

/** A cache of the principals of credentials; the oldest are evicted first. */
export class RememberedPrincipals<P> {
  readonly #principals = new Map<string, P>();
  #characters = 0;

  get(text: string): P | undefined {
    return this.#principals.get(text);
  }

  set(text: string, principal: P): void {
    this.delete(text);
    this.#principals.set(text, principal);
    this.#characters += text.length;
    for (const oldest of this.#principals.keys()) {
      if (this.#principals.size <= COUNT_MAX && this.#characters <= CHARACTERS_MAX) return;
      this.delete(oldest);
    }
  }

  delete(text: string): void {
    if (this.#principals.delete(text)) this.#characters -= text.length;
  }
}

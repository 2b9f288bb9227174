/** A part of the server that is open. `main.ts` opens the parts in order. */
export interface Part {
  /** Begins no further work. Called for all parts before the first one is closed. */
  end?(timeoutMs: number): Promise<unknown> | void;
  /** @param timeoutMs time in which all parts are closed */
  close(timeoutMs: number): Promise<unknown> | void;
}

/** The parts that are open. */
export class OpenParts {
  readonly #parts: Part[] = [];

  add<P extends Part>(part: P): P {
    this.#parts.push(part);
    return part;
  }

  /** Ends the work of all parts, and then closes them in reverse order. */
  async close(timeoutMs: number): Promise<void> {
    const inReverse = this.#parts.toReversed();
    await Promise.all(inReverse.map((part) => part.end?.(timeoutMs)));
    for (const part of inReverse) await part.close(timeoutMs);
  }
}

/** The phases of a server between its start and its end. */
export type PhaseName = 'starting' | 'ready' | 'stopping';

/** Set by the code that starts and stops the parts, read by requests. */
export class Phase {
  #current: PhaseName;
  /** Called after each change. */
  onChange: () => void = () => {};

  constructor(current: PhaseName = 'starting') {
    this.#current = current;
  }

  get current(): PhaseName {
    return this.#current;
  }

  set current(phase: PhaseName) {
    this.#current = phase;
    this.onChange();
  }
}

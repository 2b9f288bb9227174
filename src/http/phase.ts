/** Where a server stands between its start and its end. */
export type PhaseName = 'starting' | 'ready' | 'stopping';

/** Told by who starts and stops the parts, asked by requests. */
export class Phase {
  current: PhaseName;

  constructor(current: PhaseName = 'starting') {
    this.current = current;
  }
}

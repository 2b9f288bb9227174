/** The two batches: a change of settings, and a concurrent deletion of a document. */
export type Which = 'settings' | 'documents';

/**
 * When a process is killed: the step each batch has reached, how many the engine has committed by
 * then, and the batches of the four tasks afterwards.
 */
export const MOMENTS: Readonly<
  Record<
    string,
    {
      order: readonly (readonly [Which, 'commits' | 'recorded'])[];
      committed: number;
      batches: readonly number[];
    }
  >
> = {
  'before either is committed': { order: [], committed: 0, batches: [0, 1, 2, 3] },
  'when the documents are committed': {
    order: [['documents', 'commits']],
    committed: 1,
    batches: [0, 1, 4, 3],
  },
  'when the settings are committed': {
    order: [['settings', 'commits']],
    committed: 1,
    batches: [0, 1, 2, 3],
  },
  'when both are committed': {
    order: [
      ['settings', 'commits'],
      ['documents', 'commits'],
    ],
    committed: 2,
    batches: [0, 1, 2, 3],
  },
  'when the documents are recorded and the settings committed': {
    order: [
      ['documents', 'recorded'],
      ['settings', 'commits'],
    ],
    committed: 2,
    batches: [0, 1, 2, 3],
  },
  'when the settings are recorded and the documents committed': {
    order: [
      ['settings', 'recorded'],
      ['documents', 'commits'],
    ],
    committed: 2,
    batches: [0, 1, 2, 3],
  },
};

/** The two batches: a change of settings, and the deletion of a document beside it. */
export type Which = 'settings' | 'documents';

/**
 * Where a process is killed: what each batch has reached, how many are committed by the engine by then, and which
 * batches the four tasks are in afterwards.
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

/** The checker of histories finds each kind of wrongness, and none in a right history. */
import assert from 'node:assert/strict';
import { faultsOf } from './checker.ts';
import type { FinalNode, FinalTask, HistoryEvent, Outcome, TaskWrite } from './history.ts';

const accepted = (uid: number, commit: number): Outcome => ({ kind: 'accepted', uid, commit });
const REFUSED: Outcome = { kind: 'refused' };
const UNKNOWN: Outcome = { kind: 'unknown' };

type Times = readonly [begin: number, end: number];

const write = (
  [begin, end]: Times,
  outcome: Outcome,
  tag: string | null,
  type = 'documentAdditionOrUpdate',
  selected: TaskWrite['selected'] = null,
): HistoryEvent => ({ kind: 'task', node: 'a', begin, end, type, tag, selected, outcome });

const key = (
  [begin, end]: Times,
  method: 'create' | 'delete',
  name: string,
  outcome: Outcome,
): HistoryEvent => ({ kind: 'key', node: 'a', begin, end, method, name, outcome });

const read = (
  node: string,
  [begin, end]: Times,
  waitedFor: number | null,
  statuses: readonly string[],
): HistoryEvent => {
  const tasks = statuses.map((status, uid) => ({ uid, status }));
  return { kind: 'tasks', node, begin, end, waitedFor, tasks };
};

const keys = ([begin, end]: Times, waitedFor: number | null, names: string[]): HistoryEvent => ({
  ...{ kind: 'keys', node: 'b', begin, end, waitedFor, names },
});

const mark = (node: string, [begin, end]: Times, tag: string): HistoryEvent => ({
  ...{ kind: 'mark', node, begin, end, tag },
});

const task = (uid: number, tag: string | null, other: Partial<FinalTask> = {}): FinalTask => ({
  ...{ uid, tag, type: 'documentAdditionOrUpdate', status: 'succeeded' },
  ...{ batchUid: uid, canceledBy: null },
  ...other,
});

/** Two nodes, with the same tasks and keys. */
const nodes = (tasks: FinalTask[], names: string[] = []): FinalNode[] =>
  ['a', 'b'].map((name) => ({ name, tasks, keys: names, digests: { documents: 'same' } }));

const RIGHT: HistoryEvent[] = [
  write([0, 10], accepted(0, 5), 'x'),
  // At the same time as the next: in any order.
  write([11, 20], accepted(2, 8), 'y'),
  write([12, 19], accepted(1, 7), 'z'),
  write([21, 30], REFUSED, 'refused'),
  // One of these was done.
  write([21, 40], UNKNOWN, 'lost'),
  write([21, 41], UNKNOWN, 'done'),
  write([22, 42], UNKNOWN, null, 'indexSwap'),
  key([43, 45], 'create', 'k1', accepted(-1, 12)),
  key([43, 46], 'create', 'k2', accepted(-1, 13)),
  key([47, 48], 'delete', 'k2', accepted(-1, 14)),
  key([47, 49], 'create', 'k3', UNKNOWN),
  read('a', [5, 6], null, ['enqueued']),
  read('a', [20, 21], 8, ['succeeded', 'processing', 'enqueued']),
  // Taken back by a change of leader.
  read('a', [22, 23], 8, ['succeeded', 'enqueued', 'enqueued']),
  read('b', [30, 31], null, ['enqueued']),
  keys([46, 47], 13, ['k1', 'k2']),
  keys([50, 51], 14, ['k1', 'k3']),
  mark('a', [20, 22], 'z'),
  mark('b', [20, 22], 'x'),
  mark('a', [23, 24], 'y'),
];
const TASKS: FinalTask[] = [
  ...[task(0, 'x'), task(1, 'z'), task(2, 'y'), task(3, 'done', { status: 'failed' })],
  task(4, null, { type: 'indexSwap' }),
];

/** Statuses of tasks 0 to 4. */
const REST = Array<string>(5).fill('succeeded');

/** Task 5 is canceled by task 6, after the right history. */
const CANCELATION: HistoryEvent[] = [
  write([70, 71], accepted(5, 30), 'w'),
  write([72, 73], accepted(6, 31), '?q', 'taskCancelation', [5]),
  read('a', [74, 75], null, [...REST, 'enqueued', 'enqueued']),
  read('a', [76, 77], null, [...REST, 'canceled', 'succeeded']),
];
const canceled = (task5: Partial<FinalTask>, task6: Partial<FinalTask> = {}): FinalNode[] =>
  nodes(
    [
      ...TASKS,
      task(5, 'w', { status: 'canceled', batchUid: 6, canceledBy: 6, ...task5 }),
      task(6, '?q', { type: 'taskCancelation', ...task6 }),
    ],
    ['k1', 'k3'],
  );

describe('The checker of histories', () => {
  it('finds nothing in a history that is right', () => {
    assert.deepEqual(faultsOf(RIGHT, nodes(TASKS, ['k1', 'k3'])), []);
    assert.deepEqual(faultsOf(RIGHT, nodes(TASKS.slice(0, 3), ['k1'])), []);
    assert.deepEqual(faultsOf([...RIGHT, ...CANCELATION], canceled({})), []);
    // It had ended before.
    const early = { status: 'succeeded', batchUid: 5, canceledBy: null };
    assert.deepEqual(faultsOf([...RIGHT, ...CANCELATION.slice(0, 2)], canceled(early)), []);
  });

  /** What is added to the right history, or what there is in the end instead; and the fault. */
  const WRONG: Record<string, { events?: HistoryEvent[]; final?: FinalNode[]; fault: RegExp }> = {
    'a later write with an earlier uid': {
      events: [write([50, 60], accepted(5, 20), 'p'), write([61, 70], accepted(3, 21), 'done')],
      final: nodes([...TASKS, task(5, 'p')], ['k1']),
      fault: /is task 3, after the response to 5/,
    },
    'a later write with an earlier commit': {
      events: [write([50, 60], accepted(5, 6), 'p')],
      final: nodes([...TASKS, task(5, 'p')], ['k1']),
      fault: /is commit 6, after the response to 14/,
    },
    'a later write with the same commit': {
      events: [key([50, 60], 'create', 'k4', accepted(-1, 14))],
      final: nodes(TASKS, ['k1', 'k4']),
      fault: /is commit 14, after the response to 14/,
    },
    'an accepted task that is lost': {
      events: [write([50, 60], accepted(5, 20), 'p')],
      fault: /task 5 was accepted and is lost/,
    },
    'a uid that was given twice': {
      events: [write([11, 21], accepted(1, 9), 'z')],
      fault: /two writes were accepted as task 1/,
    },
    'a task that became another one': {
      final: nodes([task(0, 'other'), ...TASKS.slice(1)], ['k1']),
      fault: /task 0 is .* other, not .* x/,
    },
    'a task that never ends': {
      final: nodes([task(0, 'x', { status: 'processing' }), ...TASKS.slice(1)], ['k1']),
      fault: /task 0 has the status processing/,
    },
    'a gap in the uids': {
      final: nodes([...TASKS.slice(0, 3), { ...TASKS[3]!, uid: 4 }], ['k1']),
      fault: /task 3 of the list has the uid 4/,
    },
    'a write that was done twice': {
      final: nodes([...TASKS, task(5, 'x')], ['k1']),
      fault: /task 5 was refused, never sent, or is there twice/,
    },
    'an uncertain write that was done twice': {
      final: nodes([...TASKS, task(5, 'done')], ['k1']),
      fault: /task 5 was refused, never sent, or is there twice/,
    },
    'an uncertain write without a tag that was done twice': {
      final: nodes([...TASKS, task(5, null, { type: 'indexSwap' })], ['k1']),
      fault: /task 5 was refused, never sent, or is there twice/,
    },
    'a refused write that was done': {
      final: nodes([...TASKS, task(5, 'refused')], ['k1']),
      fault: /task 5 was refused, never sent, or is there twice/,
    },
    'a task that ran after it was canceled': {
      events: CANCELATION.slice(0, 2),
      final: canceled({ status: 'succeeded', batchUid: 7, canceledBy: null }),
      fault: /task 5 ran in batch 7 after 6 canceled it/,
    },
    'a task of a kind that ran after all of them were canceled': {
      events: [
        write([70, 71], accepted(5, 30), 'w'),
        write([72, 73], accepted(6, 31), '?q', 'taskCancelation', 'additions'),
      ],
      final: canceled({ status: 'failed', batchUid: 7, canceledBy: null }),
      fault: /task 5 ran in batch 7 after 6 canceled it/,
    },
    'a canceled task that shows another result': {
      events: CANCELATION.slice(0, 2),
      final: canceled({ status: 'succeeded' }),
      fault: /task 5 is succeeded by 6, which has not canceled it/,
    },
    'a task that nobody has canceled': {
      events: CANCELATION.slice(0, 2),
      final: canceled({ canceledBy: null }),
      fault: /task 5 is canceled by null/,
    },
    'a task that something else has canceled': {
      events: CANCELATION.slice(0, 2),
      final: canceled({ canceledBy: 4 }),
      fault: /task 5 is canceled by 4/,
    },
    'a task whose cancelation was canceled': {
      events: CANCELATION.slice(0, 2),
      final: canceled({}, { status: 'failed' }),
      fault: /task 5 is canceled by 6/,
    },
    'a task that was canceled in another batch': {
      events: CANCELATION.slice(0, 2),
      final: canceled({ batchUid: 5 }),
      fault: /task 5 is canceled by 6/,
    },
    'a node that shows a cancelation without its effect': {
      events: [
        ...CANCELATION.slice(0, 2),
        read('b', [74, 75], null, [...REST, 'enqueued', 'succeeded']),
      ],
      final: canceled({}),
      fault: /b shows task 5 as enqueued, its cancelation as succeeded/,
    },
    'a node that shows the effect of a cancelation too early': {
      events: [
        ...CANCELATION.slice(0, 2),
        read('b', [74, 75], null, [...REST, 'canceled', 'enqueued']),
      ],
      final: canceled({}),
      fault: /b shows task 5 as canceled, its cancelation as enqueued/,
    },
    'a read that waits and does not show the write': {
      events: [read('b', [50, 51], 8, ['succeeded', 'succeeded'])],
      fault: /b has waited for commit 8 and lacks task 2/,
    },
    'a node whose list of tasks goes back': {
      events: [read('a', [50, 51], null, ['succeeded', 'succeeded'])],
      fault: /a shows task 1 as the newest after task 2/,
    },
    'a node on which an ended task begins again': {
      events: [read('a', [50, 51], null, ['processing', 'enqueued', 'enqueued'])],
      fault: /a shows task 0 as processing after succeeded/,
    },
    'a node on which an ended task ends otherwise': {
      events: [read('a', [50, 51], null, ['failed', 'enqueued', 'enqueued'])],
      fault: /a shows task 0 as failed after succeeded/,
    },
    'a node on which a document goes back': {
      events: [mark('a', [50, 51], 'z')],
      fault: /a shows the mark of task 1 after that of 2/,
    },
    'a document that no task has written': {
      events: [mark('b', [50, 51], 'lost')],
      fault: /b shows the mark of lost, which is no task/,
    },
    'an accepted key that is lost': {
      final: nodes(TASKS, []),
      fault: /the key k1 was accepted and is lost/,
    },
    'a refused key that is there': {
      events: [key([50, 51], 'create', 'k4', REFUSED)],
      final: nodes(TASKS, ['k1', 'k4']),
      fault: /the key k4 was refused and is there/,
    },
    'a key that was never sent': {
      final: nodes(TASKS, ['k1', 'k9']),
      fault: /the key k9 was never sent/,
    },
    'a key that is there twice': {
      final: nodes(TASKS, ['k1', 'k1']),
      fault: /a key is there twice/,
    },
    'a deleted key that is there': {
      final: nodes(TASKS, ['k1', 'k2']),
      fault: /the key k2 was deleted and is there/,
    },
    'a read that waits and does not show the key': {
      events: [keys([60, 61], 12, [])],
      fault: /b has waited for commit 12 and does not show the key k1/,
    },
    'a read that waits and shows a deleted key': {
      events: [keys([60, 61], 14, ['k1', 'k2'])],
      fault: /b has waited for commit 14 and shows the deleted key k2/,
    },
    'nodes with other tasks': {
      final: [nodes(TASKS, ['k1'])[0]!, nodes(TASKS.slice(0, 4), ['k1'])[1]!],
      fault: /b and a differ in tasks/,
    },
    'nodes with other keys': {
      final: [nodes(TASKS, ['k1'])[0]!, nodes(TASKS, ['k1', 'k3'])[1]!],
      fault: /b and a differ in keys/,
    },
    'nodes with other documents': {
      final: [
        nodes(TASKS, ['k1'])[0]!,
        { ...nodes(TASKS, ['k1'])[1]!, digests: { documents: 'other' } },
      ],
      fault: /b and a differ in documents/,
    },
    'a node without an index': {
      final: [nodes(TASKS, ['k1'])[0]!, { ...nodes(TASKS, ['k1'])[1]!, digests: {} }],
      fault: /b and a differ in documents/,
    },
  };
  for (const [what, { events = [], final = nodes(TASKS, ['k1']), fault }] of Object.entries(
    WRONG,
  )) {
    it(`finds ${what}`, () => {
      const faults = faultsOf([...RIGHT, ...events], final);
      assert.equal(
        faults.some((one) => fault.test(one)),
        true,
        faults.join(),
      );
    });
  }
});

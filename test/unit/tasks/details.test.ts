import { rfc3339 } from '../../../src/base/clock.ts';
import assert from 'node:assert/strict';
import type { ExactDates, TaskDetails, TaskStatus } from '../../../src/contract/tasks.ts';
import type { BatchView } from '../../../src/contract/responses.ts';
import type { TaskRow } from '../../../src/contract/task-types.ts';
import { BatchDetails, detailsOf } from '../../../src/tasks/details.ts';
import { Progress, shortDuration } from '../../../src/tasks/progress.ts';
import { batchView } from '../../../src/tasks/view.ts';

describe('details of a task', () => {
  const edition: TaskRow = {
    type: 'documentEdition',
    function: 'doc.a = 1',
    context: null,
    filter: ['a = 1'],
  };
  const matched = { originalFilter: '?uids=1', matchedTasks: 3, matched: [0, 3] };
  const exported: TaskRow = {
    type: 'export',
    url: 'http://x',
    apiKey: '0123456789abcdef',
    payloadSizeBytes: 50 * 2 ** 20,
    indexes: { '*': { filter: null, overrideSettings: false } },
  };
  const ROWS: [string, TaskRow, TaskStatus, number | null, TaskDetails | null][] = [
    [
      'edition before',
      edition,
      'enqueued',
      null,
      {
        deletedDocuments: null,
        editedDocuments: null,
        context: null,
        function: 'doc.a = 1',
        originalFilter: '["a = 1"]',
      },
    ],
    [
      'edition done, its counters are part of the outcome',
      edition,
      'succeeded',
      4,
      {
        deletedDocuments: null,
        editedDocuments: null,
        context: null,
        function: 'doc.a = 1',
        originalFilter: '["a = 1"]',
      },
    ],
    [
      'edition failed',
      edition,
      'failed',
      0,
      {
        deletedDocuments: null,
        editedDocuments: 0,
        context: null,
        function: 'doc.a = 1',
        originalFilter: '["a = 1"]',
      },
    ],
    [
      'edition without filter',
      { ...edition, filter: null },
      'failed',
      0,
      {
        deletedDocuments: null,
        editedDocuments: 0,
        context: null,
        function: 'doc.a = 1',
        originalFilter: null,
      },
    ],
    [
      'deletion of ids',
      { type: 'documentDeletion', by: 'ids', ids: 3 },
      'enqueued',
      null,
      { providedIds: 3, deletedDocuments: null, originalFilter: null },
    ],
    [
      'deletion of all',
      { type: 'documentDeletion', by: 'all' },
      'canceled',
      0,
      { deletedDocuments: 0 },
    ],
    [
      'cancelation',
      { type: 'taskCancelation', ...matched },
      'succeeded',
      2,
      { matchedTasks: 3, canceledTasks: 2, originalFilter: '?uids=1' },
    ],
    [
      'deletion of tasks',
      { type: 'taskDeletion', ...matched },
      'enqueued',
      null,
      { matchedTasks: 3, deletedTasks: null, originalFilter: '?uids=1' },
    ],
    ['dump', { type: 'dumpCreation' }, 'enqueued', null, { dumpUid: null }],
    ['snapshot', { type: 'snapshotCreation' }, 'succeeded', null, null],
    [
      'export',
      exported,
      'enqueued',
      null,
      {
        url: 'http://x',
        apiKey: '01XXXX...',
        payloadSize: '50 MiB',
        indexes: { '*': { filter: null, overrideSettings: false } },
      },
    ],
    [
      'export without a size',
      { ...exported, apiKey: null, payloadSizeBytes: null },
      'failed',
      null,
      { url: 'http://x', indexes: { '*': { filter: null, overrideSettings: false } } },
    ],
    [
      'swap',
      { type: 'indexSwap', swaps: [{ pair: [0, 1], rename: true }] },
      'enqueued',
      null,
      { swaps: [{ indexes: ['n0', 'n1'], rename: true }] },
    ],
  ];
  for (const [name, row, status, result, expected] of ROWS) {
    it(name, () => {
      const details = detailsOf(row, status, result, (number) => `n${number}`);
      assert.deepEqual(details, expected);
      if (details !== null) assert.deepEqual(Object.keys(details), Object.keys(expected!));
    });
  }
});

describe('details of a batch', () => {
  const ROWS: [string, (TaskDetails | null)[], TaskDetails][] = [
    [
      'counters are added, null counts as absent',
      [
        { receivedDocuments: 2, indexedDocuments: 1 },
        { receivedDocuments: 3, indexedDocuments: null },
      ],
      { receivedDocuments: 5, indexedDocuments: 1 },
    ],
    [
      'kinds are united',
      [{ receivedDocuments: 2 }, { providedIds: 1, deletedDocuments: 1, originalFilter: null }],
      { receivedDocuments: 2, providedIds: 1, deletedDocuments: 1 },
    ],
    [
      'filters are joined',
      [{ originalFilter: '"a"' }, { originalFilter: null }, { originalFilter: '"b"' }],
      { originalFilter: '"a"&"b"' },
    ],
    [
      'of settings the later wins, numbers too',
      [{ searchCutoffMs: 5, stopWords: ['a'] }, { searchCutoffMs: 7 }],
      { searchCutoffMs: 7, stopWords: ['a'] },
    ],
    ['a later reset wins as well', [{ stopWords: ['a'] }, { stopWords: null }], {}],
    ['swaps are put together', [{ swaps: [1] }, { swaps: [2] }], { swaps: [1, 2] }],
    ['of a key the first wins', [{ primaryKey: 'a' }, { primaryKey: 'b' }], { primaryKey: 'a' }],
    ['nothing to show', [{ primaryKey: null }, null], {}],
  ];
  for (const [name, given, expected] of ROWS) {
    it(name, () => {
      const details = new BatchDetails();
      for (const one of given) details.add(one);
      assert.deepEqual(details.result(true), expected);
    });
  }

  it('while it runs, nulls are shown', () => {
    const details = new BatchDetails();
    details.add({ receivedDocuments: 1, indexedDocuments: null });
    assert.deepEqual(details.result(false), { receivedDocuments: 1, indexedDocuments: null });
  });
});

describe('progress', () => {
  it('adds up steps within steps', () => {
    let now = 0;
    const progress = new Progress(() => now);
    progress.enter(0, 'processing tasks', 0, 2);
    now = 5;
    progress.enter(1, 'retrieving config', 0, 3);
    now = 10;
    progress.enter(1, 'indexing', 2, 3);
    progress.inner = () => ({ steps: [{ currentStep: 'document', finished: 5, total: 10 }] });
    const view = progress.view();
    assert.deepEqual(
      view.steps.map(({ currentStep }) => currentStep),
      ['processing tasks', 'indexing', 'document'],
    );
    assert.ok(Math.abs(view.percentage.value - 100 * (0 + 2 / 6 + 5 / 60)) < 1e-9);
    now = 12;
    const soFar = {
      'processing tasks': '12.00ms',
      'processing tasks > indexing': '2.00ms',
      'processing tasks > retrieving config': '5.00ms',
    };
    assert.deepEqual(progress.traceSoFar(), soFar);
    assert.deepEqual(progress.traceSoFar(), soFar, 'nothing has ended by that');
    now = 30;
    progress.inner = null;
    progress.enter(0, 'writing tasks to disk', 1, 2);
    now = 31;
    assert.deepEqual(progress.trace(), {
      'processing tasks': '30.00ms',
      'processing tasks > indexing': '20.00ms',
      'processing tasks > retrieving config': '5.00ms',
      'writing tasks to disk': '1.00ms',
    });
  });

  it('survives an engine that no longer knows the batch', () => {
    const progress = new Progress();
    progress.enter(0, 'processing tasks', 0, 2);
    progress.inner = () => {
      throw new Error('closed');
    };
    assert.equal(progress.view().steps.length, 1);
  });

  it('times are short', () => {
    const ROWS: [number, string][] = [
      [1200, '1.20s'],
      [12.34, '12.34ms'],
      [0.01234, '12.34µs'],
      [0.00085, '850.00ns'],
    ];
    for (const [ms, text] of ROWS) assert.equal(shortDuration(ms), text);
  });
});

describe('times of tasks', () => {
  const START = Date.parse('2025-03-01T09:30:12.345Z');
  it('always show microseconds, so that they sort as texts', () => {
    assert.equal(rfc3339(START), '2025-03-01T09:30:12.345000Z');
    assert.equal(rfc3339(START + 0.001), '2025-03-01T09:30:12.345001Z');
    assert.equal(rfc3339(START + 0.999), '2025-03-01T09:30:12.345999Z');
  });

  it('differ by a duration', () => {
    const batch = (startedAt: number, finishedAt: number, exactDates?: ExactDates): BatchView =>
      batchView(1, {
        ...{ startedAt, finishedAt, strategy: '', details: {} },
        stats: { totalNbTasks: 1, status: {}, types: {}, indexUids: {} },
        ...(exactDates !== undefined && { exactDates }),
      });
    assert.equal(batch(START, START + 1.873).duration, 'PT0.001873S');
    assert.equal(batch(START, START + 3_700_500).duration, 'PT3700.500S');
    assert.equal(batch(START, START).duration, 'PT0S');
    assert.equal(batch(START, START - 1).duration, null);
    const exact = batch(START, START + 1, { finishedAt: '2025-03-01T09:30:12.346000001Z' });
    assert.equal(exact.duration, 'PT0.001000001S');
    assert.equal(exact.finishedAt, '2025-03-01T09:30:12.346000001Z');
    assert.equal(exact.startedAt, '2025-03-01T09:30:12.345000Z');
  });
});

describe('details of a batch that are stored with credentials', () => {
  it('are shown without them', () => {
    const rest = { apiKey: '0123456789abcdef', headers: { 'X-Key': 'k' }, url: 'http://u:p@h/' };
    const view = batchView(0, {
      details: {
        ...{ url: 'http://u:p@h/x', apiKey: '01XXXX...' },
        embedders: { e: rest, c: { searchEmbedder: rest }, gone: null },
      },
      stats: { types: {} },
      ...{ startedAt: 0, finishedAt: 1 },
    } as unknown as Parameters<typeof batchView>[1]);
    const shown = {
      ...{ apiKey: '01XXXX...', headers: { 'X-Key': 'XXX...' }, url: 'http://XXX...:XXX...@h/' },
    };
    assert.deepEqual(view.details, {
      ...{ url: 'http://XXX...:XXX...@h/x', apiKey: '01XXXX...' },
      embedders: { e: shown, c: { searchEmbedder: shown }, gone: null },
    });
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TaskRequest } from '../../../src/contract/tasks.ts';
import type { TaskView } from '../../../src/contract/responses.ts';
import { bundledChild } from '../../support/bundled-child.ts';
import { add } from '../../support/task-system.ts';
import { CRASHES_MAX, KILLS_MAX } from '../../../src/store/crash-record.ts';

const CHILD = bundledChild('dying-child.ts');

/** One batch of documents, if none of them were deadly. */
const ADDITIONS: TaskRequest[] = [0, 1, 2, 3, 4, 5].map((id) => add('books', [{ id }]));

/** The deadly task runs in a batch of its own. */
const MIXED: TaskRequest[] = [
  add('books', [{ id: 0 }]),
  add('books', [{ id: 1 }]),
  { type: 'indexCreation', indexUid: 'other', primaryKey: null },
  { type: 'indexCompaction', indexUid: 'books' },
  add('books', [{ id: 4 }]),
];

const EXPORT: TaskRequest = {
  ...{ type: 'export', url: 'http://other.test', apiKey: null },
  ...{ payloadSizeBytes: null, indexes: {} },
};

type End = { tasks: TaskView[]; logged: string[]; documents: unknown[] };

describe('A task that ends the process', function () {
  this.timeout(120_000);

  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-deadly-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  /** Runs the server once. @returns null when it died, else how its tasks ended */
  function live(death: string, requests: TaskRequest[] = []): End | null {
    const child = spawnSync(process.execPath, [CHILD, dir, death, JSON.stringify(requests)], {
      encoding: 'utf8',
    });
    return child.status === 0 ? (JSON.parse(child.stdout) as End) : null;
  }

  /** Uids of the tasks that did not succeed. */
  function failed(end: End | null): number[] | undefined {
    return end?.tasks.filter(({ status }) => status !== 'succeeded').map(({ uid }) => uid);
  }

  for (const death of ['abort', 'throw', 'SIGSEGV', 'SIGILL', 'SIGBUS', 'SIGFPE', 'SIGTRAP']) {
    it(`by ${death} fails after it has crashed it ${CRASHES_MAX} times, and the others run`, () => {
      assert.equal(live(death, MIXED), null);
      assert.equal(live(death), null);
      const end = live(death)!;
      assert.deepEqual(failed(end), [3]);
      const { error } = end.tasks[3]!;
      assert.equal(error?.code, 'task_crashed');
      assert.match(error!.message, /crashed 2 times while it ran this task/);
      assert.ok(end.logged.some((line) => line.includes('crashed while it ran task 3')));
      assert.equal(live('never')!.tasks.length, MIXED.length, 'the server starts again and again');
    });
  }

  it('is found among those of its batch, which are applied in order', () => {
    assert.equal(live('abort', ADDITIONS), null);
    assert.equal(live('abort'), null);
    const end = live('abort')!;
    assert.deepEqual(failed(end), [3]);
    assert.deepEqual(end.documents, [{ id: 0 }, { id: 1 }, { id: 2 }, { id: 4 }, { id: 5 }]);
    const alone = end.tasks.map(({ batchUid }) => batchUid);
    assert.equal(new Set(alone).size, ADDITIONS.length, 'each has a batch of its own');
  });

  it('does not fail an export that waits meanwhile', () => {
    const requests = [EXPORT, ...MIXED.slice(1)];
    assert.equal(live('abort', requests), null);
    assert.equal(live('abort'), null);
    assert.deepEqual(failed(live('abort')), [3]);
  });

  it('is found when it is a waiting export', () => {
    const requests = [...MIXED.slice(0, 3), EXPORT, MIXED[4]!];
    assert.equal(live('abort', requests), null);
    assert.equal(live('abort'), null);
    const end = live('abort')!;
    assert.deepEqual(failed(end), [3]);
    assert.equal(end.tasks[3]!.error?.code, 'task_crashed');
  });

  it('once is retried, and may succeed', () => {
    assert.equal(live('abort', ADDITIONS), null);
    assert.deepEqual(failed(live('never')), []);
  });

  it('is not blamed for kills, unless they keep happening', () => {
    assert.equal(live('SIGKILL', ADDITIONS), null);
    for (let kills = 1; kills < KILLS_MAX; kills++) assert.equal(live('SIGKILL'), null);
    const end = live('SIGKILL')!;
    assert.deepEqual(failed(end), [3]);
    assert.match(end.tasks[3]!.error!.message, /ended 10 times without a trace/);
  });

  it('is not blamed when the server exits by itself', () => {
    for (let end = 0; end < CRASHES_MAX + 1; end++) {
      assert.equal(live('exit', end === 0 ? ADDITIONS : []), null);
    }
    const end = live('never')!;
    assert.deepEqual(failed(end), []);
    assert.equal(new Set(end.tasks.map(({ batchUid }) => batchUid)).size, 1, 'in one batch');
  });

  it('is not blamed when the machine stops', () => {
    for (let crash = 0; crash < CRASHES_MAX + 1; crash++) {
      assert.equal(live('abort', crash === 0 ? ADDITIONS : []), null);
      const file = join(dir, 'running');
      const text = readFileSync(file, 'latin1').replace(/"boot":"[^"]*"/, '"boot":"another"');
      writeFileSync(file, text, 'latin1');
    }
    assert.deepEqual(failed(live('never')), []);
  });

  it('when memory runs out counts as a crash, although the kernel sends SIGKILL', () => {
    for (let crash = 0; crash < CRASHES_MAX; crash++) {
      assert.equal(live('SIGKILL', crash === 0 ? ADDITIONS : []), null);
      const file = join(dir, 'running');
      // As if another process had been killed since then.
      const text = readFileSync(file, 'latin1').replace(/"outOfMemory":\d+/, '"outOfMemory":-1');
      writeFileSync(file, text, 'latin1');
    }
    assert.equal(live('SIGKILL')!.tasks[3]!.error?.code, 'task_crashed');
  });

  for (const [name, text] of [
    ['cut off', '! {"boot":"'],
    ['empty', ''],
    ['of zeros', '\0'.repeat(100)],
    ['of another form', '!{}\n'],
    ['of another form still', '!{"boot":1,"batches":{"a":1}}\n'],
    ['nothing but a mark', '!'],
  ] as const) {
    it(`is not blamed because of a file that is ${name}`, () => {
      for (let crash = 0; crash < CRASHES_MAX; crash++) {
        assert.equal(live('abort', crash === 0 ? ADDITIONS : []), null);
        writeFileSync(join(dir, 'running'), text);
        writeFileSync(join(dir, 'suspects'), text);
      }
      assert.deepEqual(failed(live('never')), []);
    });
  }
});

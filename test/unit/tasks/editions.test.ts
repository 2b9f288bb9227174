/** Uses an engine in memory, and a fake of the editing process. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import type { EditSession, ScriptProcesses } from '../../../src/rhai/script-process.ts';
import { editionRunner } from '../../../src/tasks/run/edit.ts';
import { add, TestTaskSystem } from '../../support/task-system.ts';

describe('Editing documents by a function', () => {
  let test: TestTaskSystem;
  let session: EditSession;

  beforeEach(async () => {
    const scripts = { open: async () => session } as unknown as ScriptProcesses;
    test = await TestTaskSystem.open({ runners: { documentEdition: editionRunner(scripts) } });
    await test.run(add('books', [{ id: 1 }]));
  });
  afterEach(() => test.remove());

  it('fails when the edited documents cannot be written, and others run', async () => {
    const ndjson = Buffer.from('{"id":1,"a":1}\n');
    session = {
      edit: async (_, onPart) => {
        // Lets the file report its error, which takes some iterations of the event loop.
        await new Promise((done) => setTimeout(done, 20));
        await onPart({ ndjson, edited: 1, deleted: [] });
      },
      cpuMs: () => 0,
      stop: () => {},
      close: () => {},
    };
    // An unhandled rejection would end the server.
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    mkdirSync(`${test.system.taskStore.payloadFile(1)}.edited`);
    const task = await test.run({
      type: 'documentEdition',
      indexUid: 'books',
      function: '',
      context: null,
      filter: null,
    });
    assert.equal(task.status, 'failed');
    assert.match(task.error!.message, /EISDIR/);
    assert.deepEqual(await test.documents('books'), [{ id: 1 }]);
    assert.equal((await test.run(add('books', [{ id: 2 }]))).status, 'succeeded');
    process.off('unhandledRejection', note);
    assert.deepEqual(unhandled, []);
  });

  it('fails when the documents become far too long, and does not write them', async () => {
    session = {
      // Never written, so it takes no memory.
      edit: (_, onPart) =>
        onPart({ ndjson: Buffer.allocUnsafeSlow(2 ** 30 + 1), edited: 1, deleted: [] }),
      cpuMs: () => 0,
      stop: () => {},
      close: () => {},
    };
    const task = await test.run({
      type: 'documentEdition',
      indexUid: 'books',
      function: '',
      context: null,
      filter: null,
    });
    assert.match(task.error!.message, /more than 10 times as long/);
    assert.deepEqual(await test.documents('books'), [{ id: 1 }]);
  });
});

import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

/** Runs for an hour or so. */
const SLOW = 'let x = 0; while x < 150_000 { x += 1; }';
const DOCUMENTS = 10_000;

describe('A task during which the server dies', function () {
  this.timeout(120_000);

  let server: BuiltServer;
  let slow: number;

  beforeEach(async () => {
    server = await startBuiltServer();
    const body = { editDocumentsByFunction: true };
    await server.call('PATCH', '/experimental-features', { body });
    const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({ id }));
    await server.finish('POST', '/indexes/books/documents', { body: documents });
    const edit = await server.call('POST', '/indexes/books/documents/edit', {
      body: { function: SLOW },
    });
    slow = edit.json.taskUid;
    await server.call('POST', '/indexes/books/documents', { body: [{ id: -1 }] });
  });
  afterEach(() => server.close());

  async function die(signal: NodeJS.Signals): Promise<void> {
    const path = `/tasks/${slow}`;
    while ((await server.call('GET', path)).json.status !== 'processing');
    await server.kill(signal);
    await server.restart();
  }

  it('fails after two crashes, and the next one runs', async () => {
    await die('SIGABRT');
    await die('SIGSEGV');
    const task = await server.ended(slow);
    assert.deepEqual([task.status, task.error?.code], ['failed', 'task_crashed']);
    await server.idle();
    assert.equal((await server.call('GET', '/indexes/books/documents/-1')).status, 200);
  });

  it('goes on after kills', async () => {
    for (const signal of ['SIGKILL', 'SIGKILL', 'SIGABRT', 'SIGKILL'] as const) await die(signal);
    assert.equal((await server.call('GET', `/tasks/${slow}`)).json.error, null);
    await server.call('POST', `/tasks/cancel?uids=${slow}`);
    assert.equal((await server.ended(slow)).status, 'canceled');
  });
});

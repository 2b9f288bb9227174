/** Pages of tasks and batches with a limit that nobody could be answered at once. */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('A page of tasks', () => {
  let server: BuiltServer;
  const COUNT = 1100;
  before(async () => {
    server = await startBuiltServer(['--experimental-max-number-of-batched-tasks', '2']);
    for (let i = 0; i < COUNT; i++) await server.call('DELETE', '/indexes/none/documents');
    await server.idle();
  });
  after(() => server.close());

  it('has a greatest size, and says what follows', async () => {
    const { json } = await server.call('GET', '/tasks?limit=4294967295');
    assert.equal(json.results.length, 1000);
    assert.equal(json.limit, 4294967295);
    assert.equal(json.total, COUNT);
    const rest = await server.call('GET', `/tasks?limit=4294967295&from=${json.next}`);
    assert.equal(rest.json.results.length, COUNT - 1000);
    assert.equal(rest.json.next, null);
  });

  it('and one of batches has', async () => {
    const { json } = await server.call('GET', '/batches?limit=1000000');
    assert.equal(json.results.length, 200);
    const rest = await server.call('GET', `/batches?limit=1000000&from=${json.next}`);
    assert.ok(rest.json.results.length > 0);
    assert.ok(rest.json.results[0].uid < json.results.at(-1).uid);
  });
});

/** A process with a low limit of open files keeps fewer indexes open, and serves all of them. */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

const FILES = 256;
/** More than can be open at once. */
const INDEXES = 100;

describe('A server that may have few files open', () => {
  let server: BuiltServer;
  before(async () => (server = await startBuiltServer([], {}, FILES)));
  after(() => server.close());

  it('writes and reads more indexes than could be open at once', async () => {
    const uids = Array.from({ length: INDEXES }, (_, n) => `index-${n}`);
    for (const uid of uids) {
      const body = [{ id: 1, title: `hello ${uid}` }];
      await server.call('POST', `/indexes/${uid}/documents`, { body });
    }
    await server.idle();
    const failed = await server.call('GET', '/tasks?statuses=failed');
    assert.equal(failed.json.total, 0, JSON.stringify(failed.json.results[0]?.error));
    for (const uid of uids) {
      const { json } = await server.call('POST', `/indexes/${uid}/search`, {
        body: { q: 'hello' },
      });
      assert.equal(json.hits?.[0].title, `hello ${uid}`, JSON.stringify(json));
    }
  });
});

/** The version that a built server reports. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('GET /version of a built server', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
  });
  after(() => server.close());

  it('responds to HEAD for a listing that is sent in parts', async () => {
    const body = Array.from({ length: 2000 }, (_, id) => ({ id, text: 'x'.repeat(500) }));
    await server.finish('POST', '/indexes/a/documents', { body });
    const headers = { authorization: `Bearer ${server.masterKey}` };
    for (const path of ['/indexes/a/documents?limit=2000', '/indexes/a/search?q=']) {
      for (let n = 0; n < 3; n++) {
        const head = await fetch(server.url + path, { method: 'HEAD', headers });
        assert.deepEqual([head.status, await head.text()], [200, '']);
        const { status, json } = await server.call('GET', path);
        assert.deepEqual([status, (json.results ?? json.hits).length > 1], [200, true]);
      }
    }
    const { json } = await server.call('GET', '/indexes/a/documents?limit=2000');
    assert.equal(json.results.length, 2000);
  });

  it('names the commit that was built', async () => {
    const { json } = await server.call('GET', '/version');
    const version = json as Record<string, string>;
    assert.equal(version.pkgVersion, '1.50.0');
    const { version: own } = JSON.parse(readFileSync('package.json', 'utf8'));
    assert.deepEqual([version.serverName, version.serverVersion], ['Gannet', own]);
    if (!existsSync('.git')) return;
    assert.match(version.commitSha!, /^[0-9a-f]{40}$/);
    assert.ok(Date.parse(version.commitDate!) > 0, version.commitDate);
  });
});

/** What a built server tells of itself. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('GET /version of a built server', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
  });
  after(() => server.close());

  it('names the commit that was built', async () => {
    const { json } = await server.call('GET', '/version');
    const version = json as Record<string, string>;
    assert.match(version.pkgVersion!, /^\d+\.\d+\.\d+$/);
    if (!existsSync('.git')) return;
    assert.match(version.commitSha!, /^[0-9a-f]{40}$/);
    assert.ok(Date.parse(version.commitDate!) > 0, version.commitDate);
  });
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { settle } from './support/compare.ts';
import { addonIsBuilt, ServerProcess } from './support/server-process.ts';

describe('two servers on one folder', function () {
  this.timeout(120_000);

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });

  it('lets the first go on and refuses the second, by whatever path, until the first is dead', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'gannet-two-'));
    const dir = join(parent, 'data');
    const first = await ServerProcess.start({ dir, port: await freePort() });
    try {
      const link = join(parent, 'link');
      symlinkSync(dir, link);
      for (const path of [dir, link]) {
        const second = new ServerProcess({ dir: path, port: await freePort() });
        assert.equal(await second.exited, 1);
        assert.match(second.stderr, /in use by another process/);
      }
      const added = await first.client.call('POST', '/indexes/a/documents', {
        body: [{ id: '1', title: 'one' }],
      });
      assert.equal(added.status, 202);
      await settle(first.client);
      await first.kill();

      const second = await ServerProcess.start({ dir: link, port: await freePort() });
      const document = await second.client.get<unknown>('/indexes/a/documents/1');
      assert.deepEqual(document, { id: '1', title: 'one' });
      assert.equal(await second.stop(), 0);
    } finally {
      if (!first.hasExited) await first.kill();
    }
    rmSync(parent, { recursive: true });
  });
});

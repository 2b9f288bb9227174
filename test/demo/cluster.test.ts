import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { HAS_ETCD } from '../support/etcd.ts';

describe('The demonstration of a cluster', () => {
  it('keeps every acknowledged book when the leader is killed', async function () {
    if (!HAS_ETCD || !existsSync('dist/main.cjs')) this.skip();
    const demo = spawn(process.execPath, ['--import=tsx', 'test/demo/demo.ts', '--cluster'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [printed, [status]] = await Promise.all([text(demo.stdout), once(demo, 'exit')]);
    assert.equal(status, 0, printed);
    assert.equal(printed.match(/has 431 of 431 acknowledged books/g)?.length, 2, printed);
    assert.match(printed, /The leader, node-\d, is killed/);
    assert.match(printed, / 0 failed/);
  });
});

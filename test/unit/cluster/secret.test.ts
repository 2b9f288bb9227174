import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterSecret } from '../../../src/cluster/secret.ts';

describe('The keys of a cluster that a node keeps', () => {
  let dir = '';
  let path = '';
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-secret-'));
    path = join(dir, 'cluster-key');
  });
  after(() => rmSync(dir, { recursive: true }));

  it('are those of the slow derivation, at its cost only once', async () => {
    const slow = await new ClusterSecret('master key').keysOf('salt');
    assert.deepEqual(await new ClusterSecret('master key', path).keysOf('salt'), slow);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const kept = readFileSync(path);
    for (const secret of ['master key', slow.objects, slow.entries]) {
      assert.equal(kept.includes(secret), false);
    }
    const before = process.cpuUsage();
    assert.deepEqual(await new ClusterSecret('master key', path).keysOf('salt'), slow);
    const quick = process.cpuUsage(before).user;
    await new ClusterSecret('master key').keysOf('salt');
    const both = process.cpuUsage(before).user;
    assert.ok(quick < (both - quick) / 5, `${quick} of ${both}`);
  });

  it('are derived again for another secret, another cluster, and from a file that is torn', async () => {
    const other = await new ClusterSecret('another').keysOf('salt');
    assert.deepEqual(await new ClusterSecret('another', path).keysOf('salt'), other);
    const salted = await new ClusterSecret('another').keysOf('other salt');
    assert.deepEqual(await new ClusterSecret('another', path).keysOf('other salt'), salted);
    writeFileSync(path, readFileSync(path).subarray(0, 20));
    assert.deepEqual(await new ClusterSecret('another', path).keysOf('other salt'), salted);
  });
});

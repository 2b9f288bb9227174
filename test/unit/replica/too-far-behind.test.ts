import assert from 'node:assert/strict';
import { encodeCheckpoint } from '../../../src/cluster/checkpoint.ts';
import { sha256 } from '../../../src/cluster/bytes.ts';
import { ClusterMember } from '../../support/cluster-member.ts';

const BLOB = 'checkpoints/0000000000000032-0000000000000001-other-1';
const COPY = 'files/0000000000000001-other-1';
const INDEX = 'index/00000000-0000-4000-8000-000000000000';

describe('A server that is further behind than the log reaches', () => {
  let member: ClusterMember;
  beforeEach(async () => {
    member = await ClusterMember.start();
  });
  afterEach(() => member.stop());

  it('says so before it fetches anything, because it cannot replace data that is open', async () => {
    const bytes = Buffer.from('a database');
    const copy = { name: 'index.mdb', size: bytes.length, sha256: sha256(bytes), blob: COPY };
    const databases = [{ name: INDEX, copies: [copy], files: [] }];
    const checkpoint = { sequence: 50, epoch: 1, at: 0, databases, passed: [] };
    member.objects.set(BLOB, encodeCheckpoint(checkpoint));
    member.objects.set(COPY, bytes);
    member.otherLeads();
    const { settings } = member.log.state;
    member.log.change({
      head: 60,
      settings: { ...settings, floor: 40, checkpoint: { sequence: 50, blob: BLOB } },
    });
    await member.until(() => member.isTooFarBehind);
    assert.ok(member.cluster.node.applied < 40);
  });
});

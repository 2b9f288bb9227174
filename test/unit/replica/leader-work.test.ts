import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { decodeDelta, encodeDelta } from '../../../src/cluster/delta.ts';
import { decodeBody, decodeRecord } from '../../../src/cluster/record.ts';
import { sha256 } from '../../../src/cluster/bytes.ts';
import { hex } from '../../../src/cluster/transfers.ts';
import { ClusterMember } from '../../support/cluster-member.ts';
import { add } from '../../support/task-system.ts';

describe('The work of a leader', () => {
  let member: ClusterMember;
  const events: string[] = [];
  /** Epoch that the node believes to lead. */
  let epoch: number | null = null;

  /** A member whose epoch the test sets. */
  async function start(begin: (signal: AbortSignal) => Promise<void>): Promise<void> {
    events.length = 0;
    epoch = null;
    member = await ClusterMember.start({
      begin,
      end: async () => {
        events.push('end');
      },
    });
    Object.defineProperty(member.cluster.node, 'epochLed', { get: () => epoch });
  }
  afterEach(async () => {
    epoch = null;
    await member.stop();
  });

  it('begins again for each term, also when no moment between two of them was seen', async () => {
    await start(async () => {
      events.push('begin');
    });
    epoch = 5;
    await member.until(() => events.length === 1);
    epoch = 9;
    await member.until(() => events.length === 3);
    assert.deepEqual(events, ['begin', 'end', 'begin']);
  });

  it('begins again when it has failed', async () => {
    await start(async () => {
      events.push('begin');
      if (events.length === 1) throw new Error('the disk is full');
    });
    epoch = 5;
    await member.until(() => events.length === 2);
    assert.ok(member.logged.some((line) => line.includes('the disk is full')));
  });

  it('is interrupted while it begins when the term ends', async () => {
    await start(
      (signal) =>
        new Promise((resolve) => {
          events.push('begin');
          signal.addEventListener('abort', () => resolve());
        }),
    );
    epoch = 5;
    await member.until(() => events.length === 1);
    epoch = null;
    await member.until(() => events.length === 2);
    assert.deepEqual(events, ['begin', 'end']);
  });
});

/** A delta with the same effect and other bytes. */
function again(delta: Buffer): Buffer {
  const writes = decodeDelta(delta, () => true);
  return encodeDelta([...writes, ...writes]);
}

describe('A payload that two leaders have given the same uid', () => {
  let member: ClusterMember;
  beforeEach(async () => {
    member = await ClusterMember.start();
    await member.until(() => member.cluster.node.epochLed !== null);
  });
  afterEach(() => member.stop());

  it('stays when the attempt of this node is refused', async () => {
    const documents = [{ id: 1, text: 'x'.repeat(100_000) }];
    const content = Buffer.from(JSON.stringify(documents));
    // The other member registers the same documents after this one has stored their payload.
    member.onAppend = (entry) => {
      member.onAppend = () => {};
      const body = decodeBody(entry.body);
      assert.equal(body.kind, 'record');
      const { delta } = decodeRecord((body as { bytes: Buffer }).bytes);
      const other = member.otherLeads();
      const blob = `files/${hex(other)}-other-1`;
      member.objects.set(blob, content);
      const file = { name: 'payload-0', size: content.length, sha256: sha256(content), blob };
      member.append({ database: 'store', files: [file], delta: again(delta) });
    };
    await assert.rejects(member.tasks.register(add('books', documents)), { code: 'no_leader' });
    await member.until(() => member.cluster.node.applied === member.log.state.head);
    const { taskStore } = member.tasks.system;
    assert.equal(taskStore.record(0)!.status, 'enqueued');
    assert.ok(existsSync(taskStore.payloadFile(0)), 'the payload is there');
    assert.deepEqual(readFileSync(taskStore.payloadFile(0)), content);
  });
});

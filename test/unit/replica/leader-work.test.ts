import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeDelta, encodeDelta } from '../../../src/cluster/delta.ts';
import { decodeBody, decodeRecord } from '../../../src/cluster/record.ts';
import { ByteWriter, sha256 } from '../../../src/cluster/bytes.ts';
import { UnavailableError } from '../../../src/cluster/errors.ts';
import type { NativeAddon } from '../../../src/engine/native.ts';
import { ServerReplica } from '../../../src/replica/server-replica.ts';
import { hex } from '../../../src/cluster/transfers.ts';
import { ClusterMember } from '../../support/cluster-member.ts';
import { add } from '../../support/task-system.ts';

describe('The work of a leader', () => {
  let member: ClusterMember;
  const events: string[] = [];
  /** Epoch that the node believes to lead. */
  let epoch: number | null = null;

  /** A member whose epoch the test sets. */
  async function start(
    begin: (signal: AbortSignal) => Promise<void>,
    end: () => Promise<void> = async () => {},
  ): Promise<void> {
    events.length = 0;
    epoch = null;
    // The term that the member wins by itself, before the test sets its epoch, is not counted.
    let isOwnTerm = true;
    let works = false;
    member = await ClusterMember.start({
      begin: async (signal) => {
        if (!isOwnTerm) return begin(signal);
        works = true;
      },
      end: async () => {
        if (isOwnTerm) {
          works = false;
          return;
        }
        events.push('end');
        await end();
      },
    });
    await member.until(() => member.cluster.node.epochLed !== null);
    Object.defineProperty(member.cluster.node, 'epochLed', { get: () => epoch });
    await member.until(() => !works);
    isOwnTerm = false;
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

  it('begins again in the same term when the lease was kept alive late', async () => {
    await start(async () => void events.push('begin'));
    for (let count = 1; count <= 3; count += 2) {
      epoch = 5;
      await member.until(() => events.length === count);
      epoch = null;
      await member.until(() => events.length === count + 1);
    }
    assert.deepEqual(events, ['begin', 'end', 'begin', 'end']);
  });

  it('commits nothing in a later term than that in which it began', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    await start(
      async () => void events.push('begin'),
      () => released,
    );
    const { store } = member.tasks.system;
    const commit = (): Promise<void> => store.commit((tx) => tx.put(store.meta, 'test', 1));
    epoch = 5;
    await member.until(() => events.length === 1);
    await commit();
    epoch = 9;
    await member.until(() => events.length === 2);
    await assert.rejects(commit(), { code: 'no_leader' });
    release();
    await member.until(() => events.length === 3);
    await commit();
  });

  it('does not begin again when a record of the next leader has ended it', async () => {
    await start(async () => void events.push('begin'));
    epoch = 5;
    await member.until(() => events.length === 1);
    member.otherLeads();
    member.append({ database: 'store', files: [], delta: encodeDelta([]) });
    await member.until(() => events.length === 2);
    // The node still believes to lead for a moment.
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.deepEqual(events, ['begin', 'end']);
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

describe('A batch on a leader whose disk is full', () => {
  let member: ClusterMember;
  afterEach(() => member.stop());

  it('waits for another node, which this one lets lead', async () => {
    member = await ClusterMember.start();
    await member.until(() => member.cluster.node.applied > 0);
    let isFull = true;
    member.tasks.engine.beforeCommit = () => {
      if (isFull) throw Object.assign(new Error('full'), { code: 'no_space_left_on_device' });
    };
    const { epoch } = member.log.state.leader!;
    const uid = await member.tasks.register(add('books', [{ id: 1 }]));
    await member.until(() => member.log.state.leader?.epoch !== epoch);
    assert.equal(member.tasks.task(uid).status, 'enqueued');
    isFull = false;
    await member.until(() => member.tasks.task(uid).status === 'succeeded');
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
    // It has stored the default keys.
    await member.until(() => member.cluster.node.applied > 0);
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

describe('A record that changes a value which is damaged here', () => {
  it('is not applied: the node takes all data again', async () => {
    const member = await ClusterMember.start({ begin: async () => {}, end: async () => {} });
    member.otherLeads();
    const { store } = member.tasks.system;
    store.chunks.apply({ key: 0, value: Buffer.alloc(2000) }).catch(() => {});
    await store.setCluster(store.cluster!);
    const key = Buffer.alloc(4);
    const patch = new ByteWriter().number(7).bytes(Buffer.from('new')).done();
    const delta = encodeDelta([{ kind: 'patch', table: 'chunks', key, patch }]);
    const { applied } = member.cluster.node;
    member.append({ database: 'store', files: [], delta });
    await member.until(() => member.damaged.length > 0);
    assert.deepEqual([member.damaged[0], member.cluster.node.applied], ['store', applied]);
    await member.stop();
  });
});

describe('Indexes without a uid', () => {
  const UUIDS = ['1', '2', '3'].map((digit) => `${digit.repeat(8)}-1111-1111-1111-111111111111`);
  let member: ClusterMember;
  beforeEach(async () => {
    member = await ClusterMember.start();
    member.tasks.engine.applyRecord = async () => true;
    await member.until(() => member.tasks.system.store.cluster!.applied > 0);
  });
  afterEach(() => member.stop());

  const folders = (): string[] => readdirSync(join(member.tasks.dir, 'indexes')).toSorted();
  const appendTo = (database: string): void =>
    member.append({ database, files: [], delta: encodeDelta([]) });

  it('are erased when another leader commits, except those that it has made', async () => {
    const { registry } = member.tasks.system;
    registry.byUuid(UUIDS[0]!);
    mkdirSync(join(member.tasks.dir, 'indexes', UUIDS[1]!));
    member.otherLeads();
    appendTo(`index/${UUIDS[2]}`);
    appendTo('store');
    await member.until(() => member.cluster.node.applied === member.log.state.head);
    await member.until(() => folders().length === 1);
    assert.deepEqual(folders(), [UUIDS[2]]);
    assert.ok(registry.isUnnamed(UUIDS[2]!));
  });

  it('are erased when this node leads, whoever has made them', async () => {
    member.otherLeads();
    appendTo(`index/${UUIDS[2]}`);
    appendTo('store');
    await member.until(() => member.cluster.node.applied === member.log.state.head);
    assert.deepEqual(folders(), [UUIDS[2]]);
    member.otherLeaves();
    await member.until(() => member.cluster.node.epochLed !== null);
    await member.until(() => folders().length === 0);
  });

  it('are in a checkpoint, because a later record may give them one', async () => {
    const { store, taskStore, registry } = member.tasks.system;
    const left = ['incoming', 'outgoing'].map((name) => join(member.tasks.dir, name));
    for (const dir of left) {
      mkdirSync(join(dir, 'store'), { recursive: true });
      writeFileSync(join(dir, 'store', 'data.mdb'), 'what a kill has left');
    }
    const replica = new ServerReplica({
      ...{ store, taskStore, registry },
      indexDir: join(member.tasks.dir, 'indexes'),
      incomingDir: left[0]!,
      checkpointDir: left[1]!,
      onTooFarBehind: () => {},
      onDatabaseDamaged: () => {},
      notLeading: async () => {},
    });
    for (const dir of left) assert.ok(!existsSync(dir), dir);
    registry.byUuid(UUIDS[0]!);
    member.tasks.engine.copyIndex = async (_, dir) => {
      mkdirSync(join(dir, 'segments'), { recursive: true });
      writeFileSync(join(dir, 'index.mdb'), 'the database');
    };
    const checkpoint = await replica.checkpoint();
    const databases = checkpoint.files.map(({ database }) => database);
    assert.ok(databases.includes(`index/${UUIDS[0]}`), databases.join());
    await checkpoint.release();
  });
});

describe('A commit of an index', () => {
  let member: ClusterMember;
  let ask: (call: number, dir: string, files: string[]) => void;
  const ends: string[] = [];
  beforeEach(async () => {
    ends.length = 0;
    member = await ClusterMember.start(null, (engine) => {
      const native: NativeAddon = engine;
      native.setCommitLog = (given) => (ask = given ?? ask);
      native.prepareCommit = async () => Buffer.from('delta');
      native.endCommit = (call, end) => void ends.push(`${call} ${end}`);
      native.applyRecord = async () => true;
    });
    await member.until(() => member.tasks.system.store.cluster!.applied > 0);
  });
  afterEach(() => member.stop());

  it('that was deleted is refused, because no node could apply it', async () => {
    const { registry } = member.tasks.system;
    await member.tasks.run({ type: 'indexCreation', indexUid: 'books', primaryKey: null });
    const { uuid } = registry.get('books')!;
    ask(1, join(member.tasks.dir, 'indexes', uuid), []);
    await member.until(() => ends.length === 1);
    await member.tasks.run({ type: 'indexDeletion', indexUid: 'books' });
    const { head } = member.log.state;
    ask(2, join(member.tasks.dir, 'indexes', uuid), []);
    await member.until(() => ends.length === 2);
    assert.deepEqual(ends, ['1 applied', '2 notWritten']);
    assert.equal(member.log.state.head, head);
  });

  it('waits while the object store does not respond', async () => {
    const { registry } = member.tasks.system;
    await member.tasks.run({ type: 'indexCreation', indexUid: 'books', primaryKey: null });
    const dir = join(member.tasks.dir, 'indexes', registry.get('books')!.uuid);
    mkdirSync(join(dir, 'segments'), { recursive: true });
    writeFileSync(join(dir, 'segments', '1'), 'a segment');
    let attempts = 0;
    member.onPut = () => {
      if (++attempts === 1) throw new UnavailableError('The object store is down');
    };
    ask(1, dir, ['1']);
    await member.until(() => ends.length === 1);
    assert.deepEqual([attempts, ends], [2, ['1 applied']]);
  });
});

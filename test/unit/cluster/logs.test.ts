/** The contract of every implementation of the log, and what etcd adds. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { TrimmedError, UnavailableError } from '../../../src/cluster/errors.ts';
import { EtcdLog } from '../../../src/cluster/log/etcd-log.ts';
import type { Log } from '../../../src/cluster/log/log.ts';
import { ClusterSecret } from '../../../src/cluster/secret.ts';
import { MemoryLog, MemoryLogState } from '../../support/memory-log.ts';
import type { Entry } from '../../../src/cluster/record.ts';
import { OutboundClient } from '../../../src/outbound/outbound-client.ts';
import { Etcd, HAS_ETCD } from '../../support/etcd.ts';

const SECRET = new ClusterSecret('master key');
const IDENTITY = { id: 'one', salt: 'salt', proof: 'key' };

function entry(sequence: number, text = `entry ${sequence}`): Entry {
  return { sequence, body: Buffer.from(text) };
}

function member(name: string, formatMax = 1): Parameters<Log['announce']>[0] {
  return {
    ...{ name, url: `http://${name}`, formatMax, applied: 0, lagMs: 0, bytesToFetch: 0 },
    ...{ isFit: true, storeFault: null },
  };
}

/** @param open opens the log of a cluster as another node sees it */
function contract(open: (cluster: string) => Log): void {
  let number = 0;
  let log: Log;
  let other: Log;

  beforeEach(() => {
    number++;
    log = open(`cluster-${number}`);
    other = open(`cluster-${number}`);
  });

  /** Makes a node the leader. */
  async function lead(view: Log, node = 'a'): Promise<{ epoch: number; lease: string }> {
    const { id: lease } = await view.grantLease(60_000);
    await view.campaign(node, `http://${node}`, lease);
    const { leader } = await view.state();
    assert.equal(leader?.node, node);
    assert.equal(leader.lease, lease);
    return { epoch: leader.epoch, lease };
  }

  it('is founded once', async () => {
    assert.equal((await log.state()).identity, null);
    await log.found(IDENTITY, 0);
    await other.found({ id: 'two', salt: 'other', proof: 'other' }, 1);
    const { identity, head, settings, leader } = await other.state();
    assert.deepEqual(identity, IDENTITY);
    assert.equal(head, 0);
    assert.deepEqual(settings, { format: 1, formatRequired: 1, checkpoint: null, floor: 1 });
    assert.equal(leader, null);
  });

  it('that begins with data holds no entry of it', async () => {
    await log.found(IDENTITY, 1);
    const { head, settings } = await log.state();
    assert.deepEqual([head, settings.floor], [1, 2]);
    await assert.rejects(log.read(1, 1), TrimmedError);
    const { epoch } = await lead(log);
    assert.deepEqual(await log.append(entry(2), epoch), { kind: 'appended' });
  });

  it('takes entries in order, and only from the leader', async () => {
    await log.found(IDENTITY, 0);
    assert.deepEqual(await log.append(entry(1), 1), { kind: 'fenced' });
    const { epoch, lease } = await lead(log);
    assert.deepEqual(await log.append(entry(2), epoch), { kind: 'conflict' });
    assert.deepEqual(await log.append(entry(1), epoch), { kind: 'appended' });
    assert.deepEqual(await log.append(entry(1, 'again'), epoch), { kind: 'conflict' });
    assert.deepEqual(await log.append(entry(2), epoch + 1), { kind: 'fenced' });
    await other.revokeLease(lease);
    assert.deepEqual(await log.append(entry(2), epoch), { kind: 'fenced' });
    const later = await lead(other, 'b');
    assert.ok(later.epoch > epoch);
    assert.deepEqual(await log.append(entry(2), epoch), { kind: 'fenced' });
    assert.deepEqual(await other.append(entry(2), later.epoch), { kind: 'appended' });
    assert.deepEqual(await log.read(1, 10), [entry(1), entry(2)]);
  });

  it('keeps any bytes of an entry', async () => {
    await log.found(IDENTITY, 0);
    const { epoch } = await lead(log);
    const body = Buffer.from(Array.from({ length: 256 * 1024 }, (_, n) => (n * 7) % 256));
    await log.append({ sequence: 1, body }, epoch);
    assert.ok((await other.read(1, 1))[0]!.body.equals(body));
  });

  it('has one leader at a time, and one winner of several candidates', async () => {
    await log.found(IDENTITY, 0);
    const views = ['a', 'b', 'c'].map((node) => ({ node, view: open(`cluster-${number}`) }));
    const leases = await Promise.all(
      views.map(async ({ node, view }) => {
        const { id } = await view.grantLease(60_000);
        await view.campaign(node, '', id);
        return id;
      }),
    );
    const { leader } = await log.state();
    assert.ok(leases.includes(leader!.lease));
    await log.campaign('d', '', (await log.grantLease(60_000)).id);
    assert.deepEqual((await log.state()).leader, leader);
  });

  it('gives no leadership for a lease that has ended', async () => {
    await log.found(IDENTITY, 0);
    const { id } = await log.grantLease(60_000);
    assert.equal(await log.keepAlive(id), true);
    await log.revokeLease(id);
    await log.revokeLease(id);
    assert.equal(await log.keepAlive(id), false);
    await log.campaign('a', '', id);
    assert.equal((await log.state()).leader, null);
    assert.equal(await log.announce(member('a'), id), false);
  });

  it('lets only the leader change its settings, and only when they are as expected', async () => {
    await log.found(IDENTITY, 0);
    const { epoch } = await lead(log);
    for (let n = 1; n <= 5; n++) await log.append(entry(n), epoch);
    const { settings } = await log.state();
    const { revision: seen } = await log.members();
    const after = {
      format: 2,
      formatRequired: 2,
      checkpoint: { sequence: 4, blob: 'checkpoints/4' },
      floor: 4,
    };
    assert.equal(await log.update(settings, after, epoch + 1, seen), false);
    assert.equal(await log.update({ ...settings, format: 9 }, after, epoch, seen), false);
    assert.deepEqual((await log.state()).settings, settings);
    assert.equal(await log.update(settings, after, epoch, seen), true);
    assert.equal(await log.update(settings, { ...after, format: 3 }, epoch, seen), false);
    assert.deepEqual((await other.state()).settings, after);
    await assert.rejects(log.read(3, 1), TrimmedError);
    assert.deepEqual(await log.read(4, 9), [entry(4), entry(5)]);
    assert.deepEqual(await log.read(6, 9), []);
    assert.deepEqual(await log.append(entry(6), epoch), { kind: 'appended' });
  });

  it('changes no settings if a node has begun to start that the leader does not know', async () => {
    await log.found(IDENTITY, 0);
    const { epoch } = await lead(log);
    await log.append(entry(1), epoch);
    const { settings } = await log.state();
    const after = { ...settings, floor: 2 };
    const before = await log.members();
    const { id } = await other.grantLease(60_000);
    await other.hold('new', 0, id);
    assert.equal(await log.update(settings, after, epoch, before.revision), false);
    assert.deepEqual(await log.read(1, 9), [entry(1)]);
    const { starting, revision } = await log.members();
    assert.deepEqual(starting, new Map([['new', 0]]));
    await other.revokeLease(id);
    assert.deepEqual((await log.members()).starting, new Map());
    assert.equal(await log.update(settings, after, epoch, revision), true);
  });

  it('delivers each entry to watches, including earlier entries', async () => {
    await log.found(IDENTITY, 0);
    const { epoch } = await lead(log);
    for (let n = 1; n <= 30; n++) await log.append(entry(n), epoch);
    const stop = new AbortController();
    const seen: Entry[] = [];
    const watching = (async () => {
      for await (const entries of other.watch(3, stop.signal)) {
        seen.push(...entries);
        if (seen.at(-1)!.sequence === 60) stop.abort();
      }
    })();
    for (let n = 31; n <= 60; n++) await log.append(entry(n), epoch);
    await watching;
    assert.deepEqual(
      seen,
      Array.from({ length: 58 }, (_, n) => entry(n + 3)),
    );
    await assert.rejects(async () => {
      const { settings } = await log.state();
      await log.update(settings, { ...settings, floor: 10 }, epoch, (await log.members()).revision);
      for await (const _ of other.watch(9, new AbortController().signal)) assert.fail();
    }, TrimmedError);
  });

  it('lets one process at a time have a name, and remembers all formats', async () => {
    await log.found(IDENTITY, 0);
    const [one, two] = [await log.grantLease(60_000), await other.grantLease(60_000)];
    await log.register('a', 2);
    await other.register('b', 1);
    assert.equal(await log.announce(member('a', 2), one.id), true);
    assert.equal(await log.announce({ ...member('a', 2), applied: 7 }, one.id), true);
    assert.equal(await other.announce(member('a'), two.id), false);
    assert.equal(await other.announce(member('b'), two.id), true);
    const { running, formats } = await log.members();
    assert.deepEqual(
      running.toSorted((x, y) => x.name.localeCompare(y.name)),
      [{ ...member('a', 2), applied: 7 }, member('b')],
    );
    assert.deepEqual([...formats].toSorted(), [
      ['a', 2],
      ['b', 1],
    ]);
    await log.revokeLease(two.id);
    const later = await log.members();
    assert.deepEqual(
      later.running.map(({ name }) => name),
      ['a'],
    );
    assert.deepEqual([...later.formats].toSorted(), [
      ['a', 2],
      ['b', 1],
    ]);
    // The request of a process that was killed after it had registered.
    const killed = await other.register('b', 1);
    const last = await other.register('b', 1);
    assert.ok(last > killed);
    await other.forget('b', killed);
    assert.deepEqual([...(await log.members()).formats.keys()].toSorted(), ['a', 'b']);
    await other.forget('b', last);
    assert.deepEqual([...(await log.members()).formats], [['a', 2]]);
    await log.forget('a');
    assert.deepEqual([...(await log.members()).formats], []);
  });
}

describe('The log in memory', () => {
  const states = new Map<string, MemoryLogState>();
  contract((cluster) => {
    if (!states.has(cluster)) states.set(cluster, new MemoryLogState());
    return new MemoryLog(states.get(cluster));
  });
});

describe('The log in etcd', () => {
  let etcd: Etcd;
  let client: OutboundClient;
  const open = (cluster: string, urls = [etcd.url]): EtcdLog =>
    new EtcdLog(cluster, { endpoints: urls }, client, SECRET);

  before(async function () {
    if (!HAS_ETCD) {
      console.log('      skipped: etcd (Debian package etcd-server) is not installed');
      this.skip();
    }
    etcd = await Etcd.start(['--quota-backend-bytes', String(32 * 2 ** 20)]);
    client = new OutboundClient({ denyPrivate: false, allow: [] });
  });
  after(async () => {
    await client?.close();
    await etcd?.stop();
  });

  contract((cluster) => open(cluster));

  it('loses its leader when the lease ends', async () => {
    const log = open('expiring');
    await log.found(IDENTITY, 0);
    const lease = await log.grantLease(1);
    assert.ok(lease.ttlMs >= 1000);
    await log.campaign('a', '', lease.id);
    while ((await log.state()).leader !== null) await delay(100);
    assert.equal(await log.keepAlive(lease.id), false);
  });

  it('tries another member when one cannot be reached', async () => {
    const log = open('members', ['http://127.0.0.1:9', etcd.url]);
    await log.found(IDENTITY, 0);
    assert.deepEqual((await log.state()).identity, IDENTITY);
  });

  it('reports an unknown outcome when no member can be reached', async () => {
    const log = open('nobody', ['http://127.0.0.1:9']);
    await assert.rejects(log.append(entry(1), 1), UnavailableError);
    await assert.rejects(log.state(), UnavailableError);
  });

  it('refuses entries beyond what etcd takes, for certain', async () => {
    const log = open('large');
    await log.found(IDENTITY, 0);
    const lease = await log.grantLease(60_000);
    await log.campaign('a', '', lease.id);
    const { leader } = await log.state();
    const body = Buffer.alloc(2 * 2 ** 20, 1);
    const result = await log.append({ sequence: 1, body }, leader!.epoch);
    assert.equal(result.kind, 'refused');
    assert.equal((await log.state()).head, 0);
  });

  it('has appended an entry that etcd applied as it reached its quota', async () => {
    // etcd reports the same error for transactions that it has applied and that it has not.
    const full = JSON.stringify({ code: 8, message: 'etcdserver: mvcc: database space exceeded' });
    let applies = true;
    const front = createServer((request, response) => {
      const forward = async (): Promise<void> => {
        const body = Buffer.concat(await request.toArray());
        const isAppend = body.includes('"request_put"');
        if (isAppend && !applies) return void response.writeHead(429).end(full);
        const sent = await fetch(`${etcd.url}${request.url}`, { method: 'POST', body });
        const text = await sent.text();
        if (isAppend) response.writeHead(429).end(full);
        else response.writeHead(sent.status).end(text);
      };
      void forward();
    });
    await new Promise<void>((resolve) => void front.listen(0, '127.0.0.1', resolve));
    try {
      const log = open('reaching');
      await log.found(IDENTITY, 0);
      const lease = await log.grantLease(60_000);
      await log.campaign('a', '', lease.id);
      const { epoch } = (await log.state()).leader!;
      const { port } = front.address() as AddressInfo;
      const fronted = open('reaching', [`http://127.0.0.1:${port}`]);
      assert.deepEqual(await fronted.append(entry(1), epoch), { kind: 'appended' });
      applies = false;
      const { kind } = await fronted.append(entry(2), epoch);
      assert.equal(kind, 'refused');
      assert.equal((await log.state()).head, 1);
    } finally {
      front.closeAllConnections();
      front.close();
    }
  });

  it('refuses entries at the quota for certain, can still be read, and takes entries again once there is space', async () => {
    const log = open('quota');
    await log.found(IDENTITY, 0);
    const lease = await log.grantLease(600_000);
    await log.campaign('a', '', lease.id);
    const { leader } = await log.state();
    let head = 0;
    let refusal: string | null = null;
    while (refusal === null) {
      const body = Buffer.alloc(2 ** 20, head);
      const result = await log.append({ sequence: head + 1, body }, leader!.epoch);
      if (result.kind === 'refused') refusal = result.reason;
      else head++;
    }
    assert.match(refusal, /space exceeded/);
    assert.ok(head > 10);
    assert.equal((await log.state()).head, head);
    assert.equal((await log.read(head, 1)).length, 1);
    assert.equal(await log.keepAlive(lease.id), true);
    interface EtcdResponse {
      header: { revision: string };
      alarms?: object[];
    }
    const post = async (path: string, body: object): Promise<EtcdResponse> => {
      const sent = await fetch(`${etcd.url}/v3/${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
      });
      return (await sent.json()) as EtcdResponse;
    };
    const [key, end] = ['gannet/quota/log/', 'gannet/quota/log0'].map((text) =>
      Buffer.from(text).toString('base64'),
    );
    const { header } = await post('kv/deleterange', { key, range_end: end });
    await post('kv/compaction', { revision: header.revision, physical: true });
    await post('maintenance/defragment', {});
    const { alarms = [] } = await post('maintenance/alarm', { action: 'GET' });
    for (const alarm of alarms) {
      await post('maintenance/alarm', { ...alarm, action: 'DEACTIVATE' });
    }
    const result = await log.append(entry(head + 1), leader!.epoch);
    assert.deepEqual(result, { kind: 'appended' });
  });

  it('accepts a name and a password, and refuses wrong ones', async () => {
    const guarded = await Etcd.start();
    try {
      guarded.demandPassword({ name: 'one', password: 'secret', prefixes: ['gannet/c/'] });
      const as = (password: string | null, cluster = 'c'): EtcdLog => {
        const user = password === null ? undefined : { name: 'one', password };
        return new EtcdLog(cluster, { endpoints: [guarded.url], user }, client, null);
      };
      await as('secret').found(IDENTITY, 0);
      assert.deepEqual((await as('secret').state()).identity, IDENTITY);
      for (const [log, message] of [
        [as('wrong'), 'etcd does not accept the name and password'],
        [as(null), 'etcd asks for a name and a password: --cluster-etcd-user'],
        [as('secret', 'other'), /^The user of etcd may not read and write the keys that begin/],
      ] as const) {
        await assert.rejects(log.state(), { name: 'RefusedError', message });
      }
    } finally {
      await guarded.stop();
    }
  });
});

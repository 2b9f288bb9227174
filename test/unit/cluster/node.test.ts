/** A node of a cluster in single situations; test/simulation/ combines them at random. */
import assert from 'node:assert/strict';
import { decodeCheckpoint } from '../../../src/cluster/checkpoint.ts';
import { blobsOfEntry, decodeBody, decodeRecord, FORMAT_MAX } from '../../../src/cluster/record.ts';
import { NoLeaderError, RefusedError, WritesRefusedError } from '../../../src/cluster/errors.ts';
import { MemoryBlobs } from '../../support/memory-blobs.ts';
import { recover, type RecoveryTarget } from '../../../src/cluster/recovery.ts';
import { hex } from '../../../src/cluster/transfers.ts';
import { Host, NO_FAULTS, SimulatedReplica } from '../../simulation/host.ts';
import * as model from '../../simulation/model.ts';
import { localFile, type Member, proposal, QuietCluster } from '../../simulation/quiet.ts';

describe('A node of a cluster', () => {
  let cluster: QuietCluster;
  beforeEach(() => (cluster = new QuietCluster()));

  async function three(): Promise<{ leader: Member; followers: [Member, Member]; all: Member[] }> {
    const all = [await cluster.start('a'), await cluster.start('b'), await cluster.start('c')];
    const leader = await cluster.leader(all);
    const [one, two] = all.filter((member) => member !== leader);
    return { leader, followers: [one!, two!], all };
  }

  /** Waits until all members have applied all records. */
  async function caughtUp(members: readonly Member[]): Promise<void> {
    await cluster.until(() => members.every(({ node }) => node.applied === cluster.log.state.head));
  }

  it('handles writes as the leader, and sends them to the leader otherwise, once', async () => {
    const { leader, followers } = await three();
    assert.deepEqual(leader.node.route(true), { kind: 'here' });
    await cluster.wait(1000);
    for (const { node } of followers) {
      assert.deepEqual(node.route(false), { kind: 'forward', url: leader.host.name });
      assert.deepEqual(node.route(true), { kind: 'no_leader', retryAfterSeconds: 1 });
      await assert.rejects(cluster.run(node.commit(() => proposal('x'))), NoLeaderError);
      await assert.rejects(cluster.run(node.upload([localFile('x')])), NoLeaderError);
    }
  });

  it('has no leader to send a write to while there is none', async () => {
    const { leader, followers } = await three();
    cluster.kill(leader);
    await cluster.until(() => cluster.log.state.leader === null);
    await cluster.until(() => followers.some(({ node }) => node.route(false).kind !== 'forward'));
    const next = await cluster.leader(followers);
    assert.equal(await cluster.commit(next, 'after'), 1);
  });

  it('replaces a leader that was killed long before its lease has ended', async () => {
    const options = { leaseMs: 60_000 };
    const all = [await cluster.start('a', options), await cluster.start('b', options)];
    const leader = await cluster.leader(all);
    await cluster.wait(2000);
    cluster.kill(leader);
    const killed = cluster.scheduler.now;
    await cluster.leader(all.filter((member) => member !== leader));
    assert.ok(cluster.scheduler.now - killed < 3000, String(cluster.scheduler.now - killed));
  });

  it('applies what the leader commits, with its files, and lets reads wait for it', async () => {
    const { leader, followers } = await three();
    const { signal } = new AbortController();
    const files = await cluster.run(leader.node.upload([localFile('f')]));
    const sequence = await cluster.run(leader.node.commit(() => proposal('one', files)));
    for (const { node, replica, host } of followers) {
      assert.equal(await cluster.run(node.waitFor(sequence, 10_000, signal)), true);
      assert.equal(replica.view.tasks.get('one'), 'one');
      assert.equal(host.disk.files.get(`${model.STORE}/f`)!.toString(), 'the file f');
      assert.equal(await cluster.run(node.waitFor(sequence + 1, 100, signal)), false);
      assert.equal(await cluster.run(node.waitFor(sequence + 1, 1e6, AbortSignal.abort())), false);
    }
  });

  it('knows how far it lags, also when it cannot reach the log', async () => {
    const { leader, followers } = await three();
    const [one] = followers;
    await cluster.wait(3000);
    assert.ok(one.node.lagMs < 1000, String(one.node.lagMs));
    one.host.logCutUntil = cluster.scheduler.now + 20_000;
    await cluster.commit(leader, 'one');
    await cluster.wait(10_000);
    assert.ok(one.node.lagMs > 9000, String(one.node.lagMs));
    await cluster.wait(20_000);
    assert.ok(one.node.lagMs < 1000, String(one.node.lagMs));
    assert.equal(one.replica.view.tasks.get('one'), 'one');
  });

  it('shows all nodes that run', async () => {
    const { leader, followers, all } = await three();
    const sequence = await cluster.commit(leader, 'one');
    await caughtUp(all);
    await cluster.wait(6000);
    const { leader: shown, head, nodes, fault } = await cluster.run(followers[0].node.status());
    assert.equal(shown!.node, leader.host.name);
    assert.equal(head, sequence);
    assert.equal(fault, null);
    assert.deepEqual(nodes.map(({ name, applied }) => [name, applied]).toSorted(), [
      ...['a', 'b', 'c'].map((name) => [name, sequence]),
    ]);
  });

  it('is refused with another master key', async () => {
    await cluster.start('a');
    await assert.rejects(cluster.start('b', { proofOf: async () => 'other' }), /master key/);
  });

  it('is refused with data of its own, unless it founds the cluster with it', async () => {
    const host = cluster.host('a');
    host.disk.state = { ...model.EMPTY, tasks: new Map([['old', 'old']]) };
    await assert.rejects(cluster.start('a'), /--cluster-join/);
    const founder = await cluster.start('a', { join: true, maintenanceMs: 100 });
    const other = await cluster.start('b');
    await cluster.leader([founder, other]);
    await cluster.commit(founder, 'new');
    await caughtUp([founder, other]);
    assert.deepEqual([...other.replica.view.tasks.keys()], ['old', 'new']);
    cluster.host('c').disk.state = { ...model.EMPTY, tasks: new Map([['own', 'own']]) };
    await assert.rejects(cluster.start('c', { join: true }), /has data of its own/);
  });

  it('is refused with the data of another cluster, and when it is ahead of the log', async () => {
    await cluster.start('a');
    cluster.host('b').disk.cluster = 'another';
    await assert.rejects(cluster.start('b'), RefusedError);
    const c = cluster.host('c');
    c.disk.cluster = cluster.log.state.identity!.id;
    c.disk.state = { ...model.EMPTY, applied: 7 };
    await assert.rejects(cluster.start('c'), /the log has lost entries/);
  });

  it('is refused when etcd has lost its data, and leaves etcd as it is', async () => {
    const before = await cluster.start('a');
    await cluster.leader([before]);
    await cluster.commit(before, 'one');
    cluster.kill(before);
    const emptied = new QuietCluster();
    Object.assign(emptied.host('a').disk, cluster.host('a').disk);
    await assert.rejects(emptied.start('a'), /has lost its data/);
    assert.equal(emptied.log.state.identity, null);
  });

  it('is refused by the object store of another cluster, which stays as it is', async () => {
    const first = await cluster.start('a', { cluster: 'first', maintenanceMs: 100 });
    await cluster.leader([first]);
    await cluster.commit(first, 'one');
    const objects = new Map(cluster.objects);
    for (const founded of [false, true]) {
      const other = new QuietCluster();
      // It was founded with a store of its own, and is started with this one.
      if (founded) other.kill(await other.start('b'));
      Object.assign(other, { objects: cluster.objects });
      await assert.rejects(other.start('c'), /belongs to .*cluster.* first/);
    }
    assert.deepEqual(new Map(cluster.objects), objects);
  });

  it('claims a store only once, when two clusters are founded with it at a time', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const [one, other] = [new QuietCluster(seed), new QuietCluster()];
      Object.assign(other, { objects: one.objects, scheduler: one.scheduler });
      // There is always something to happen, for whichever start looks.
      const tick = (): void => one.scheduler.after(1, tick);
      tick();
      const starts = Promise.allSettled([one.start('a'), other.start('b')]);
      const outcomes = (await one.run(starts)).map(({ status }) => status);
      assert.deepEqual(outcomes.toSorted(), ['fulfilled', 'rejected'], `seed ${seed}`);
    }
  });

  it('is refused with another store than that of the other nodes', async () => {
    await cluster.start('a');
    const unmounted = new QuietCluster();
    Object.assign(unmounted, { log: cluster.log, scheduler: cluster.scheduler });
    await assert.rejects(unmounted.start('b'), /may not be mounted/);
    assert.equal(unmounted.objects.size, 0);
  });

  it('founds no cluster where etcd has lost one, although it is empty itself', async () => {
    const before = await cluster.start('a');
    await cluster.leader([before]);
    await cluster.commit(before, 'one');
    const emptied = new QuietCluster();
    Object.assign(emptied, { objects: cluster.objects });
    await assert.rejects(emptied.start('c'), /etcd holds no cluster of this name/);
    assert.equal(emptied.log.state.identity, null);
  });

  it('leaves no trace when it is refused', async () => {
    await cluster.start('a');
    await assert.rejects(
      cluster.start('b', { proofOf: async () => 'other', formatMax: 1 }),
      /master key/,
    );
    cluster.host('c').disk.cluster = 'another';
    await assert.rejects(cluster.start('c', { formatMax: 1 }), RefusedError);
    // The leader requires a newer format while the node registers.
    const { formats } = cluster.log;
    formats.set = (name, format) => {
      const newer = { format: FORMAT_MAX + 1, formatRequired: FORMAT_MAX + 1 };
      cluster.log.change({ settings: { ...cluster.log.state.settings, ...newer } });
      return Map.prototype.set.call(formats, name, format) as typeof formats;
    };
    await assert.rejects(cluster.start('d', { formatMax: FORMAT_MAX }), /upgrade it/);
    assert.deepEqual([...formats.keys()], ['a']);
  });

  it('does not lead without the object store while another node has it', async () => {
    const { leader, followers } = await three();
    const [blind, seeing] = followers;
    await cluster.wait(6000);
    blind.host.blobsCutUntil = Infinity;
    await cluster.wait(10_000);
    cluster.kill(leader);
    // It is fit but for a while it cannot reach the log, so the blind one has every chance.
    seeing.host.logCutUntil = cluster.scheduler.now + 1000;
    assert.equal(await cluster.leader([blind, seeing]), seeing);
    await cluster.commit(seeing, 'after');
    await cluster.wait(2000);
    assert.equal(blind.node.route(false).kind, 'forward');
  });

  it('leads without the object store where no other node has it', async () => {
    const { leader, followers } = await three();
    await cluster.wait(6000);
    for (const { host } of [leader, ...followers]) host.blobsCutUntil = Infinity;
    await cluster.wait(10_000);
    await cluster.commit(leader, 'small');
    cluster.kill(leader);
    await cluster.commit(await cluster.leader(followers), 'after');
    for (const { node } of followers) {
      assert.match(String(node.storeFault), /timed out/);
      await cluster.until(() => node.trouble?.kind === 'store_unavailable');
      assert.match((await cluster.run(node.status())).fault!, /timed out/);
    }
  });

  it('ends requests that wait for a leader that changes, or cannot be reached', async () => {
    const { leader, followers } = await three();
    await cluster.wait(1000);
    const [cutOff, other] = followers.map(({ node }) => node.leaderSignal);
    followers[0].host.peersCutUntil = Infinity;
    await cluster.until(() => cutOff!.aborted);
    assert.equal(other!.aborted, false);
    assert.equal(leader.node.route(false).kind, 'here');
    leader.node.resign();
    await cluster.until(() => other!.aborted);
  });

  it('hands the leadership over when it loses the object store', async () => {
    const { leader, followers } = await three();
    await cluster.wait(6000);
    leader.host.blobsCutUntil = Infinity;
    const since = cluster.scheduler.now;
    const next = await cluster.leader(followers);
    assert.ok(cluster.scheduler.now - since < 15_000, String(cluster.scheduler.now - since));
    const files = await cluster.run(next.node.upload([localFile('f')]));
    await cluster.run(next.node.commit(() => proposal('with a file', files)));
    leader.host.blobsCutUntil = 0;
    await caughtUp([leader, ...followers]);
  });

  it('uses no other store that comes back in the place of its own', async () => {
    const { leader, followers } = await three();
    const own = new Map(cluster.objects);
    cluster.objects.clear();
    const other = new QuietCluster();
    await other.start('other');
    cluster.objects.set('owner', other.objects.get('owner')!);
    await cluster.wait(10_000);
    for (const { node } of [leader, ...followers]) {
      assert.match(String(node.storeFault), /belongs to another cluster/);
    }
    cluster.objects.clear();
    for (const [name, bytes] of own) cluster.objects.set(name, bytes);
    await cluster.wait(5000);
    assert.equal(leader.node.storeFault, null);
  });

  it('resigns when it cannot become ready', async () => {
    const { leader, followers } = await three();
    const [stuck, able] = followers;
    await cluster.wait(6000);
    // A record with a file that one of them cannot store.
    stuck.host.faults.diskFails = 1;
    const files = await cluster.run(leader.node.upload([localFile('f')]));
    await cluster.run(leader.node.commit(() => proposal('with a file', files)));
    await cluster.until(() => able.node.applied === 1);
    able.host.logCutUntil = cluster.scheduler.now + 12_000;
    cluster.kill(leader);
    await cluster.until(() => cluster.log.state.leader?.node === stuck.host.name);
    await cluster.commit(await cluster.leader([able]), 'after');
  });

  it('does not lead for ever when the responses of the log do not come back', async () => {
    const { leader, followers } = await three();
    leader.host.logDeafUntil = Infinity;
    const since = cluster.scheduler.now;
    const next = await cluster.leader(followers);
    assert.ok(cluster.scheduler.now - since < 10_000, String(cluster.scheduler.now - since));
    await cluster.commit(next, 'after');
    leader.host.logDeafUntil = 0;
    await caughtUp([leader, ...followers]);
  });

  it('whose name another process has neither leads nor counts', async () => {
    const first = await cluster.start('a');
    await cluster.leader([first]);
    const elsewhere = new QuietCluster();
    Object.assign(elsewhere, {
      scheduler: cluster.scheduler,
      log: cluster.log,
      objects: cluster.objects,
    });
    const second = await elsewhere.start('a', { token: 'other' });
    await cluster.wait(5000);
    assert.equal(second.node.nameIsTaken, true);
    assert.equal(first.node.nameIsTaken, false);
    assert.equal(first.node.route(false).kind, 'here');
  });

  it('raises the format of the log when all members read it, including those that are down', async () => {
    const old = await cluster.start('a', { formatMax: 1, maintenanceMs: 100 });
    const young = await cluster.start('b', { formatMax: 2, maintenanceMs: 100 });
    await cluster.wait(3000);
    cluster.kill(old);
    const leader = await cluster.leader([young]);
    await cluster.wait(5000);
    assert.equal(cluster.log.state.settings.format, 1);
    await cluster.commit(leader, 'one');
    const upgraded = await cluster.start('a', { formatMax: 2, maintenanceMs: 100 });
    await cluster.until(() => cluster.log.state.settings.format === 2);
    await cluster.wait(1000);
    await cluster.commit(leader, 'two');
    await caughtUp([leader, upgraded]);
    await assert.rejects(cluster.start('c', { formatMax: 1 }), /upgrade it/);
  });

  it('refuses writes without space in the log, and accepts them again without a restart', async () => {
    const { leader, all } = await three();
    leader.host.logFullUntil = cluster.scheduler.now + 1000;
    await assert.rejects(cluster.commit(leader, 'one'), WritesRefusedError);
    await cluster.wait(1000);
    assert.equal(await cluster.commit(leader, 'two'), 1);
    await caughtUp(all);
    assert.deepEqual([...leader.replica.view.tasks.keys()], ['two']);
  });

  it('refuses large writes without the object store, and all writes when no checkpoint succeeds', async () => {
    const options = {
      ...{ inlineBytesMax: 1000, checkpointLogBytes: 2000, logBytesMax: 3000, maintenanceMs: 200 },
    };
    const leader = await cluster.leader([await cluster.start('a', options)]);
    leader.host.blobsCutUntil = cluster.scheduler.now + 60_000;
    await assert.rejects(cluster.commit(leader, 'x'.repeat(1000)), WritesRefusedError);
    let written = 0;
    await assert.rejects(async () => {
      for (; written < 100; written++) await cluster.commit(leader, `${written}`.padEnd(200, '.'));
    }, /No checkpoint/);
    assert.ok(written > 5, String(written));
    await cluster.wait(70_000);
    await cluster.commit(leader, 'x'.repeat(1000));
    assert.ok(cluster.log.state.settings.checkpoint!.sequence >= written);
  });

  it('commits while a checkpoint reads files', async () => {
    const only = await cluster.start('a', { checkpointLogBytes: 1000, maintenanceMs: 100 });
    const leader = await cluster.leader([only]);
    const checkpoint = only.replica.checkpoint.bind(only.replica);
    let isReading = false;
    let read = (): void => {};
    const isRead = new Promise<void>((resolve) => (read = resolve));
    only.replica.checkpoint = async () => {
      const { files, release } = await checkpoint();
      const later = files.map((file) => ({
        ...file,
        source: async () => {
          isReading = true;
          await isRead;
          return file.source();
        },
      }));
      return { files: later, release };
    };
    await cluster.commit(leader, 'large'.padEnd(2000, '.'));
    await cluster.until(() => isReading);
    assert.equal(await cluster.commit(leader, 'meanwhile'), 2);
    assert.equal(cluster.log.state.settings.checkpoint, null);
    read();
    await cluster.until(() => cluster.log.state.settings.checkpoint?.sequence === 1);
  });

  it('makes no commit when its build throws', async () => {
    const { leader, all } = await three();
    const fault = new Error('a fault of the caller');
    const failed = leader.node.commit(() => {
      throw fault;
    });
    await assert.rejects(cluster.run(failed), fault);
    assert.equal(await cluster.commit(leader, 'one'), 1);
    await caughtUp(all);
  });

  it('commits no files that it stored in an earlier term', async () => {
    const only = await cluster.start('a');
    await cluster.leader([only]);
    const files = await cluster.run(only.node.upload([localFile('f')]));
    cluster.log.revoke(cluster.log.state.leader!.lease);
    await cluster.until(() => only.node.route(false).kind !== 'here');
    await cluster.leader([only]);
    await assert.rejects(cluster.run(only.node.commit(() => proposal('x', files))), NoLeaderError);
    assert.equal(await cluster.commit(only, 'one'), 1);
  });

  it('does not apply a record whose object is damaged, and every node says so', async () => {
    const late = { maintenanceMs: 30_000 };
    const all = [await cluster.start('a', late), await cluster.start('b', late)];
    const leader = await cluster.leader(all);
    const one = all.find((member) => member !== leader)!;
    one.host.logCutUntil = cluster.scheduler.now + 3000;
    const files = await cluster.run(leader.node.upload([localFile('f')]));
    await cluster.run(leader.node.commit(() => proposal('one', files)));
    const { blob } = files[0]!;
    cluster.objects.set(blob, damagedCopy(cluster.objects.get(blob)!));
    await cluster.wait(10_000);
    assert.equal(one.node.applied, 0);
    const { fault } = await cluster.run(one.node.status());
    assert.match(fault!, /is damaged/);
    for (const { node } of all) {
      assert.deepEqual(node.damagedObjects, [blob]);
      assert.deepEqual((await cluster.run(node.status())).damagedObjects, [blob]);
    }
    await caughtUp([one]);
    assert.equal((await cluster.run(one.node.status())).fault, null);
    await cluster.until(() => all.every(({ node }) => node.damagedObjects.length === 0));
  });

  it('resigns when it cannot apply what it has added, and loses nothing', async () => {
    const { leader, all } = await three();
    leader.host.faults.diskFails = 1;
    const committing = leader.node.commit(() => proposal('one'));
    await cluster.until(() => cluster.log.state.head === 1);
    const next = await cluster.leader(all.filter((member) => member !== leader));
    assert.equal(await cluster.commit(next, 'two'), 2);
    leader.host.faults.diskFails = 0;
    assert.equal(await cluster.run(committing), 1);
    await caughtUp(all);
    assert.deepEqual([...leader.replica.view.tasks.keys()], ['one', 'two']);
  });

  it('lets another node lead when it resigns, and leads again when there is none', async () => {
    const { leader, followers } = await three();
    leader.node.resign();
    await cluster.until(() => leader.node.route(false).kind !== 'here');
    await cluster.leader(followers);
    for (const follower of followers) cluster.kill(follower);
    await cluster.leader([leader]);
    leader.node.resign();
    await cluster.until(() => leader.node.route(false).kind !== 'here');
    await cluster.leader([leader]);
  });

  it('that resigns while it is cut off ends its lease as soon as it can', async () => {
    const options = { leaseMs: 60_000 };
    const all = [await cluster.start('a', options), await cluster.start('b', options)];
    const leader = await cluster.leader(all);
    await cluster.wait(6000);
    leader.host.logCutUntil = cluster.scheduler.now + 3000;
    leader.node.resign();
    const resigned = cluster.scheduler.now;
    await cluster.leader(all.filter((member) => member !== leader));
    assert.ok(cluster.scheduler.now - resigned < 10_000, String(cluster.scheduler.now - resigned));
  });

  it('ends a commit that its watch has applied, while the record of another leader waits for it', async () => {
    const { leader, followers, all } = await three();
    const append = leader.log.append.bind(leader.log);
    let respond = (): void => {};
    const isResponded = new Promise<void>((resolve) => (respond = resolve));
    leader.log.append = async (...entry) => {
      const result = await append(...entry);
      await isResponded;
      return result;
    };
    const committing = leader.replica.commit((becomes) =>
      leader.node.commit(() => {
        const one = proposal('one');
        becomes(one.delta);
        return one;
      }),
    );
    await cluster.until(() => leader.node.applied === 1);
    cluster.log.revoke(cluster.log.state.leader!.lease);
    await cluster.commit(await cluster.leader(followers), 'two');
    await cluster.wait(1000);
    respond();
    assert.equal(await cluster.run(committing), 1);
    await caughtUp(all);
  });

  it('lets only the successor lead that was named, and waits for no dead one', async () => {
    const { leader, followers } = await three();
    await cluster.wait(1000);
    const [next, other] = followers;
    const name = (member: Member, ms: number): void =>
      cluster.log.nameSuccessor(member.host.name, cluster.log.grant(ms).id);
    name(next, 5000);
    await cluster.until(() => next.node.route(false).kind === 'here');
    // One that is dead is not waited for: the leader stays.
    cluster.kill(leader);
    name(leader, 5000);
    await cluster.wait(4000);
    assert.equal(next.node.route(false).kind, 'here');
    // If the leader dies as well, the others wait only as long as the name lasts.
    name(leader, 8000);
    cluster.kill(next);
    await cluster.leader([other]);
  });

  it('that is drained hands over, does not lead while another one is fit, and is back after a restart', async () => {
    const { leader, followers } = await three();
    await cluster.wait(1000);
    cluster.log.drain(leader.host.name, true);
    const next = await cluster.leader(followers);
    assert.ok(leader.node.isDrained);
    const last = followers.find((member) => member !== next)!;
    cluster.kill(last);
    await cluster.wait(12_000);
    assert.equal(next.node.route(false).kind, 'here');
    // Better than no leader.
    cluster.kill(next);
    await cluster.leader([leader]);
    cluster.kill(leader);
    const again = await cluster.start(leader.host.name);
    assert.deepEqual(cluster.log.state.drained, []);
    assert.equal(again.node.isDrained, false);
  });

  it('that is behind does not lead while one that is not fit has more: only that one may mend', async () => {
    const { leader, followers } = await three();
    const [behind, dead] = followers;
    cluster.kill(dead);
    behind.host.blobsCutUntil = Infinity;
    const [file] = await cluster.run(leader.node.upload([localFile('f')]));
    await cluster.run(leader.node.commit(() => proposal('one', [file!])));
    cluster.objects.set(file!.blob, damagedCopy(cluster.objects.get(file!.blob)!));
    leader.host.blobsCutUntil = Infinity;
    behind.host.blobsCutUntil = 0;
    for (let n = 0; n < 8; n++) {
      await cluster.wait(8000);
      cluster.log.revoke(cluster.log.state.leader!.lease);
      await cluster.until(() => cluster.log.state.leader !== null);
      assert.equal(cluster.log.state.leader!.node, leader.host.name, `election ${n}`);
    }
    assert.equal(behind.node.applied, 0);
  });

  it('stops after the commits under way, and another node leads at once', async () => {
    const { leader, all } = await three();
    const committing = leader.node.commit(() => proposal('one'));
    await cluster.run(leader.node.stop());
    assert.equal(await committing, 1);
    await assert.rejects(
      leader.node.commit(() => proposal('two')),
      NoLeaderError,
    );
    assert.equal(cluster.log.state.leader, null);
    const next = await cluster.leader(all.filter((member) => member !== leader));
    assert.equal(await cluster.commit(next, 'two'), 2);
  });
});

function damagedCopy(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy[0]! ^= 1;
  return copy;
}

describe('The objects of a cluster', () => {
  let cluster: QuietCluster;
  const options = {
    ...{ inlineBytesMax: 300, checkpointLogBytes: 500, maintenanceMs: 100, retentionMs: 2000 },
  };
  beforeEach(() => (cluster = new QuietCluster()));

  /** Commits files until several checkpoints are written. */
  async function work(leader: Member, rounds: number): Promise<void> {
    for (let n = 0; n < rounds; n++) {
      const { sequence } = { sequence: cluster.log.state.head };
      const files = await cluster.run(leader.node.upload([localFile(`f${sequence}`)]));
      const text = n % 4 === 0 ? `${sequence}`.padEnd(400, '.') : String(sequence);
      await cluster.run(leader.node.commit(() => proposal(text, files)));
      await cluster.wait(300);
    }
  }

  /** Damages or removes objects, and starts a node that needs all data. */
  async function joinAfter(change: (name: string) => void, names: string[]): Promise<Member> {
    assert.notEqual(names.length, 0);
    for (const name of names) change(name);
    const joined = await cluster.start('b', { ...options, maintenanceMs: 1e6 });
    await cluster.until(() => joined.node.applied === cluster.log.state.head);
    await cluster.until(() => cluster.log.state.damaged.length === 0);
    return joined;
  }

  const damage = (name: string): void => {
    cluster.objects.set(name, damagedCopy(cluster.objects.get(name)!));
  };
  const remove = (name: string): void => void Map.prototype.delete.call(cluster.objects, name);

  /** The newest checkpoint, what it names, and the objects of large records after it. */
  function stored(): { checkpoint: string; copies: string[]; files: string[]; records: string[] } {
    const { log, objects } = cluster;
    const { blob: checkpoint, sequence } = log.state.settings.checkpoint!;
    const { databases } = decodeCheckpoint(objects.get(checkpoint)!);
    const bodies = [...log.entries].filter(([at]) => at > sequence).map(([, body]) => body);
    const records = bodies.map(decodeBody).flatMap((one) => (one.kind === 'ref' ? one.blob : []));
    const blobs = (kind: 'copies' | 'files'): string[] =>
      databases.flatMap((one) => one[kind].map(({ blob }) => blob));
    return { checkpoint, copies: blobs('copies'), files: blobs('files'), records };
  }

  for (const [kind, change] of [['damaged', damage] as const, ['missing', remove] as const]) {
    it(`that are ${kind} are stored again by the leader, which has the files`, async () => {
      const leader = await cluster.leader([await cluster.start('a', options)]);
      await work(leader, 10);
      const { files, checkpoint } = stored();
      const before = new Map(files.map((name) => [name, cluster.objects.get(name)]));
      const joined = await joinAfter(change, files);
      assert.ok(model.isSame(joined.replica.view, leader.replica.view));
      for (const [name, bytes] of before) assert.deepEqual(cluster.objects.get(name), bytes);
      assert.equal(cluster.log.state.settings.checkpoint!.blob, checkpoint);
    });

    for (const object of ['checkpoint', 'copies', 'records'] as const) {
      it(`that are ${kind} are replaced by a new checkpoint: ${object}`, async () => {
        const lazy = { ...options, checkpointLogBytes: 1500 };
        const leader = await cluster.leader([await cluster.start('a', lazy)]);
        await work(leader, 10);
        // A new node cannot follow the log.
        for (let n = 0; cluster.log.state.settings.floor === 1; n++) {
          assert.notEqual(n, 100);
          await work(leader, 1);
        }
        await cluster.commit(leader, 'large'.padEnd(500, '.'));
        const { checkpoint } = stored();
        const names = [stored()[object]].flat();
        const joined = await joinAfter(change, names);
        assert.ok(model.isSame(joined.replica.view, leader.replica.view));
        assert.notEqual(cluster.log.state.settings.checkpoint!.blob, checkpoint);
        // Checkpoints go on.
        const { sequence } = cluster.log.state.settings.checkpoint!;
        await work(leader, 20);
        assert.notEqual(cluster.log.state.settings.checkpoint!.sequence, sequence);
      });
    }
  }

  it('that are whole although a node has reported them stay as they are', async () => {
    const leader = await cluster.leader([await cluster.start('a', options)]);
    await work(leader, 10);
    const { files, checkpoint } = stored();
    for (const name of [files[0]!, checkpoint, 'files/of-nobody']) {
      cluster.log.setDamaged(name, true);
    }
    await cluster.until(() => cluster.log.state.damaged.length === 0);
    assert.equal(cluster.log.state.settings.checkpoint!.blob, checkpoint);
    assert.ok(!cluster.objects.has('files/of-nobody'));
  });

  it('are named by a checkpoint once the leader is at rest, if a new node would fetch many', async () => {
    const rare = { ...options, checkpointLogBytes: 1e9, checkpointFileBytes: 100 };
    const leader = await cluster.leader([await cluster.start('a', rare)]);
    const newest = (): number => cluster.log.state.settings.checkpoint?.sequence ?? 0;
    const add = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) {
        const file = localFile(`${leader.node.applied}`.padEnd(20, '.'));
        const refs = await cluster.run(leader.node.upload([file]));
        const text = `${leader.node.applied}`.padEnd(50, '.');
        await cluster.run(leader.node.commit(() => proposal(text, refs)));
      }
    };
    await add(2);
    await cluster.wait(30_000);
    assert.equal(newest(), 0);
    await add(4);
    await cluster.wait(5000);
    assert.equal(newest(), 0);
    await cluster.until(() => newest() === leader.node.applied);
    // The copy of the database takes more than the next files.
    const { blob } = cluster.log.state.settings.checkpoint!;
    const { databases } = decodeCheckpoint(cluster.objects.get(blob)!);
    const size = databases
      .flatMap(({ copies }) => copies)
      .reduce((sum, copy) => sum + copy.size, 0);
    assert.ok(size > 200, `${size}`);
    await add(4);
    await cluster.wait(30_000);
    assert.equal(cluster.log.state.settings.checkpoint!.blob, blob);
    // The next leader counts what the log has.
    await add(Math.ceil(size / 29));
    cluster.log.revoke(cluster.log.state.leader!.lease);
    await cluster.until(() => newest() === leader.node.applied);
  });

  it('are removed when no checkpoint within the retention time needs them', async () => {
    const leader = await cluster.leader([await cluster.start('a', options)]);
    await work(leader, 60);
    const { checkpoint, floor } = cluster.log.state.settings;
    assert.ok(checkpoint!.sequence > 50);
    assert.ok(floor > 40 && floor <= checkpoint!.sequence + 1);
    assert.ok(cluster.objects.size < 60, [...cluster.objects.keys()].join(' '));
    const joined = await cluster.start('b', options);
    await cluster.until(() => joined.node.applied === cluster.log.state.head);
    assert.ok(model.isSame(joined.replica.view, leader.replica.view));
  });

  /** Kills a node that has some records, and starts it while many checkpoints are written. */
  async function startSlowly(heldBytesMax: number): Promise<{ floor: number; applied: number }> {
    const leader = await cluster.leader([await cluster.start('a', { ...options, heldBytesMax })]);
    const slow = await cluster.start('b', options);
    await work(leader, 6);
    await cluster.until(() => slow.node.applied === cluster.log.state.head);
    const { applied } = slow.node;
    cluster.kill(slow);
    let floor = 0;
    const joined = await cluster.start('b', options, async () => {
      await work(leader, 40);
      ({ floor } = cluster.log.state.settings);
      const bodies = [...cluster.log.entries.values()].map(decodeBody);
      const blobs = bodies.flatMap((body) => {
        const { files } =
          body.kind === 'ref' ? { files: [] } : decodeRecord(body.bytes, FORMAT_MAX);
        return blobsOfEntry({ files }, body);
      });
      for (const blob of blobs) assert.ok(cluster.objects.has(blob), blob);
      assert.ok(cluster.log.state.settings.checkpoint!.sequence > applied + 20);
    });
    await cluster.until(() => joined.node.applied === cluster.log.state.head);
    assert.ok(model.isSame(joined.replica.view, leader.replica.view));
    await work(leader, 20);
    await cluster.until(() => cluster.log.state.settings.floor > applied + 20);
    return { floor, applied };
  }

  it('and entries stay for a node that opens its data while several checkpoints are written', async () => {
    const { floor, applied } = await startSlowly(1e6);
    assert.ok(floor <= applied + 1, `${floor} ${applied}`);
  });

  it('stay for such a node only within a bound', async () => {
    const { floor, applied } = await startSlowly(1000);
    assert.ok(floor > applied + 1, `${floor} ${applied}`);
  });

  it('of later leaders stay, though no log state that a former leader has read names them', async () => {
    const leader = await cluster.leader([await cluster.start('a', options)]);
    const { epoch } = cluster.log.state.leader!;
    const later = `files/${hex(epoch + 1)}-b1-1`;
    const own = `files/${hex(epoch)}-b1-1`;
    for (const name of [later, own, 'files/of-others', 'other/x']) {
      cluster.objects.set(name, Buffer.from('x'));
    }
    await work(leader, 20);
    const left = ['files/of-others', later, own, 'other/x'].filter((name) =>
      cluster.objects.has(name),
    );
    assert.deepEqual(left, ['files/of-others', later, 'other/x']);
  });

  it('of a store that became that of another cluster stay', async () => {
    const leader = await cluster.leader([await cluster.start('a', options)]);
    await work(leader, 5);
    const other = new QuietCluster();
    await other.start('other');
    const [foreign, left] = [`files/${hex(0)}-other-1`, `files/${hex(0)}-a1-1`];
    for (const name of [foreign, left]) cluster.objects.set(name, Buffer.from('x'));
    cluster.objects.set('owner', other.objects.get('owner')!);
    const { sequence } = cluster.log.state.settings.checkpoint!;
    await work(leader, 20);
    assert.notEqual(cluster.log.state.settings.checkpoint!.sequence, sequence);
    assert.ok(cluster.objects.has(foreign));
    assert.ok(cluster.objects.has(left));
  });

  it('that a commit is about to name stay', async () => {
    const leader = await cluster.leader([await cluster.start('a', options)]);
    const files = await cluster.run(leader.node.upload([localFile('slow')]));
    const given = await cluster.run(leader.node.upload([localFile('given-up')]));
    leader.node.release(given);
    await work(leader, 20);
    assert.ok(cluster.objects.has(files[0]!.blob));
    assert.ok(!cluster.objects.has(given[0]!.blob));
    await cluster.run(leader.node.commit(() => proposal('slow', files)));
  });

  it('can restore every moment within the retention time', async () => {
    const kept = { ...options, retentionMs: 1e9 };
    const leader = await cluster.leader([await cluster.start('a', kept)]);
    const states: model.State[] = [];
    const moments: number[] = [];
    for (let n = 0; n < 30; n++) {
      await work(leader, 1);
      states[leader.node.applied] = leader.replica.view;
      moments[leader.node.applied] = 1e12 + cluster.scheduler.now;
    }
    await cluster.wait(1000);
    const newest = cluster.log.state.settings.checkpoint!.sequence;
    const restored = async (target: RecoveryTarget): Promise<SimulatedReplica> => {
      const host = new Host('restored', cluster.scheduler, { ...NO_FAULTS });
      const replica = new SimulatedReplica(host, () => {});
      await cluster.run(recover(new MemoryBlobs(cluster.objects), replica, target));
      for (const name of model.filesOf(replica.view, model.STORE)) {
        const found = host.disk.files.get(`${model.STORE}/${name}`)!;
        assert.equal(found.toString(), `the file ${name}`);
      }
      return replica;
    };
    assert.ok(newest > 10);
    for (let sequence = 1; sequence <= newest; sequence++) {
      const bySequence = await restored({ sequence });
      assert.ok(model.isSame(bySequence.view, states[sequence]!), String(sequence));
      const byTime = await restored({ at: moments[sequence]! });
      assert.ok(model.isSame(byTime.view, states[sequence]!), String(sequence));
    }
    await assert.rejects(restored({ sequence: newest + 1 }), /no record after/);
    await assert.rejects(restored({ at: moments[1]! - 1e6 }), /no checkpoint of that time/);
    const checkpoint = [...cluster.objects.keys()].filter((name) =>
      name.startsWith('checkpoints/'),
    );
    cluster.objects.set(checkpoint.toSorted().at(-1)!, Buffer.from('damaged'));
    const around = await restored({ sequence: newest });
    assert.ok(model.isSame(around.view, states[newest]!));
  });
});

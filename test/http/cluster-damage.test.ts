/**
 * Damaged bytes on one node of a cluster, or in its object store: found, fetched again, never
 * served.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BuiltServer, TestResponse } from '../support/built-server.ts';
import { ClusterStage } from '../support/cluster-stage.ts';
import { Random } from './kill/support/random.ts';

const DOCUMENTS = 3000;

describe('Damage on a node of a cluster', function () {
  const seed = Number(process.env.GANNET_SEED ?? Date.now() % 1e9);
  const random = new Random(seed);
  let stage: ClusterStage;
  let leader: BuiltServer;
  let follower: BuiltServer;

  before(async function () {
    stage = await ClusterStage.open(this, {
      leaseSeconds: 2,
      env: { GANNET_COMPARE_PAUSE_MS: '200', GANNET_CHECKPOINT_BYTES: '6000' },
    });
    console.log(`      seed ${seed} (GANNET_SEED)`);
    leader = await stage.start('one');
    await leads(leader);
    follower = await stage.start('two');
    const path = '/indexes/books/settings';
    await leader.finish('PATCH', path, { body: { filterableAttributes: ['color'] } });
    const body = Array.from({ length: DOCUMENTS }, (_, id) => ({
      ...{ id, title: `title ${id} ${'word '.repeat(id % 7)}` },
      color: id % 2 === 0 ? 'red' : 'green',
    }));
    await leader.finish('POST', '/indexes/books/documents', { body });
    await level();
  });

  after(() => stage?.close());

  async function leads(server: BuiltServer): Promise<void> {
    while ((await server.call('GET', '/cluster')).json.leader === null) await delay(20);
  }

  async function level(): Promise<void> {
    for (const server of [leader, follower]) {
      for (;;) {
        const { head, applied } = (await server.call('GET', '/cluster')).json;
        const { applied: ofLeader } = (await leader.call('GET', '/cluster')).json;
        if (applied >= head && applied >= ofLeader) break;
        await delay(20);
      }
    }
  }

  /** The only index's folder. */
  function folder({ data }: BuiltServer): string {
    const [name] = readdirSync(join(data, 'indexes'));
    return join(data, 'indexes', name!);
  }

  function segments(server: BuiltServer): string[] {
    const dir = join(folder(server), 'segments');
    return readdirSync(dir).map((name) => join(dir, name));
  }

  /** Changes one bit in each of some pages. */
  function flip(path: string, every = 4096): void {
    const bytes = readFileSync(path);
    for (let at = 0; at < bytes.length; at += every) {
      const byte = Math.min(at + random.int(0, every), bytes.length - 1);
      bytes[byte]! ^= 1 << random.int(0, 8);
    }
    // A server may have the file open: it keeps its length.
    writeFileSync(path, bytes, { flag: 'r+' });
  }

  const searches = [
    { q: 'title', limit: 5 },
    { q: 'word', filter: 'color = red', limit: 20 },
    { q: '17', facets: ['color'] },
    { q: '', limit: 1000 },
  ];

  const search = (server: BuiltServer, body: unknown): Promise<TestResponse> =>
    server.call('POST', '/indexes/books/search', { body });

  const resultOf = ({ json }: TestResponse): unknown => ({
    ...{ ...json, processingTimeMs: 0, requestUid: '' },
  });

  /** Each response is right, or an error that names the damage. */
  async function neverWrong(): Promise<boolean> {
    let isRight = true;
    for (const body of searches) {
      const [right, seen] = [await search(leader, body), await search(follower, body)];
      if (seen.status === 200) assert.deepEqual(resultOf(seen), resultOf(right));
      else {
        isRight = false;
        const { code } = seen.json;
        assert.ok(['invalid_store_file', 'cluster_unavailable'].includes(code), code);
      }
    }
    return isRight;
  }

  const areEqual = (paths: ReadonlyMap<string, Buffer>): boolean =>
    [...paths].every(([path, bytes]) => {
      const now = statSync(path, { throwIfNoEntry: false });
      return now?.size === bytes.length && readFileSync(path).equals(bytes);
    });

  const copies = (server: BuiltServer): Map<string, Buffer> =>
    new Map(segments(server).map((path) => [path, readFileSync(path)]));

  it('is among the metrics of a cluster, which alerts and the dashboard show', async () => {
    await leader.call('PATCH', '/experimental-features', { body: { metrics: true } });
    const headers = { authorization: `Bearer ${leader.masterKey}` };
    const text = await (await fetch(`${leader.url}/metrics`, { headers })).text();
    const namesIn = (from: string): Set<string> =>
      new Set(Array.from(from.matchAll(/gannet_cluster_\w+/g), ([name]) => name));
    const known = namesIn(text);
    assert.deepEqual(namesIn(readFileSync('docs/grafana.json', 'utf8')), known);
    const alerts = namesIn(readFileSync('docs/deploy/alerts.yaml', 'utf8'));
    assert.ok(alerts.size >= 5);
    for (const name of alerts) assert.ok(known.has(name), name);
    assert.match(text, /^gannet_cluster_commits_since_checkpoint \d+$/m);
    assert.match(text, /^gannet_cluster_log_bytes \d+$/m);
  });

  it('of segments, before a start: never served, and fetched again', async () => {
    await follower.kill();
    const before = copies(follower);
    assert.ok(before.size > 0);
    for (const path of before.keys()) flip(path);
    await follower.restart();
    while (!(await neverWrong()) || !areEqual(before)) await delay(20);
  });

  it('of single bits, of the end of a file, and of a whole one', async () => {
    for (const damage of [
      (path: string) => flip(path, 1 << 30),
      (path: string) => truncateSync(path, statSync(path).size >> 1),
      (path: string) => rmSync(path),
    ]) {
      await follower.kill();
      const before = copies(follower);
      damage([...before.keys()][random.int(0, before.size)]!);
      await follower.restart();
      while (!(await neverWrong()) || !areEqual(before)) await delay(20);
    }
  });

  it('of segments, while the node runs: found without a read, and fetched again', async () => {
    const before = copies(follower);
    for (const path of before.keys()) flip(path);
    while (!areEqual(before)) await delay(20);
    while (!(await neverWrong())) await delay(20);
    // The node goes on with the log.
    await leader.finish('POST', '/indexes/books/documents', { body: [{ id: 0, title: 'new' }] });
    await level();
    while (!(await neverWrong())) await delay(20);
  });

  it('of its databases: it takes all data again', async () => {
    for (const path of [join('store', 'data.mdb'), 'index.mdb']) {
      await follower.kill();
      const inFolder = path === 'index.mdb' ? folder(follower) : follower.data;
      flip(join(inFolder, path));
      // It ends when it finds the damage, with status 1, and is started again.
      const start = (): Promise<void> => follower.restart().catch(() => start());
      await start();
      for (;;) {
        try {
          if (await neverWrong()) break;
        } catch (error) {
          if ((error as Error).message !== 'fetch failed') throw error;
          assert.equal((await follower.exited()).status, 1);
          await start();
        }
        await delay(20);
      }
      await level();
      assert.ok(await neverWrong());
    }
    const verified = await follower.verify();
    assert.ok(verified.valid, verified.text);
    await follower.restart();
  });

  /** The objects that hold files, copies of databases, and large records. */
  function objects(): Map<string, Buffer> {
    const paths = readdirSync(join(stage.store, 'files')).map((name) =>
      join(stage.store, 'files', name),
    );
    assert.notEqual(paths.length, 0);
    return new Map(paths.map((path) => [path, readFileSync(path)]));
  }

  const damagedObjects = async (server: BuiltServer): Promise<string[]> =>
    (await server.call('GET', '/cluster')).json.damagedObjects;

  it('whose object is damaged or missing too: the leader stores it again', async () => {
    for (const damage of [flip, rmSync]) {
      await follower.kill();
      const before = copies(follower);
      for (const path of before.keys()) flip(path);
      for (const path of objects().keys()) damage(path);
      await follower.restart();
      while (!(await neverWrong()) || !areEqual(before)) await delay(20);
      while ((await damagedObjects(follower)).length > 0) await delay(20);
    }
  });

  it('whose object and other copy are damaged too: shown until the object is whole', async () => {
    await leader.call('PATCH', '/experimental-features', { body: { metrics: true } });
    await level();
    const right = new Map<unknown, TestResponse>();
    for (const body of searches) right.set(body, await search(leader, body));
    await follower.kill();
    const before = copies(follower);
    const stored = objects();
    for (const path of [...before.keys(), ...segments(leader), ...stored.keys()]) flip(path);
    await follower.restart();
    while ((await search(follower, searches[0])).json.code !== 'cluster_unavailable') {
      await delay(20);
    }
    const names = [...stored.keys()].map((path) => `files/${basename(path)}`);
    const isShown = async (server: BuiltServer): Promise<boolean> => {
      const shown = await damagedObjects(server);
      return names.some((name) => shown.includes(name));
    };
    while (!(await isShown(follower))) await delay(20);
    const headers = { authorization: `Bearer ${follower.masterKey}` };
    const metrics = await (await fetch(`${follower.url}/metrics`, { headers })).text();
    assert.match(metrics, /gannet_cluster_damaged_objects [1-9]/);
    assert.equal(areEqual(before), false);
    for (const [path, bytes] of stored) writeFileSync(path, bytes);
    while (!areEqual(before)) await delay(20);
    for (const [body, response] of right) {
      for (const server of [leader, follower]) {
        let seen = await search(server, body);
        for (; seen.status !== 200; seen = await search(server, body)) await delay(20);
        assert.deepEqual(resultOf(seen), resultOf(response));
      }
    }
    for (const server of [leader, follower]) {
      while ((await damagedObjects(server)).length > 0) await delay(20);
    }
  });

  it('that the leader meets in a batch: the task succeeds, here or elsewhere', async () => {
    const name = (await leader.call('GET', '/cluster')).json.leader;
    const leading = name === 'one' ? leader : follower;
    await leading.kill();
    await leads(name === 'one' ? follower : leader);
    const before = copies(leading);
    await leading.restart();
    for (const path of before.keys()) flip(path);
    const other = name === 'one' ? follower : leader;
    // The damaged node leads again.
    await other.kill();
    await leads(leading);
    let task = 0;
    for (;;) {
      const sent = { body: [{ id: 1, color: 'blue' }] };
      const { status, json } = await leading.call('PUT', '/indexes/books/documents', sent);
      if (status === 202) {
        task = json.taskUid;
        break;
      }
      assert.equal(status, 503, JSON.stringify(json));
      await delay(50);
    }
    await other.restart();
    const ended = await leading.ended(task);
    assert.equal(ended.status, 'succeeded', JSON.stringify(ended));
    await level();
    while (!(await neverWrong())) await delay(20);
  });
});

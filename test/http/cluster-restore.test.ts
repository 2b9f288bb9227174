/** What a cluster has stored becomes the data of a single server, as it was at a chosen commit. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { CLUSTER, ClusterStage } from '../support/cluster-stage.ts';

const PROGRAM = 'dist/main.cjs';
/** Documents of a step: their payload is a file. */
const DOCUMENTS = 800;

interface State {
  /** The last commit. */
  commit: number;
  /** The response of each path. */
  results: unknown[];
}

describe('gannet restore', function () {
  let stage: ClusterStage;
  let node: BuiltServer;
  let single: BuiltServer;

  before(async function () {
    stage = await ClusterStage.open(this, { env: { GANNET_CHECKPOINT_BYTES: '2000' } });
    single = await startBuiltServer();
    await single.kill();
    node = await stage.start('node');
    while ((await node.call('GET', '/cluster')).json.leader === null) await delay(20);
  });

  after(async () => {
    await single?.close();
    await stage?.close();
  });

  async function resultsOf(server: BuiltServer): Promise<unknown[]> {
    const results: unknown[] = [];
    for (const path of [
      ...['/tasks?limit=1000', '/batches?limit=1000', '/keys', '/webhooks'],
      ...['/indexes/a/documents?limit=10000', '/indexes/a/settings', '/indexes/b/settings'],
    ]) {
      results.push((await server.call('GET', path)).json);
    }
    const search = { body: { q: 'title', filter: 'color = red', limit: 5 } };
    results.push((await server.call('POST', '/indexes/a/search', search)).json.hits);
    return results;
  }

  async function state(): Promise<State> {
    await node.idle();
    return {
      commit: (await node.call('GET', '/cluster')).json.applied,
      results: await resultsOf(node),
    };
  }

  function restore(...options: string[]): { status: number | null; text: string } {
    rmSync(single.data, { recursive: true, force: true });
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [PROGRAM, 'restore', '--db-path', single.data, '--cluster-store', stage.store, ...options],
      { encoding: 'utf8', env: { ...process.env, GANNET_MASTER_KEY: node.masterKey } },
    );
    return { status, text: stdout + stderr };
  }

  const documents = (from: number): object[] =>
    Array.from({ length: DOCUMENTS }, (_, n) => ({
      id: from + n,
      title: `title ${from + n} ${'x'.repeat(100)}`,
      color: n % 2 === 0 ? 'red' : 'green',
    }));

  it('makes a folder that a single server starts with, as of each commit', async () => {
    const states: State[] = [];
    const step = async (method: string, path: string, body: unknown): Promise<void> => {
      await node.call(method, path, { body });
      states.push(await state());
    };
    await step('PATCH', '/indexes/a/settings', { filterableAttributes: ['color'] });
    await step('POST', '/indexes/a/documents', documents(0));
    await step('POST', '/indexes/b/documents', documents(0));
    // Some states are before the first checkpoint, some after it.
    while (!existsSync(join(stage.store, 'checkpoints'))) await delay(20);
    await step('POST', '/swap-indexes', [{ indexes: ['a', 'b'] }]);
    await step('PATCH', '/indexes/a/settings', { filterableAttributes: ['color', 'id'] });
    await step('POST', '/indexes/a/documents', documents(400));
    await node.call('POST', '/keys', {
      body: { actions: ['*'], indexes: ['*'], expiresAt: null, name: 'later' },
    });
    await step('POST', '/indexes/a/documents/delete-batch', [1, 2, 3]);
    const etcdOptions = ['--cluster-etcd', stage.etcd.url, '--cluster-name', CLUSTER];
    for (const { commit, results } of states) {
      const { status, text } = restore('--to', String(commit), ...etcdOptions);
      assert.equal(status, 0, text);
      assert.match(text, new RegExp(`as of commit ${commit}\\.`));
      await single.restart();
      assert.deepEqual(await resultsOf(single), results);
      const { valid, text: verified } = await single.verify();
      assert.ok(valid, verified);
    }
    const { status, text } = restore('--to', String(states.at(-1)!.commit + 999), ...etcdOptions);
    assert.equal(status, 1, text);
    assert.match(text, /There is no record after \d+/);
    assert.deepEqual(readdirSync(join(single.data, '..')), []);
  });

  it('recovers the newest checkpoint without etcd, and continues as a single server', async () => {
    const { status, text } = restore();
    assert.equal(status, 0, text);
    await single.restart();
    const added = await single.finish('POST', '/indexes/c/documents', { body: documents(0) });
    assert.equal(added.status, 'succeeded');
    await single.kill();
  });

  it('refuses dates before everything, and texts that are no date', () => {
    assert.match(restore('--to', '2001-01-01T00:00:00Z').text, /no checkpoint of that time/);
    const { status, text } = restore('--to', 'yesterday');
    assert.deepEqual([status, text], [2, '--to must be a sequence or a date, not `yesterday`.\n']);
  });

  it('goes around a damaged checkpoint, and names what is damaged', () => {
    const flip = (name: string): void => {
      const path = join(stage.store, name);
      const bytes = readFileSync(path);
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(path, bytes);
    };
    const of = (folder: string): string[] =>
      readdirSync(join(stage.store, folder)).map((name) => `${folder}/${name}`);
    const newest = of('checkpoints').toSorted().at(-1)!;
    const { text: whole } = restore();
    flip(newest);
    const { status, text } = restore();
    assert.equal(status, 0, text);
    assert.equal(
      text,
      `The object ${newest} is damaged or missing: an older one serves.\n${whole}`,
    );
    for (const name of of('files')) flip(name);
    const refused = restore();
    assert.equal(refused.status, 1, refused.text);
    assert.match(refused.text, /The object files\/\S+ is damaged/);
  });
});

/** Writes in a network with sharding: sent to every server, each document kept by its owner. */
import assert from 'node:assert/strict';
import { Owners } from '../../src/network/owner.ts';
import type { BuiltServer } from '../support/built-server.ts';
import { type Cluster, startCluster } from './support/cluster.ts';

const UID = 'docs';
const PATH = `/indexes/${UID}/documents`;

describe('Writes in a network that shares documents out', () => {
  let cluster: Cluster;
  let owners: Owners;

  before(async function () {
    this.timeout(60_000);
    cluster = await startCluster({ count: 3, sharding: true });
    owners = new Owners(cluster.names);
    for (const server of cluster.servers) {
      await server.finish('PATCH', `/indexes/${UID}/settings`, {
        body: { filterableAttributes: ['kind'] },
      });
    }
  });
  after(async () => cluster?.close());

  /**
   * Sends a write to one server, and waits until all have executed it. Returns its task there, and
   * those elsewhere by name.
   */
  async function write(
    n: number,
    method: string,
    path: string,
    options: Parameters<BuiltServer['call']>[2] = {},
  ): Promise<{ task: any; elsewhere: Record<string, any> }> {
    const server = cluster.servers[n]!;
    const sent = await server.call(method, path, options);
    assert.equal(sent.status, 202, JSON.stringify(sent.json));
    await cluster.idle();
    const task = (await server.call('GET', `/tasks/${sent.json.taskUid}`)).json;
    const elsewhere: Record<string, any> = {};
    for (const [name, result] of Object.entries<any>(task.network?.remotes ?? {})) {
      const remote = cluster.servers[cluster.names.indexOf(name)]!;
      elsewhere[name] = (await remote.call('GET', `/tasks/${result.task_uid}`)).json;
      assert.deepEqual(elsewhere[name].network, {
        origin: { remoteName: cluster.names[n], taskUid: task.uid },
      });
    }
    return { task, elsewhere };
  }

  async function ids(n: number): Promise<number[]> {
    const { json } = await cluster.servers[n]!.call('GET', `${PATH}?limit=100000&fields=id`);
    return json.results.map(({ id }: { id: number }) => id).sort((a: number, b: number) => a - b);
  }

  const documents = (from: number, count: number, more = {}): unknown[] =>
    Array.from({ length: count }, (_, n) => ({ id: from + n, kind: n % 2 ? 'a' : 'b', ...more }));

  async function assertShared(expected: number[]): Promise<void> {
    for (const n of [0, 1, 2]) {
      const own = expected.filter((id) => owners.ownerOf(String(id)) === cluster.names[n]);
      assert.deepEqual(await ids(n), own, cluster.names[n]);
    }
  }

  const range = (from: number, count: number): number[] =>
    Array.from({ length: count }, (_, n) => from + n);

  it('reach every server, which keeps its own documents', async function () {
    this.timeout(30_000);
    const { task, elsewhere } = await write(1, 'POST', PATH, { body: documents(0, 60) });
    assert.deepEqual(Object.keys(task.network.remotes), ['s0', 's2']);
    let indexed = 0;
    for (const one of [task, ...Object.values(elsewhere)]) {
      assert.equal(one.status, 'succeeded', JSON.stringify(one));
      assert.equal(one.details.receivedDocuments, 60);
      indexed += one.details.indexedDocuments;
    }
    assert.equal(indexed, 60);
    await assertShared(range(0, 60));
    for (const server of cluster.servers) {
      assert.equal((await server.call('GET', `/indexes/${UID}`)).json.primaryKey, 'id');
    }
  });

  it('come as lines and as CSV, small and large', async function () {
    this.timeout(60_000);
    const csv = ['id:number,kind', ...range(60, 20).map((id) => `${id};a`.replace(';', ','))].join(
      '\n',
    );
    await write(0, 'POST', PATH, { text: csv, type: 'text/csv' });
    const semicolons = csv.replaceAll(',', ';').replace(/^6\d.*\n/gm, '');
    await write(2, 'POST', `${PATH}?csvDelimiter=%3B`, { text: semicolons, type: 'text/csv' });
    const padding = 'x'.repeat(2000);
    const lines = documents(80, 200, { padding }).map((one) => JSON.stringify(one));
    const type = 'application/x-ndjson';
    const { task } = await write(2, 'PUT', PATH, { text: lines.join('\n'), type });
    assert.equal(task.status, 'succeeded', JSON.stringify(task));
    const array = JSON.stringify(documents(280, 200, { padding }), null, 2);
    await write(0, 'POST', PATH, { text: array });
    await assertShared(range(0, 480));
  });

  it('that update change what is there, and nothing elsewhere', async function () {
    this.timeout(30_000);
    await write(0, 'PUT', PATH, { body: [{ id: 3, extra: 1 }] });
    await assertShared(range(0, 480));
    const owner = cluster.names.indexOf(owners.ownerOf('3'));
    const { json } = await cluster.servers[owner]!.call('GET', `${PATH}/3`);
    assert.deepEqual(json, { id: 3, kind: 'a', extra: 1 });
  });

  it('without usable id fail everywhere alike', async function () {
    this.timeout(30_000);
    const { task, elsewhere } = await write(0, 'POST', PATH, {
      body: [{ id: 1000 }, { id: 'a b' }],
    });
    for (const one of [task, ...Object.values(elsewhere)]) {
      assert.equal(one.error.code, 'invalid_document_id');
    }
    await assertShared(range(0, 480));
  });

  it('that delete and edit act on every server', async function () {
    this.timeout(30_000);
    await write(0, 'DELETE', `${PATH}/479`);
    await write(1, 'POST', `${PATH}/delete-batch`, { body: range(470, 9) });
    await assertShared(range(0, 470));
    const edited = await write(2, 'POST', `${PATH}/edit`, {
      body: { function: 'doc.edited = true', filter: 'kind = b' },
    });
    let count = 0;
    for (const one of [edited.task, ...Object.values(edited.elsewhere)]) {
      count += one.details.editedDocuments;
    }
    assert.equal(count, 225);
    await write(2, 'POST', `${PATH}/delete`, { body: { filter: 'kind = b' } });
    const left = (await Promise.all([0, 1, 2].map(ids))).flat();
    assert.equal(left.length, 245);
    await write(0, 'DELETE', PATH);
    await assertShared([]);
  });

  it('to an index that is new make it everywhere, with the same primary key', async function () {
    this.timeout(30_000);
    const path = '/indexes/fresh/documents';
    await write(0, 'POST', path, { body: [{ theId: 1, x: 1 }] });
    for (const server of cluster.servers) {
      assert.equal((await server.call('GET', '/indexes/fresh')).json.primaryKey, 'theId');
    }
    await write(1, 'POST', '/indexes/empty/documents', { body: [] });
  });

  it('of other kinds stay where they are', async () => {
    const { json } = await cluster.servers[0]!.call('POST', '/indexes', { body: { uid: 'local' } });
    await cluster.servers[0]!.idle();
    const task = (await cluster.servers[0]!.call('GET', `/tasks/${json.taskUid}`)).json;
    assert.equal(task.network, undefined);
    assert.equal((await cluster.servers[1]!.call('GET', '/indexes/local')).status, 404);
  });

  it('with headers that cannot be are refused', async () => {
    const [server] = cluster.servers;
    const send = async (headers: Record<string, string>): Promise<unknown> => {
      const response = await fetch(`${server!.url}${PATH}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server!.masterKey}`,
          'content-type': 'application/json',
          ...headers,
        },
        body: '[]',
      });
      const { code } = (await response.json()) as { code?: string };
      return code ?? response.status;
    };
    const remote = 'X-Meili-Proxy-Origin-Remote';
    const uid = 'X-Meili-Proxy-Origin-TaskUid';
    assert.equal(await send({ [remote]: 's1' }), 'inconsistent_document_change_headers');
    assert.equal(await send({ [uid]: '1' }), 'inconsistent_document_change_headers');
    assert.equal(await send({ [remote]: 's1', [uid]: 'x' }), 'invalid_header_value');
    assert.equal(await send({ [remote]: '%zz', [uid]: '1' }), 'invalid_header_value');
    assert.equal(await send({ 'Meili-Proxy-Origin-Remote': 's%201', [uid]: '7' }), 202);
  });
});

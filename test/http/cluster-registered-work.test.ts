/**
 * What the leader of a cluster registers by itself, of documents: another leader goes on with it.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { BuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider } from '../support/embedding-provider.ts';
import { ClusterStage } from '../support/cluster-stage.ts';

const NODES = 2;

describe('The work that a leader registers by itself', function () {
  let stage: ClusterStage | undefined;
  let provider: EmbeddingProvider;
  let servers: BuiltServer[] = [];

  before(async function () {
    const opened = (stage = await ClusterStage.open(this));
    provider = await EmbeddingProvider.start();
    servers = await Promise.all(Array.from({ length: NODES }, (_, n) => opened.start(`node-${n}`)));
  });

  after(async () => {
    provider?.stop();
    await stage?.close();
  });

  async function until(isDone: () => Promise<boolean>): Promise<void> {
    while (!(await isDone())) await delay(20);
  }

  /** Registers a task, and waits for its end. */
  async function finish(server: BuiltServer, method: string, path: string, body: unknown) {
    for (;;) {
      const { status, json } = await server.call(method, path, { body });
      if (status === 202) {
        const task = await server.ended(json.taskUid);
        assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
        return;
      }
      assert.equal(status, 503, JSON.stringify(json));
      await delay(50);
    }
  }

  /** The node that leads, and the other one. */
  async function nodes(): Promise<[leader: BuiltServer, follower: BuiltServer]> {
    for (;;) {
      const { leader } = (await servers[0]!.call('GET', '/cluster')).json;
      const found = servers.findIndex((_, n) => `node-${n}` === leader);
      if (found >= 0) return [servers[found]!, servers[1 - found]!];
      await delay(20);
    }
  }

  it('embeds documents: the next leader those that wait, and each once', async () => {
    const [leader, follower] = await nodes();
    const embedder = provider.embedder('{{ doc.title }}', { mode: 'background' });
    const later = '/indexes/books/embedders/later';
    const count = async (server: BuiltServer): Promise<number> =>
      (await server.call('GET', later)).json.done;
    await finish(follower, 'PATCH', '/indexes/books/settings', { embedders: { later: embedder } });
    const titles = ['ada', 'bert', 'cora', 'dora', 'emil', 'fred'];
    const add = (from: number, to: number): Promise<void> => {
      const documents = titles.slice(from, to).map((title, n) => ({ id: from + n, title }));
      return finish(follower, 'POST', '/indexes/books/documents', documents);
    };
    await add(0, 2);
    for (const server of servers) await until(async () => (await count(server)) === 2);
    const sent = (): string[] =>
      provider.received
        .flatMap(({ body }) => (body as { input: string[] }).input)
        .filter((text) => titles.includes(text))
        .toSorted();
    assert.deepEqual(sent(), titles.slice(0, 2));
    provider.always = () => 'down';
    await add(2, 6);
    await until(async () => (await leader.call('GET', later)).json.problem !== null);
    const { waiting, problem } = (await follower.call('GET', later)).json;
    assert.deepEqual([waiting, problem], [4, null], 'the follower embeds nothing');
    await leader.kill();
    await until(async () => (await follower.call('GET', later)).json.problem !== null);
    provider.received.length = 0;
    provider.always = null;
    await until(async () => (await count(follower)) === 6);
    await leader.restart();
    await until(async () => (await count(leader)) === 6);
    const { hits } = (
      await leader.call('POST', '/indexes/books/search', {
        body: { q: 'emil', hybrid: { embedder: 'later', semanticRatio: 1 }, limit: 1 },
      })
    ).json;
    assert.equal(hits[0].id, 4);
    // The search has sent `emil` as well.
    assert.deepEqual(sent(), ['cora', 'dora', 'emil', 'emil', 'fred']);
  });

  it('deletes expired documents: the next leader those that nobody has deleted', async () => {
    const [first, second] = await nodes();
    await finish(second, 'PATCH', '/indexes/offers/settings', { expiresAtAttribute: 'until' });
    const path = '/tasks?types=documentDeletion&indexUids=offers&statuses=succeeded';
    const deletions = async (server: BuiltServer): Promise<any[]> =>
      (await server.call('GET', path)).json.results;
    const expired = (id: number): object => ({ id, until: '2020-01-01' });
    await finish(second, 'POST', '/indexes/offers/documents', [expired(1), { id: 2 }]);
    for (const server of servers) await until(async () => (await deletions(server)).length === 1);
    await finish(second, 'POST', '/indexes/offers/documents', [expired(3), expired(4)]);
    await first.kill();
    await until(async () => (await deletions(second)).length >= 2);
    await first.restart();
    await until(async () => {
      const counted = (await deletions(first)).map(({ details }) => details.deletedDocuments);
      return counted.reduce((sum, one) => sum + one, 0) === 3;
    });
    for (const server of servers) {
      const { json } = await server.call('GET', '/indexes/offers/stats');
      assert.equal(json.numberOfDocuments, 1);
    }
    // Not one for each node. The one of the dead leader may have waited when the next one looked.
    assert.ok((await deletions(second)).length <= 3);
  });
});

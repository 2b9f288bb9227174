/** What the nodes of a cluster record: reports, events and suggestions count that of all. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { BuiltServer } from '../support/built-server.ts';
import { ClusterStage } from '../support/cluster-stage.ts';

const NAMES = ['one', 'two', 'three'];

describe('Analytics of a cluster', function () {
  let stage: ClusterStage | undefined;
  let servers: BuiltServer[] = [];

  before(async function () {
    const opened = (stage = await ClusterStage.open(this, { leaseSeconds: 2 }));
    servers = await Promise.all(
      NAMES.map((node) =>
        opened.start(node, [
          ...['--analytics-retention-days', '30'],
          // Searches of all threads count as well.
          ...(node === 'one' ? [] : ['--http-threads', '2']),
        ]),
      ),
    );
    while ((await servers[0]!.call('GET', '/cluster')).json.nodes.length < NAMES.length) {
      await delay(20);
    }
    for (;;) {
      const body = [{ id: 1, title: 'running shoes' }];
      const sent = await servers[0]!.call('POST', '/indexes/books/documents', { body });
      if (sent.status !== 202) {
        await delay(50);
        continue;
      }
      for (const server of servers) {
        while ((await server.call('GET', '/indexes/books')).status !== 200) await delay(20);
      }
      const body2 = { suggestions: { minUsers: 2 } };
      await servers[0]!.finish('PATCH', '/indexes/books/settings', { body: body2 });
      return;
    }
  });

  after(async () => {
    await stage?.close();
  });

  async function post(
    { url, masterKey }: BuiltServer,
    path: string,
    body: object,
    headers: object = {},
  ): Promise<any> {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
        ...headers,
      },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    assert.ok(response.ok, text);
    return text === '' ? null : JSON.parse(text);
  }

  const searchAs = (server: BuiltServer, q: string, user: string): Promise<any> =>
    post(
      server,
      '/indexes/books/search',
      { q },
      { 'x-svc-user-id': user, 'meili-include-metadata': 'true' },
    );

  it('counts the searches and events of all nodes, whichever is asked', async () => {
    const uids: string[] = [];
    for (const server of servers) {
      const { metadata } = await searchAs(server, 'running', 'ada');
      uids.push(metadata.queryUid);
    }
    // Each event is sent to another node than that of its search.
    for (const [n, queryUid] of uids.entries()) {
      const event = { eventType: 'click', eventName: 'opened', indexUid: 'books', queryUid };
      await post(servers[(n + 1) % 3]!, '/events', { ...event, position: n });
    }
    for (const server of servers) {
      const { results } = (await server.call('GET', '/analytics/summary')).json;
      const { searches, clicks, clickedSearches, clickThroughRate } = results[0];
      assert.deepEqual(
        { searches, clicks, clickedSearches, clickThroughRate },
        { searches: 3, clicks: 3, clickedSearches: 3, clickThroughRate: 1 },
      );
      const top = (await server.call('GET', '/analytics/top-searches')).json;
      assert.deepEqual(
        top.results.map(({ query, searches: count, clicks: of }: any) => [query, count, of]),
        [['running', 3, 3]],
      );
      assert.equal(top.missingNodes, undefined);
    }
  });

  it('binds an event to the last search of its user on any node', async () => {
    await searchAs(servers[0]!, 'early', 'bob');
    await searchAs(servers[1]!, 'late', 'bob');
    const event = { eventType: 'conversion', eventName: 'bought', indexUid: 'books' };
    await post(servers[2]!, '/events', { ...event, userId: 'bob' });
    const { results } = (await servers[0]!.call('GET', '/analytics/top-searches')).json;
    const conversions = new Map(results.map((row: any) => [row.query, row.conversions]));
    assert.deepEqual([conversions.get('early'), conversions.get('late')], [0, 1]);
  });

  it('compares interleaved indexes by the clicks of all nodes', async () => {
    for (const [n, server] of servers.entries()) {
      const headers = { 'x-svc-user-id': `u${n}`, 'meili-include-metadata': 'true' };
      const body = { q: `shoes ${n}`, interleave: { with: 'books' } };
      const { metadata } = await post(server, '/indexes/books/search', body, headers);
      const event = { eventType: 'click', eventName: 'opened', indexUid: 'books', objectId: 1 };
      await post(servers[(n + 1) % 3]!, '/events', { ...event, queryUid: metadata.queryUid });
    }
    for (const server of servers) {
      const { json } = await server.call('GET', '/analytics/interleaving');
      const [{ indexUid, with: other, searches, wins, losses }] = json.results;
      assert.deepEqual([indexUid, other, searches, wins + losses], ['books', 'books', 3, 3]);
      assert.equal(json.missingNodes, undefined);
    }
  });

  it('suggests what users of several nodes have searched, and none of one user alone', async () => {
    for (const server of servers) await searchAs(server, 'running alone', 'ada');
    await searchAs(servers[0]!, 'running shoes', 'eve');
    await searchAs(servers[1]!, 'running shoes', 'dan');
    for (const server of servers) {
      for (;;) {
        const { suggestions } = await post(server, '/indexes/books/suggest', { q: 'runn' });
        if (suggestions.length > 0) {
          assert.deepEqual(suggestions, [{ text: 'running shoes', source: 'searches', count: 2 }]);
          break;
        }
        await delay(50);
      }
    }
  });

  it('adds up the costs of the searches of all nodes', async () => {
    for (const server of servers) {
      const { results, missingNodes } = (await server.call('GET', '/insights/searches?by=count'))
        .json;
      const known = results.find(({ words }: any) => words === 1);
      assert.deepEqual([known.parameters, known.count, missingNodes], [['q'], 5, []]);
      assert.ok(known.durations.reduce((sum: number, { count }: any) => sum + count, 0) === 5);
      const running = (await server.call('GET', '/insights/running')).json;
      assert.deepEqual(running, { results: [], missingNodes: [] });
    }
    for (const id of ['0-99999', '0-99999@two', '0-99999@nobody']) {
      const path = `/insights/running/${encodeURIComponent(id)}/cancel`;
      const { status, json } = await servers[0]!.call('POST', path);
      assert.deepEqual([status, json.code], [404, 'search_not_found'], id);
    }
  });

  it('shows rows to nodes alone', async () => {
    const server = servers[0]!;
    for (const [method, path] of [
      ['GET', '/cluster/rows'],
      ['POST', '/cluster/events?event={}'],
    ] as const) {
      const { status, json } = await server.call(method, path);
      assert.deepEqual([status, json.code], [403, 'invalid_api_key']);
    }
  });

  it('names a node that hangs, and one that is dead, and goes on', async () => {
    const [asked, hung, dead] = servers as [BuiltServer, BuiltServer, BuiltServer];
    await dead.kill();
    process.kill(hung.pid, 'SIGSTOP');
    try {
      const { json } = await asked.call('GET', '/analytics/summary');
      assert.deepEqual(json.missingNodes.toSorted(), ['three', 'two']);
      assert.ok(json.results[0].searches >= 2);
      const event = { eventType: 'click', eventName: 'opened', indexUid: 'books', userId: 'ada' };
      await post(asked, '/events', event);
      const csv = await fetch(`${asked.url}/analytics/top-searches?format=csv`, {
        headers: { authorization: `Bearer ${asked.masterKey}` },
      });
      assert.match(csv.headers.get('gannet-missing-nodes')!, /two/);
      const { missingNodes } = (await asked.call('GET', '/insights/searches')).json;
      assert.deepEqual(missingNodes, ['three', 'two']);
      const path = `/insights/running/${encodeURIComponent('0-1@two')}/cancel`;
      assert.equal((await asked.call('POST', path)).json.code, 'cluster_unavailable');
    } finally {
      process.kill(hung.pid, 'SIGCONT');
    }
    await dead.restart();
    for (;;) {
      const { json } = await asked.call('GET', '/analytics/summary');
      if (json.missingNodes === undefined) break;
      await delay(50);
    }
  });
});

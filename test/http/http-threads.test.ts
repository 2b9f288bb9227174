/** A server whose searches are served by several threads behaves as one with a single thread. */
import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { Meilisearch } from 'meilisearch';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { freePort } from '../support/free-port.ts';
import { mulberry } from '../support/random.ts';

const THREADS = 3;
/** The master key of before. */
const PREVIOUS = 'previousMasterKey';

describe('HTTP threads', () => {
  let server: BuiltServer;
  let client: Meilisearch;
  let metricsPort: number;

  before(async () => {
    metricsPort = await freePort();
    server = await startBuiltServer([
      ...['--http-threads', String(THREADS), '--metrics-addr', `127.0.0.1:${metricsPort}`],
      ...['--master-key-previous', PREVIOUS],
    ]);
    client = new Meilisearch({ host: server.url, apiKey: server.masterKey });
    await server.finish('PATCH', '/indexes/movies/settings', {
      body: { filterableAttributes: ['year'], sortableAttributes: ['year'] },
    });
    const documents = Array.from({ length: 50 }, (_, id) => ({
      ...{ id, title: `film number ${id}`, year: 1970 + (id % 40) },
    }));
    await server.finish('POST', '/indexes/movies/documents', { body: documents });
  });
  after(() => server.close());

  interface Sent {
    method?: string;
    key?: string;
    body?: Buffer | string;
    headers?: Record<string, string>;
  }

  /** One connection: all of its requests are received by the same thread. */
  function connection() {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const send = (path: string, sent: Sent = {}): Promise<{ status: number; text: string }> =>
      new Promise((resolve, reject) => {
        const { method = 'GET', key = server.masterKey, body, headers = {} } = sent;
        const request = httpRequest(server.url + path, {
          ...{ agent, method },
          headers: {
            authorization: `Bearer ${key}`,
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          },
        });
        request.on('error', reject);
        request.on('response', (response) => {
          let text = '';
          response.on('data', (part: Buffer) => (text += part.toString()));
          response.on('error', reject);
          response.on('end', () => resolve({ status: response.statusCode!, text }));
        });
        request.end(body);
      });
    return { send, close: () => agent.destroy() };
  }

  it('serve a client as one thread does', async () => {
    const index = client.index('movies');
    const found = await index.search('number', { filter: 'year = 1975', sort: ['year:asc'] });
    assert.deepEqual(
      found.hits.map(({ id }) => id),
      [5, 45],
    );
    const { results } = await client.multiSearch({
      queries: [
        { indexUid: 'movies', q: 'film 7' },
        { indexUid: 'movies', q: '', limit: 1 },
      ],
    });
    assert.equal(results.length, 2);
    const merged = await client.multiSearch({
      federation: {},
      queries: [
        { indexUid: 'movies', q: '11' },
        { indexUid: 'movies', q: '12' },
      ],
    });
    assert.deepEqual(merged.hits.map(({ id }) => id).sort(), [11, 12]);
    assert.equal((await index.getDocument(3)).title, 'film number 3');
    assert.equal((await index.getDocuments({ limit: 2 })).results.length, 2);
    assert.equal((await client.health()).status, 'available');
    await assert.rejects(client.index('nothing').search(''), /not found/);
    assert.equal((await client.getStats()).indexes['movies']!.numberOfDocuments, 50);
  });

  it('find a change as soon as its task has ended, on every connection', async () => {
    const connections = Array.from({ length: 2 * THREADS }, connection);
    for (let round = 0; round < 5; round++) {
      const uid = `round-${round}`;
      await server.finish('POST', `/indexes/${uid}/documents`, { body: [{ id: 1, round }] });
      for (const { send } of connections) {
        const { status, text } = await send(`/indexes/${uid}/search?q=${round}`);
        assert.equal(status, 200, text);
        assert.equal(JSON.parse(text).hits.length, 1);
      }
      await server.finish('DELETE', `/indexes/${uid}`);
      for (const { send } of connections) {
        assert.equal((await send(`/indexes/${uid}/search`)).status, 404);
      }
    }
    for (const { close } of connections) close();
  });

  it('refuse a key from the moment that its deletion was answered', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = mulberry(seed);
    const connections = Array.from({ length: 3 * THREADS }, connection);
    const any = () => connections[Math.floor(random() * connections.length)]!;
    const create = async (): Promise<{ uid: string; key: string }> => {
      const body = JSON.stringify({ actions: ['search'], indexes: ['movies'], expiresAt: null });
      return JSON.parse((await any().send('/keys', { method: 'POST', body })).text);
    };
    for (let round = 0; round < 60; round++) {
      const { uid, key } = await create();
      const path = '/indexes/movies/search?q=film&limit=1';
      const search = () => any().send(path, { key });
      for (let n = Math.floor(random() * 4); n > 0; n--) {
        assert.equal((await search()).status, 200, `seed ${seed}, round ${round}: a new key`);
      }
      // Some are under way while the key is deleted: either answer is right.
      const meanwhile = Array.from({ length: Math.floor(random() * 6) }, search);
      const deleted = await any().send(`/keys/${uid}`, { method: 'DELETE' });
      assert.equal(deleted.status, 204);
      const after = await Promise.all(connections.map(({ send }) => send(path, { key })));
      for (const { status } of after) assert.equal(status, 403, `seed ${seed}, round ${round}`);
      for (const { status } of await Promise.all(meanwhile)) assert.ok([200, 403].includes(status));
    }
    for (const { close } of connections) close();
  });

  it('apply a feature and a search rule from the moment that the change was answered', async () => {
    const connections = Array.from({ length: 2 * THREADS }, connection);
    const filter = encodeURIComponent('title CONTAINS number');
    for (const containsFilter of [true, false, true, false]) {
      const body = JSON.stringify({ containsFilter });
      await connections[0]!.send('/experimental-features', { method: 'PATCH', body });
      for (const { send } of connections) {
        const { text } = await send(`/indexes/movies/search?filter=${filter}`);
        const { code } = JSON.parse(text) as { code?: string };
        assert.equal(code === 'feature_not_enabled', !containsFilter, text);
      }
    }
    for (const { close } of connections) close();
  });

  it('know which attributes are displayed', async () => {
    await server.finish('POST', '/indexes/secret/documents', { body: [{ id: 1, hidden: 'x' }] });
    await server.finish('PATCH', '/indexes/secret/settings', {
      body: { filterableAttributes: ['hidden'], displayedAttributes: ['id'] },
    });
    const connections = Array.from({ length: 2 * THREADS }, connection);
    const body = JSON.stringify({ groupBy: { attribute: 'hidden' } });
    for (const { send } of connections) {
      const { status, text } = await send('/indexes/secret/search', { method: 'POST', body });
      assert.equal(status, 400, text);
    }
    for (const { close } of connections) close();
  });

  it('refuse conditions on other indexes as one thread does', async () => {
    const connections = Array.from({ length: 2 * THREADS }, connection);
    const filter = encodeURIComponent('_foreign(year, title = x)');
    for (const { send } of connections) {
      for (const path of ['/indexes/movies/search?filter=', '/indexes/movies/documents?filter=']) {
        const { text } = await send(path + filter);
        assert.equal(JSON.parse(text).code, 'feature_not_enabled', text);
      }
    }
    for (const { close } of connections) close();
  });

  it('pass on a large body whole, and the answer to it', async () => {
    const text = randomBytes(6000).toString('base64');
    const documents = Array.from({ length: 2500 }, (_, id) => ({ id, text: `${id} ${text}` }));
    const body = Buffer.from(JSON.stringify(documents));
    assert.ok(body.length > 16 * 2 ** 20);
    const { send, close } = connection();
    const added = await send('/indexes/large/documents', { method: 'POST', body });
    assert.equal(added.status, 202, added.text);
    const task = await server.ended(JSON.parse(added.text).taskUid);
    assert.equal(task.status, 'succeeded');
    const { text: listed } = await send('/indexes/large/documents?limit=2500');
    const digest = (value: unknown): string =>
      createHash('sha256').update(JSON.stringify(value)).digest('hex');
    assert.equal(digest(JSON.parse(listed).results), digest(documents));
    close();
  });

  it('end a search and a forwarded request when the client goes away', async () => {
    for (const path of ['/indexes/movies/search', '/tasks/stream']) {
      const request = httpRequest(server.url + path, {
        headers: { authorization: `Bearer ${server.masterKey}` },
      });
      request.on('error', () => {});
      request.end();
      request.destroy();
    }
    assert.equal((await client.health()).status, 'available');
  });

  it('end with the process, in its time, whatever connections are open', async () => {
    const short = await startBuiltServer(['--http-threads', '2', '--shutdown-seconds', '0']);
    const open = Array.from({ length: 4 }, () => fetch(`${short.url}/health`));
    await Promise.all(open);
    await short.kill('SIGTERM');
    assert.equal((await short.exited()).status, 0);
    await short.close();
  });

  it('all know the values of a rotated key, and the previous master key', async () => {
    const connections = Array.from({ length: 2 * THREADS }, connection);
    const statuses = async (key: string): Promise<number[]> => {
      const sent = connections.map(({ send }) => send('/indexes/movies/search?q=film', { key }));
      return [...new Set((await Promise.all(sent)).map(({ status }) => status))];
    };
    const { uid, key } = await client.createKey({
      ...{ actions: ['search'], indexes: ['movies'], expiresAt: null },
    });
    const rotate = async (body?: object): Promise<string> =>
      (await server.call('POST', `/keys/${uid}/rotate`, body && { body })).json.key;
    assert.deepEqual(await statuses(key), [200]);
    const second = await rotate();
    for (const value of [key, second]) assert.deepEqual(await statuses(value), [200]);
    const third = await rotate({ previousExpiresAt: '2020-01-01' });
    for (const value of [key, second]) assert.deepEqual(await statuses(value), [403]);
    for (const value of [third, PREVIOUS]) assert.deepEqual(await statuses(value), [200]);
    const old = createHmac('sha256', PREVIOUS).update(`${uid} 2`).digest('hex');
    assert.deepEqual(await statuses(old), [200]);
    const { status } = await server.call('POST', `/keys/${uid}/rotate`, {
      body: { previousExpiresAt: 'soon' },
    });
    assert.equal(status, 400);
    for (const { close } of connections) close();
  });

  it('sum up the metrics of all threads', async () => {
    const shown = async (): Promise<(name: string) => number> => {
      const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`, {
        headers: { authorization: `Bearer ${server.masterKey}` },
      });
      const lines = (await response.text()).split('\n').map((line) => line.split(' '));
      return (name) => Number(lines.find(([one]) => one === `gannet_${name}`)?.[1] ?? 0);
    };
    const counts = [
      'http_requests_total{method="GET",path="/indexes/{index_uid}/search",status="200"}',
      'search_duration_seconds_count{kind="search",order="words"}',
      'search_wait_seconds_count',
    ];
    const before = await shown();
    const connections = Array.from({ length: 2 * THREADS }, connection);
    for (const { send } of connections) await send('/indexes/movies/search?q=film');
    const after = await shown();
    for (const name of counts) assert.equal(after(name) - before(name), connections.length, name);
    assert.ok(after('search_permits') >= 1);
    // It needs the feature at the main address, as before.
    assert.equal((await connections[0]!.send('/metrics')).status, 400);
    for (const { close } of connections) close();
  });
});

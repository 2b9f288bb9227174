import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../support/fake-clock.ts';
import { ApiError } from '../../src/contract/errors.ts';
import type { SearchResponse } from '../../src/search/response.ts';
import { headOf } from '../support/result-head.ts';
import { freePort } from '../support/free-port.ts';
import { settle } from './kill/support/compare.ts';
import { addonIsBuilt, ServerProcess } from './kill/support/server-process.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

describe('Operations', () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTestServer();
    server.services.addIndex('movies');
  });
  afterEach(() => server.close());

  it('report health without a key and version with one', async () => {
    const health = await server.call('GET', '/health', { key: null });
    assert.deepEqual(health.json, { status: 'available' });
    const version = await server.call('GET', '/version');
    const level = ['pkgVersion', 'serverVersion', 'serverName'];
    assert.deepEqual(Object.keys(version.json), ['commitSha', 'commitDate', ...level]);
    assert.deepEqual(
      level.map((name) => version.json[name]),
      ['1.50.0', '1.0.0', 'Gannet'],
    );
  });

  it('switch features on and off at once', async () => {
    assert.equal((await server.call('GET', '/metrics')).json.code, 'feature_not_enabled');
    const patched = await server.call('PATCH', '/experimental-features', {
      body: { metrics: true, network: null },
    });
    assert.equal(patched.json.metrics, true);
    await server.call('POST', '/indexes/movies/search', { body: {} });
    const metrics = await server.call('GET', '/metrics');
    assert.match(metrics.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/);
    assert.match(
      metrics.text,
      /gannet_http_requests_total\{method="POST",path="\/indexes\/\{index_uid\}\/search",status="200"\} 1/,
    );
    assert.match(metrics.text, /gannet_index_documents\{index="movies"\} 0/);
    assert.match(metrics.text, /^gannet_http_response_time_seconds_bucket\{le="\+Inf",.*\} 1$/m);
    assert.match(metrics.text, /^gannet_searches_running 2$/m);
    assert.match(metrics.text, /^gannet_searches_waiting_to_be_processed 1$/m);
    assert.match(metrics.text, /^gannet_task_queue_size_until_stop_registering 300$/m);
  });

  it('stream the logs to one client until the stream is ended', async () => {
    await server.call('PATCH', '/experimental-features', { body: { logsRoute: true } });
    const headers = {
      authorization: 'Bearer MASTER_KEY_OF_TESTS',
      'content-type': 'application/json',
    };
    const stream = await fetch(`${server.url}/logs/stream`, {
      method: 'POST',
      headers,
      body: '{"mode":"json"}',
    });
    assert.equal(stream.status, 200);
    const second = await server.call('POST', '/logs/stream', { body: {} });
    assert.equal(second.json.code, 'bad_request');
    assert.equal((await server.call('DELETE', '/logs/stream')).status, 204);
    await stream.text();
    assert.equal((await server.call('DELETE', '/logs/stream')).status, 204);
  });

  it('ask a client to come back when the search queue is full', async () => {
    server.services.local.search = () =>
      Promise.reject(new ApiError('too_many_search_requests', 'the queue of 1000 is full'));
    const response = await server.call('POST', '/indexes/movies/search', { body: {} });
    assert.equal(response.status, 503);
    assert.equal(response.headers.get('retry-after'), '10');
    assert.equal(response.json.type, 'system');
  });

  it('report an unexpected failure as internal and go on', async () => {
    server.services.local.search = () => {
      throw new TypeError('bug');
    };
    const response = await server.call('POST', '/indexes/movies/search', { body: {} });
    assert.equal(response.status, 500);
    assert.equal(response.json.code, 'internal');
    assert.equal((await server.call('GET', '/health')).status, 200);
  });

  it('find the faults of a search before the engine is asked', async () => {
    const cases: [string, object, string][] = [
      ['none', { filter: 'a =' }, 'invalid_search_filter'],
      ['none', { filter: 3 }, 'invalid_search_filter'],
      ['none', { filter: 'a = 1' }, 'index_not_found'],
      ['movies', { vector: [1] }, 'missing_search_hybrid'],
      ['movies', { vector: [1], media: {} }, 'invalid_search_media_and_vector'],
      ['movies', { q: 'x', hybrid: { embedder: 'e' } }, 'invalid_search_embedder'],
      ['movies', { useNetwork: true }, 'feature_not_enabled'],
      ['movies', { personalize: { userContext: 'x' } }, 'feature_not_enabled'],
    ];
    for (const [uid, body, code] of cases) {
      const response = await server.call('POST', `/indexes/${uid}/search`, { body });
      assert.equal(response.json.code, code, JSON.stringify(body));
    }
    const ignored = await server.call('POST', '/indexes/movies/search', {
      body: { hybrid: { embedder: 'e' } },
    });
    assert.equal(ignored.status, 200, 'a placeholder never looks at the embedder');
  });

  it('stop: running requests are finished, new connections refused', async () => {
    let release: (response: SearchResponse) => void = () => {};
    const started = new Promise<void>((resolve) => {
      server.services.local.search = () => {
        resolve();
        return new Promise((response) => (release = response));
      };
    });
    const pending = server.call('POST', '/indexes/movies/search', { body: {} });
    await started;
    const stopped = server.server.stop(5000);
    release({ bytes: Buffer.from('{"hits":[]}'), head: headOf(0) });
    assert.deepEqual((await pending).json, { hits: [] });
    await stopped;
    await assert.rejects(fetch(`${server.url}/health`));
  });
});

describe('A data folder', () => {
  let dir: string;
  let running: ServerProcess | null = null;
  const version = (): string => readFileSync(join(dir, 'VERSION'), 'utf8').trim();

  async function start(...args: string[]): Promise<ServerProcess> {
    running = new ServerProcess({ dir, port: await freePort(), args });
    await running.ready();
    return running;
  }

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'gannet-older-'))));
  afterEach(async () => {
    await running?.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  it('of an older version needs --upgrade-db for one start', async () => {
    const first = await start();
    await first.client.call('POST', '/indexes', { body: { uid: 'movies' } });
    await settle(first.client);
    await first.stop();
    const ours = version();
    writeFileSync(join(dir, 'VERSION'), '0.9.0\n');

    await assert.rejects(start(), /--upgrade-db/);
    assert.equal(version(), '0.9.0');

    const upgrading = await start('--upgrade-db');
    assert.equal(version(), ours);
    await upgrading.stop();
    const later = await start();
    assert.equal((await later.client.call('GET', '/indexes/movies')).status, 200);
  });

  it('is left alone when the file of its store is lost', async () => {
    const first = await start();
    await first.client.call('POST', '/indexes/movies/documents', { body: [{ id: 1 }] });
    await settle(first.client);
    await first.stop();
    const file = join(dir, 'store', 'data.mdb');
    const whole = readFileSync(file);
    const folders = readdirSync(join(dir, 'indexes'));
    assert.equal(folders.length, 1);
    for (const lose of [() => rmSync(file), () => writeFileSync(file, 'nonsense')]) {
      lose();
      await assert.rejects(start(), /missing or damaged/);
      assert.deepEqual(readdirSync(join(dir, 'indexes')), folders);
    }
    writeFileSync(file, whole);
    const later = await start();
    assert.equal((await later.client.call('GET', '/indexes/movies/documents/1')).status, 200);
  });

  it('of an older version stays so when its store cannot be opened', async () => {
    writeFileSync(join(dir, 'VERSION'), '0.9.0\n');
    mkdirSync(join(dir, 'store', 'data.mdb'), { recursive: true });
    await assert.rejects(start('--upgrade-db'), /the server ended at start/);
    assert.equal(version(), '0.9.0');
  });
});

describe('Keys', () => {
  it('expire, stay listed, and keep their order', async () => {
    const clock = new FakeClock('2025-03-01T00:00:00Z');
    const server = await startTestServer({ clock });
    const body = { actions: ['search'], indexes: ['*'], expiresAt: '2025-03-02', name: 'short' };
    const { json } = await server.call('POST', '/keys', { body });
    server.services.addIndex('movies');
    const search = (): Promise<{ status: number }> =>
      server.call('POST', '/indexes/movies/search', { key: json.key, body: {} });
    assert.equal((await search()).status, 200);
    clock.set('2025-03-02T00:00:00Z');
    assert.equal((await search()).status, 403);
    const list = await server.call('GET', '/keys?limit=2');
    assert.deepEqual(
      list.json.results.map((key: { name: string }) => key.name),
      ['short', 'Default Search API Key'],
    );
    assert.equal(list.json.total, 5);
    await server.close();
  });
});

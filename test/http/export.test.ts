import assert from 'node:assert/strict';
import { ADDED_FILTERS, ADDED_SETTINGS, assertAddedSettings } from '../support/added-settings.ts';
import { BadProxy } from '../support/bad-proxy.ts';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';
import { items, Peer } from './support/reranker-peer.ts';

describe('export', function () {
  this.timeout(180_000);

  const seed = Math.floor(Math.random() * 2 ** 32);
  let first: BuiltServer;
  let second: BuiltServer;
  let proxy: BadProxy;
  let url: string;

  before(async () => {
    first = await startBuiltServer();
    second = await startBuiltServer();
    proxy = new BadProxy(second.url, mulberry(seed));
    url = await proxy.listen();
    const documents = Array.from({ length: 2000 }, (_, id) => ({
      id,
      title: `title ${id} é`,
      hidden: id * 2,
      kind: id % 3 === 0 ? 'a' : 'b',
      _vectors: { e: id % 2 === 0 ? [id, 1] : { embeddings: [[1, id]], regenerate: false } },
    }));
    await first.finish('PATCH', '/indexes/books/settings', {
      body: {
        ...ADDED_SETTINGS,
        displayedAttributes: ['id', 'title', '_vectors'],
        filterableAttributes: ['kind', ...ADDED_FILTERS],
        synonyms: { a: ['b'] },
        embedders: { e: { source: 'userProvided', dimensions: 2 } },
      },
    });
    await first.finish('POST', '/indexes/books/documents', { body: documents });
    await first.finish('POST', '/indexes', { body: { uid: 'empty', primaryKey: 'key' } });
  });
  after(async () => {
    proxy?.close();
    await first?.close();
    await second?.close();
  });
  beforeEach(async () => {
    Object.assign(proxy, { share: 0, substitute: null });
    proxy.seen.length = 0;
    for (const { uid } of (await second.call('GET', '/indexes')).json.results) {
      await second.finish('DELETE', `/indexes/${uid}`);
    }
  });

  async function exported(body: object): Promise<any> {
    const { json } = await first.call('POST', '/export', {
      body: { url, apiKey: second.masterKey, ...body },
    });
    return first.ended(json.taskUid);
  }

  async function documentsOf(server: BuiltServer, uid: string): Promise<any[]> {
    const path = `/indexes/${uid}/documents?limit=10000&retrieveVectors=true`;
    const { results } = (await server.call('GET', path)).json;
    return results.toSorted((a: any, b: any) => a.id - b.id);
  }

  it('sends the keys of rerankers, which settings hide', async () => {
    const peer = new Peer();
    try {
      const reranker = {
        ...{ source: 'rest', url: await peer.start(), apiKey: 'secret-of-the-service' },
        request: { query: '{{query}}', documents: ['{{text}}', '{{..}}'], token: 'secret-in-it' },
        response: [{ index: '{{index}}', relevance_score: '{{score}}' }, '{{..}}'],
      };
      const body = { rerankers: { r: reranker } };
      await first.finish('PATCH', '/indexes/ranked/settings', { body });
      await first.finish('POST', '/indexes/ranked/documents?primaryKey=id', { body: items });
      const task = await exported({ indexes: { ranked: {} } });
      assert.equal(task.status, 'succeeded', JSON.stringify(task));
      await second.idle();
      const search = { q: 'red shoe', rerank: { model: 'r' } };
      await second.call('POST', '/indexes/ranked/search', { body: search });
      const [asked] = peer.asked;
      assert.equal(asked?.authorization, 'Bearer secret-of-the-service');
      assert.equal((asked.body as unknown as Record<string, unknown>)['token'], 'secret-in-it');
    } finally {
      peer.stop();
      await first.finish('DELETE', '/indexes/ranked');
    }
  });

  it(`loses and doubles nothing when one in five requests fails (seed ${seed})`, async () => {
    proxy.share = 0.2;
    const task = await exported({ payloadSize: '4 KiB' });
    assert.equal(task.status, 'succeeded', JSON.stringify(task));
    assert.deepEqual(task.details.indexes, {
      books: { filter: null, overrideSettings: false, matched_documents: 2000 },
      empty: { filter: null, overrideSettings: false, matched_documents: 0 },
    });
    assert.equal(task.details.payloadSize, '4 KiB');
    await second.idle();
    assert.deepEqual(await documentsOf(second, 'books'), await documentsOf(first, 'books'));
    for (const path of ['/indexes/books/settings', '/indexes/empty/settings']) {
      assert.deepEqual((await second.call('GET', path)).json, (await first.call('GET', path)).json);
    }
    assertAddedSettings((await second.call('GET', '/indexes/books/settings')).json);
    assert.equal((await second.call('GET', '/indexes/empty')).json.primaryKey, 'key');
    assert.ok(proxy.seen.length > 50, `${proxy.seen.length} requests`);
  });

  it('sends what matches, and leaves the settings of an index that is there', async () => {
    await second.finish('PATCH', '/indexes/books/settings', { body: { stopWords: ['the'] } });
    const indexes = { 'b*': { filter: "kind = 'a'" }, none: {} };
    const task = await exported({ indexes });
    assert.equal(task.status, 'succeeded', JSON.stringify(task));
    assert.deepEqual(Object.keys(task.details.indexes), ['books']);
    await second.idle();
    const { stopWords, synonyms } = (await second.call('GET', '/indexes/books/settings')).json;
    assert.deepEqual({ stopWords, synonyms }, { stopWords: ['the'], synonyms: {} });
    assert.equal((await second.call('GET', '/indexes/books/stats')).json.numberOfDocuments, 667);
    const again = await exported({
      indexes: { books: { filter: "kind = 'a'", overrideSettings: true } },
    });
    assert.equal(again.status, 'succeeded', JSON.stringify(again));
    await second.idle();
    const settings = (await second.call('GET', '/indexes/books/settings')).json;
    assert.deepEqual(settings, (await first.call('GET', '/indexes/books/settings')).json);
  });

  it('ends with what the target says, at once', async () => {
    const body = { message: 'no', code: 'invalid_api_key', type: 'auth', link: 'l' };
    proxy.substitute = { status: 403, body };
    const task = await exported({});
    assert.equal(task.status, 'failed');
    assert.equal(task.error.code, 'internal');
    assert.match(
      task.error.message,
      /status 403: code `invalid_api_key`, type `auth`, message `no`/,
    );
    assert.deepEqual(proxy.seen, ['GET /indexes/books']);
    assert.deepEqual(Object.keys(task.details.indexes), ['*']);
  });

  it('sends nothing when a filter is bad', async () => {
    const task = await exported({ indexes: { '*': {}, books: { filter: 'title = x' } } });
    assert.equal(task.error.code, 'invalid_document_filter');
    assert.deepEqual(proxy.seen, []);
  });

  it('to the server itself is refused, whatever its address looks like', async () => {
    const own = new BadProxy(first.url, () => 1);
    const behind = await own.listen();
    const named = first.url.replace('127.0.0.1', 'localhost');
    const before = (await first.call('GET', '/indexes/books')).json;
    try {
      for (const address of [first.url, `${first.url}/`, named, behind]) {
        for (const apiKey of [first.masterKey, 'wrong']) {
          const task = await exported({
            ...{ url: address, apiKey },
            indexes: { '*': { overrideSettings: true } },
          });
          assert.equal(task.status, 'failed', address);
          assert.equal(task.error.code, 'invalid_export_url');
          assert.match(task.error.message, /exporting server itself/);
        }
      }
    } finally {
      own.close();
    }
    assert.deepEqual((await first.call('GET', '/indexes/books')).json, before);
    const last = await exported({});
    assert.equal(last.status, 'succeeded', JSON.stringify(last));
    await second.idle();
  });

  it('refuses `_foreign` in its filter, as the feature says', async () => {
    const indexes = { books: { filter: '_foreign(author, name = x)' } };
    assert.equal((await exported({ indexes })).error.code, 'feature_not_enabled');
    await first.call('PATCH', '/experimental-features', { body: { foreignKeys: true } });
    const task = await exported({ indexes });
    assert.equal(task.error.code, 'invalid_document_filter', task.error.message);
    assert.deepEqual(proxy.seen, []);
    await first.call('PATCH', '/experimental-features', { body: { foreignKeys: false } });
  });

  it('can be canceled while it waits for its next attempt', async () => {
    proxy.substitute = { status: 503, body: {} };
    const { json } = await first.call('POST', '/export', { body: { url, apiKey: 'x' } });
    while (proxy.seen.length === 0) await new Promise((done) => setTimeout(done, 10));
    await first.call('POST', `/tasks/cancel?uids=${json.taskUid}`);
    assert.equal((await first.ended(json.taskUid)).status, 'canceled');
  });

  it('holds nothing up while its target cannot be reached, and sends what was there at its begin', async () => {
    const documents = [
      { id: 1, t: 'before' },
      { id: 2, t: 'before' },
    ];
    for (const uid of ['kept', 'gone']) {
      await first.finish('POST', `/indexes/${uid}/documents`, { body: documents });
    }
    await first.finish('PUT', '/indexes/kept/settings/stop-words', { body: ['before'] });
    proxy.substitute = { status: 503, body: {} };
    const indexes = { kept: {}, gone: {} };
    const body = { url, apiKey: second.masterKey, indexes };
    const { taskUid } = (await first.call('POST', '/export', { body })).json;
    while (proxy.seen.length === 0) await new Promise((done) => setTimeout(done, 10));
    const others = [
      await first.finish('POST', '/indexes/kept/documents', { body: [{ id: 1, t: 'after' }] }),
      await first.finish('PUT', '/indexes/kept/settings/stop-words', { body: ['after'] }),
      await first.finish('DELETE', '/indexes/gone'),
      await first.finish('POST', '/indexes/kept/compact'),
      await first.finish('POST', '/snapshots'),
      await first.finish('POST', '/dumps'),
    ];
    assert.deepEqual(new Set(others.map(({ status }) => status)), new Set(['succeeded']));
    assert.equal((await first.call('GET', `/tasks/${taskUid}`)).json.status, 'processing');
    proxy.substitute = null;
    const task = await first.ended(taskUid);
    assert.equal(task.status, 'succeeded', JSON.stringify(task));
    await second.idle();
    for (const uid of ['kept', 'gone']) {
      const sent = (await second.call('GET', `/indexes/${uid}/documents`)).json.results;
      assert.deepEqual(sent, documents);
    }
    const { json } = await second.call('GET', '/indexes/kept/settings/stop-words');
    assert.deepEqual(json, ['before']);
    await first.finish('DELETE', '/indexes/kept');
  });

  it('that was running when the process was killed runs again', async () => {
    proxy.substitute = { status: 503, body: {} };
    const body = { url, apiKey: second.masterKey, indexes: { empty: {} } };
    const { taskUid } = (await first.call('POST', '/export', { body })).json;
    while (proxy.seen.length === 0) await new Promise((done) => setTimeout(done, 10));
    await first.finish('POST', '/indexes', { body: { uid: 'later' } });
    await first.kill();
    await first.restart();
    proxy.substitute = null;
    assert.equal((await first.ended(taskUid)).status, 'succeeded');
    await second.idle();
    assert.equal((await second.call('GET', '/indexes/empty')).json.primaryKey, 'key');
    await first.finish('DELETE', '/indexes/later');
  });
});

describe('documents that follow each other without newlines', function () {
  this.timeout(60_000);

  it('are NDJSON too', async () => {
    const server = await startBuiltServer();
    try {
      const text = Array.from({ length: 1000 }, (_, id) => JSON.stringify({ id, t: '}{' })).join(
        '',
      );
      const task = await server.finish('POST', '/indexes/a/documents', {
        text,
        type: 'application/x-ndjson',
      });
      assert.equal(task.status, 'succeeded', JSON.stringify(task));
      assert.equal(task.details.indexedDocuments, 1000);
    } finally {
      await server.close();
    }
  });
});

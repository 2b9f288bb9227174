/**
 * Responses that would be too large, listings whatever their reader does, and clients that
 * disconnect.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('The response of a search', () => {
  let server: BuiltServer;
  const RESPONSE_BYTES_MAX = 20_000;
  before(async () => {
    server = await startBuiltServer(['--search-answer-size-limit', String(RESPONSE_BYTES_MAX)]);
    const body = Array.from({ length: 100 }, (_, id) => ({ id, text: `word ${'x'.repeat(300)}` }));
    await server.finish('POST', '/indexes/texts/documents', { body });
    await server.finish('PATCH', '/indexes/texts/settings', {
      body: { filterableAttributes: ['id', 'text'], faceting: { maxValuesPerFacet: 10_000 } },
    });
  });
  after(() => server.close());

  async function refused(path: string, body: unknown): Promise<void> {
    const { status, json } = await server.call('POST', path, { body });
    assert.equal(status, 400, JSON.stringify(json).slice(0, 200));
    assert.equal(json.code, 'bad_request');
    assert.match(json.message, /20000 bytes|20 kB/);
  }

  it('is refused beyond its limit, in whatever way it grows', async () => {
    const path = '/indexes/texts/search';
    const { status } = await server.call('POST', path, { body: { limit: 20 } });
    assert.equal(status, 200);
    await refused(path, { limit: 100 });
    const tags = { highlightPreTag: '<'.repeat(4000), attributesToHighlight: ['*'] };
    await refused(path, { q: 'word', limit: 5, attributesToRetrieve: ['id'], ...tags });
    await refused(path, { limit: 0, q: 'x'.repeat(RESPONSE_BYTES_MAX) });
    const many = Array.from({ length: 10 }, () => ({ indexUid: 'texts', limit: 20 }));
    await refused('/multi-search', { queries: many });
    const queries = [{ indexUid: 'texts' }];
    await refused('/multi-search', { federation: { limit: 100 }, queries });
  });

  it('of similar documents as well', async () => {
    const embedders = { e: { source: 'userProvided', dimensions: 2 } };
    await server.finish('PATCH', '/indexes/near/settings', { body: { embedders } });
    const text = 'x'.repeat(300);
    const body = Array.from({ length: 100 }, (_, id) => ({ id, text, _vectors: { e: [1, id] } }));
    await server.finish('POST', '/indexes/near/documents', { body });
    const path = '/indexes/near/similar';
    const near = { id: '0', embedder: 'e' };
    const { status, json } = await server.call('POST', path, { body: { ...near, limit: 20 } });
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal(json.hits.length, 20);
    await refused(path, { ...near, limit: 100 });
  });
});

describe('A listing of documents', () => {
  let server: BuiltServer;
  const COUNT = 1500;
  const text = Array.from({ length: 40_000 }, (_, i) => String.fromCharCode(97 + ((i * i) % 26)));
  before(async () => {
    server = await startBuiltServer();
    for (let from = 0; from < COUNT; from += 500) {
      const body = Array.from({ length: 500 }, (_, i) => ({ id: from + i, text: text.join('') }));
      await server.finish('POST', '/indexes/texts/documents', { body });
    }
  });
  after(() => server.close());

  const heads = (path: string, more = ''): string =>
    `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${server.masterKey}\r\n${more}\r\n`;

  /** Private memory, bytes. */
  function memory(): number {
    const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
    return Number(/RssAnon:\s+(\d+)/.exec(status)![1]) * 1024;
  }

  it('takes no memory for what its reader does not read', async () => {
    const before = memory();
    const sockets = Array.from({ length: 8 }, () => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
      socket.pause();
      socket.write(heads('/indexes/texts/documents?limit=1000000'));
      return socket;
    });
    await delay(2000);
    const grown = memory() - before;
    for (const socket of sockets) socket.destroy();
    // The request asks for eight times 60 MB.
    assert.ok(grown < 100e6, `${grown} bytes`);
  });

  it('arrives whole, compressed or not', async () => {
    const codings = { gzip: gunzipSync, br: brotliDecompressSync, deflate: inflateSync } as const;
    for (const coding of ['identity', 'gzip', 'br', 'deflate'] as const) {
      const response = await fetch(`${server.url}/indexes/texts/documents?limit=1000000`, {
        headers: { authorization: `Bearer ${server.masterKey}`, 'accept-encoding': coding },
      });
      assert.equal(response.headers.get('content-encoding') ?? 'identity', coding);
      const { results, total, limit } = (await response.json()) as any;
      assert.equal(results.length, COUNT);
      assert.equal(total, COUNT);
      assert.equal(limit, 1_000_000);
      assert.ok(results.every(({ id }: any, at: number) => id === at));
    }
    assert.equal(Object.keys(codings).length, 3);
  });

  it('outlives its index', async () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write(heads('/indexes/texts/documents?limit=1000000', 'connection: close\r\n'));
    await new Promise((resolve) => socket.once('readable', resolve));
    await server.finish('DELETE', '/indexes/texts');
    let size = 0;
    let end = '';
    for await (const part of socket) {
      size += (part as Buffer).length;
      end = (end + String(part)).slice(-100);
    }
    assert.ok(size > COUNT * 40_000);
    // Sent in chunks, with their sizes in between.
    assert.match(end, /"total":1500(?:\r\n1\r\n)?}\r\n0\r\n\r\n$/);
  });
});

describe('A client that goes away', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer(['--experimental-enable-metrics']);
    const body = Array.from({ length: 20_000 }, (_, id) => ({
      id,
      _geo: { lat: (id % 170) - 85, lng: (id % 340) - 170 },
    }));
    await server.finish('POST', '/indexes/places/documents', { body });
    await server.finish('PATCH', '/indexes/places/settings', {
      body: { filterableAttributes: ['_geo'], searchCutoffMs: 3_600_000 },
    });
  });
  after(() => server.close());

  async function running(): Promise<number> {
    const response = await fetch(`${server.url}/metrics`, {
      headers: { authorization: `Bearer ${server.masterKey}` },
    });
    return Number(/^gannet_searches_running (\d+)$/m.exec(await response.text())![1]);
  }

  it('ends the search that runs for it', async () => {
    // Some minutes of work.
    const terms = Array.from(
      { length: 150_000 },
      (_, n) => `_geoRadius(${n % 80}, ${n % 90}, 100${n})`,
    );
    const body = JSON.stringify({ filter: [terms] });
    for (const path of ['/indexes/places/search', '/indexes/places/documents/fetch']) {
      const leaving = new AbortController();
      const received = fetch(server.url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server.masterKey}`,
          'content-type': 'application/json',
        },
        body,
        signal: leaving.signal,
      });
      while ((await running()) === 0) await delay(20);
      leaving.abort();
      await assert.rejects(received);
      while ((await running()) > 0) await delay(20);
    }
  });
});

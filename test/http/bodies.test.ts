import assert from 'node:assert/strict';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { startTestServer, type TestServer } from './support/test-server.ts';

for (const transport of ['fastest', 'node'] as const) {
  describe(`JSON bodies (${transport})`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer({ transport, limits: { payloadBytes: 100_000 } });
      server.services.addIndex('movies');
    });
    after(() => server.close());

    const search = '/indexes/movies/search';

    it('need a content type of JSON', async () => {
      const cases: [string, number, string | undefined][] = [
        ['application/json', 200, undefined],
        ['Application/JSON; charset=utf-8', 200, undefined],
        ['application/vnd.api+json', 200, undefined],
        ['text/json', 200, undefined],
        ['text/plain', 415, 'invalid_content_type'],
        ['json', 415, 'invalid_content_type'],
      ];
      for (const [type, status, code] of cases) {
        const response = await server.call('POST', search, { text: '{}', type });
        assert.equal(response.status, status, type);
        assert.equal(response.json.code, code, type);
      }
      const bytes = new TextEncoder().encode('{}');
      const none = await server.call('POST', search, { text: bytes, type: '' });
      assert.equal(none.json.code, 'missing_content_type');
    });

    it('are refused when empty, broken or too deep', async () => {
      const cases: [string, string][] = [
        ['', 'missing_payload'],
        [' ', 'malformed_payload'],
        ['{"q": "x"} trailing', 'malformed_payload'],
        ["{'q': 'x'}", 'malformed_payload'],
        [`{"filter": ${'['.repeat(1000)}${']'.repeat(1000)}}`, 'malformed_payload'],
        ['[]', 'bad_request'],
        ['{"limit": 2.0}', 'invalid_search_limit'],
        ['{"limit": 1e1}', 'invalid_search_limit'],
        ['{"limit": 18446744073709551616}', 'invalid_search_limit'],
      ];
      for (const [text, code] of cases) {
        const response = await server.call('POST', search, { text });
        assert.equal(response.json.code, code, text.slice(0, 40));
        assert.equal(response.status, 400);
      }
    });

    it('may be compressed', async () => {
      const text = JSON.stringify({ q: 'x'.repeat(5000) });
      const codings = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
      for (const [coding, compress] of Object.entries(codings)) {
        const response = await server.call('POST', search, {
          text: compress(text),
          headers: { 'content-encoding': coding },
        });
        assert.equal(response.json.params.q.length, 5000, coding);
        const cut = await server.call('POST', search, {
          text: compress(text).subarray(0, 20),
          headers: { 'content-encoding': coding },
        });
        assert.equal(cut.json.code, 'bad_request', coding);
      }
    });

    it('are limited after decompression, and the connection goes on', async () => {
      const long = JSON.stringify({ q: 'x'.repeat(200_000) });
      for (const options of [
        { text: long },
        { text: gzipSync(long), headers: { 'content-encoding': 'gzip' } },
      ]) {
        const response = await server.call('POST', search, options);
        assert.equal(response.status, 413);
        assert.equal(response.json.code, 'payload_too_large');
        assert.match(response.json.message, /100 kB/);
      }
      assert.equal((await server.call('POST', search, { text: '{}' })).status, 200);
    });

    it('are looked at after authorization', async () => {
      const response = await server.call('POST', search, { text: '{', key: null });
      assert.equal(response.json.code, 'missing_authorization_header');
    });
  });

  describe(`Responses (${transport})`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer({ transport, limits: { searchPayloadBytes: 50_000_000 } });
      server.services.addIndex('movies');
    });
    after(() => server.close());

    it('are compressed when the client asks for it', async () => {
      const body = { q: 'y'.repeat(3000) };
      // Short ones are compressed alone on the main thread, concurrent ones on other threads.
      for (const coding of ['gzip', 'deflate', 'br']) {
        for (const [length, clients] of [
          [3000, 1],
          [3000, 8],
          [100_000, 1],
        ] as const) {
          const ask = () =>
            server.call('POST', '/indexes/movies/search', {
              body: { q: 'y'.repeat(length) },
              headers: { 'accept-encoding': coding },
            });
          for (const response of await Promise.all(Array.from({ length: clients }, ask))) {
            assert.equal(response.headers.get('content-encoding'), coding);
            assert.match(response.headers.get('vary')!, /accept-encoding/);
            assert.equal(response.json.params.q.length, length);
          }
        }
      }
      const plain = await server.call('POST', '/indexes/movies/search', {
        body,
        headers: { 'accept-encoding': 'identity' },
      });
      assert.equal(plain.headers.get('content-encoding'), null);
      for (const coding of ['gzip', 'deflate', 'br']) {
        const headers = { 'accept-encoding': coding };
        const short = await server.call('GET', '/health', { headers });
        assert.equal(short.headers.get('content-encoding'), coding);
        assert.deepEqual(short.json, { status: 'available' });
      }
    });

    it('of any length arrive whole', async () => {
      const body = { q: 'z'.repeat(20_000_000) };
      const response = await server.call('POST', '/indexes/movies/search', {
        body,
        headers: { 'accept-encoding': 'identity' },
      });
      assert.equal(response.json.params.q.length, 20_000_000);
    });
  });
}

import assert from 'node:assert/strict';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { responseCoding, encode, requestCoding } from '../../../src/http/encoding.ts';
import { Router } from '../../../src/http/router.ts';

describe('The router', () => {
  const router = new Router<string>();
  router.add('GET', '/', 'root');
  router.add('GET', '/indexes/:uid', 'index');
  router.add('GET', '/indexes/:uid/documents/:id', 'document');
  router.add('POST', '/indexes/:uid/documents/fetch', 'fetch');
  router.add('DELETE', '/indexes/:uid', 'delete');

  it('finds targets whatever the slashes', () => {
    for (const path of ['/indexes/a', '/indexes/a/', '//indexes///a//']) {
      const match = router.match('GET', path);
      assert.ok(match.kind === 'found' && match.target === 'index', path);
      assert.deepEqual(match.params, { uid: 'a' });
    }
    assert.equal(router.match('GET', '/').kind, 'found');
  });

  it('decodes segments after splitting', () => {
    const match = router.match('GET', '/%69ndexes/a%2Fb%20c');
    assert.ok(match.kind === 'found');
    assert.deepEqual(match.params, { uid: 'a/b c' });
  });

  it('prefers fixed segments and does not backtrack', () => {
    assert.deepEqual(router.match('GET', '/indexes/a/documents/fetch'), {
      kind: 'wrongMethod',
      allow: 'POST',
    });
    assert.equal(router.match('GET', '/indexes/a/documents/other').kind, 'found');
  });

  it('distinguishes unknown paths from wrong methods', () => {
    assert.deepEqual(router.match('PUT', '/indexes/a'), {
      kind: 'wrongMethod',
      allow: 'GET, HEAD, DELETE',
    });
    for (const path of [
      '/nothing',
      '/Indexes/a',
      '/indexes',
      '/indexes/a/b',
      '/indexes/a/documents',
    ]) {
      assert.equal(router.match('GET', path).kind, 'unknown', path);
    }
  });
});

describe('The coding of a response', () => {
  it('is the one the client weighs most', () => {
    const cases: [string | undefined, string | null][] = [
      [undefined, null],
      ['', null],
      ['gzip', 'gzip'],
      ['gzip, deflate, br', 'br'],
      ['gzip;q=1.0, br;q=0.5', 'gzip'],
      ['br;q=0, gzip;q=0', null],
      ['*', 'br'],
      ['*;q=0.1, deflate;q=0.2', 'deflate'],
      ['identity, gzip;q=0.5', null],
      ['GZIP', 'gzip'],
      ['zstd', null],
    ];
    for (const [header, coding] of cases)
      assert.equal(responseCoding(header), coding, String(header));
  });

  it('gives back what was encoded', async () => {
    const body = Buffer.from('search '.repeat(1000));
    assert.deepEqual(gunzipSync(await encode('gzip', body)), body);
    assert.deepEqual(inflateSync(await encode('deflate', body)), body);
    assert.deepEqual(brotliDecompressSync(await encode('br', body)), body);
  });

  it('of a request is known or none', () => {
    assert.equal(requestCoding(' GZIP '), 'gzip');
    assert.equal(requestCoding('identity'), null);
    assert.equal(requestCoding(undefined), null);
  });
});

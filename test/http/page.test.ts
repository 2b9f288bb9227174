import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { existsSync } from 'node:fs';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

for (const transport of ['fastest', 'node'] as const) {
  for (const env of ['development', 'production'] as const) {
    describe(`The page at / (${transport}, ${env})`, () => {
      let server: BuiltServer;

      before(async function () {
        if (!existsSync('dist/main.cjs')) {
          console.log('skipped: the page, because the project is not built (npm run build)');
          this.skip();
        }
        server = await startBuiltServer(['--http-transport', transport, '--env', env]);
      });
      after(() => server?.close());

      const get = (headers: Record<string, string> = {}): Promise<Response> =>
        fetch(`${server.url}/`, { headers: { accept: 'text/html', ...headers } });

      it('is one document with a strict policy, for browsers, without authorization', async () => {
        const response = await get();
        assert.equal(response.status, 200);
        assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
        assert.equal(response.headers.get('cache-control'), 'no-cache');
        assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
        assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
        const policy = response.headers.get('content-security-policy')!;
        for (const part of [
          "default-src 'none'",
          "connect-src 'self'",
          "frame-ancestors 'none'",
          "require-trusted-types-for 'script'",
        ]) {
          assert.ok(policy.includes(part), part);
        }
        assert.doesNotMatch(policy, /unsafe|\*|https?:/);
        const html = await response.text();
        assert.ok(html.startsWith('<!doctype html>'));
        assert.ok(gzipSync(html).length < 150_000);
        // It loads nothing from elsewhere.
        const style = /<style>(.*?)<\/style>/s.exec(html)![1]!;
        assert.ok(!/@import|url\(/.test(style));
        assert.ok(!/<(?:script|img|iframe)[^>]+src=|<link[^>]+href="(?!data:)/.test(html));
      });

      it('lets images of other servers in for who asks for them, and nothing else', async () => {
        const policyOf = async (query: string): Promise<string[]> => {
          const headers = { accept: 'text/html' };
          const response = await fetch(`${server.url}/${query}`, { headers });
          return response.headers.get('content-security-policy')!.split('; ');
        };
        const strict = await policyOf('');
        const open = await policyOf('?images');
        assert.deepEqual(
          open.filter((part) => !strict.includes(part)),
          ["img-src 'self' data: https: http:"],
        );
        assert.equal(open.length, strict.length);
        assert.deepEqual(await policyOf('?other'), strict);
      });

      it('is compressed, and not sent again while it is the same', async () => {
        for (const coding of ['gzip', 'br']) {
          const response = await get({ 'accept-encoding': coding });
          assert.equal(response.headers.get('content-encoding'), coding);
          assert.ok((await response.text()).includes('<div id="page">'));
        }
        const tag = (await get()).headers.get('etag')!;
        const again = await get({ 'if-none-match': tag });
        assert.equal(again.status, 304);
        assert.equal(again.headers.get('etag'), tag);
        assert.equal(await again.text(), '');
        assert.equal((await get({ 'if-none-match': 'W/"other"' })).status, 200);
      });

      it('says to programs in production that the server is running', async () => {
        const response = await get({ accept: '*/*' });
        assert.equal(response.status, 200);
        if (env === 'development') {
          assert.ok((await response.text()).startsWith('<!doctype html>'));
        } else {
          assert.deepEqual(await response.json(), { status: 'Gannet is running' });
          assert.match(response.headers.get('vary')!, /accept(?!-)/);
        }
      });

      it('has no other method', async () => {
        for (const method of ['POST', 'DELETE']) {
          assert.equal((await fetch(`${server.url}/`, { method })).status, 405, method);
        }
      });
    });
  }
}

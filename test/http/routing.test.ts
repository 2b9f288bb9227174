import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { startTestServer, type TestServer } from './support/test-server.ts';

for (const transport of ['fastest', 'node'] as const) {
  describe(`Routing (${transport})`, () => {
    let server: TestServer;
    before(async () => (server = await startTestServer({ transport })));
    after(() => server.close());

    it('responds to unknown paths and wrong methods with an empty body, without authorization', async () => {
      const cases: [string, string, number, string | null][] = [
        ['GET', '/nothing', 404, null],
        ['GET', '/Indexes', 404, null],
        ['GET', '/indexes/a/unknown', 404, null],
        ['PUT', '/health', 405, 'GET, HEAD'],
        ['GET', '/indexes/a/documents/fetch', 405, 'POST'],
        ['HEAD', '/indexes/a/documents/fetch', 405, 'POST'],
        ['OPTIONS', '/indexes', 405, 'GET, HEAD, POST'],
        ['PUT', '/indexes/a/settings/faceting', 405, 'GET, HEAD, PATCH, DELETE'],
      ];
      for (const [method, path, status, allow] of cases) {
        const response = await server.call(method, path, { key: null });
        assert.equal(response.status, status, `${method} ${path}`);
        assert.equal(response.text, '', `${method} ${path}`);
        assert.equal(response.headers.get('allow'), allow, `${method} ${path}`);
      }
    });

    it('responds to HEAD as it does GET, without the body, and keeps the connection usable after it', async () => {
      const paths = [
        '/health',
        '/version',
        '/indexes',
        '/indexes/none',
        '/nothing',
        '/openapi.json',
      ];
      for (const path of [...paths, '/indexes?limit=x', '/']) {
        for (const key of [undefined, null, 'wrong']) {
          for (const coding of ['identity', 'gzip']) {
            const headers = { 'accept-encoding': coding, origin: 'http://shop.example' };
            const [get, head] = await rawBoth(server.port, path, {
              ...headers,
              ...authorization(key),
            });
            const name = `${path} ${key} ${coding}`;
            assert.equal(head.status, get.status, name);
            assert.deepEqual(head.headers, get.headers, name);
            assert.equal(head.bytes, 0, name);
            if (get.bytes > 0)
              assert.equal(Number(head.headers['content-length']), get.bytes, name);
          }
        }
      }
    });

    it('ignores trailing and repeated slashes', async () => {
      for (const path of ['/health/', '//health', '/%68ealth']) {
        assert.equal((await server.call('GET', path)).status, 200, path);
      }
    });

    it('responds to preflights on any path, and marks every response to a foreign origin', async () => {
      const preflight = await server.call('OPTIONS', '/indexes/a/search', {
        key: null,
        headers: {
          origin: 'http://shop.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization, x-custom',
        },
      });
      assert.equal(preflight.status, 200);
      assert.equal(preflight.text, '');
      assert.equal(preflight.headers.get('access-control-allow-origin'), '*');
      assert.equal(
        preflight.headers.get('access-control-allow-headers'),
        'authorization, x-custom',
      );
      assert.equal(preflight.headers.get('access-control-max-age'), '86400');
      assert.match(preflight.headers.get('access-control-allow-methods')!, /PATCH/);
      for (const path of ['/health', '/nothing', '/indexes']) {
        const response = await server.call('GET', path, {
          key: null,
          headers: { origin: 'http://x' },
        });
        assert.equal(response.headers.get('access-control-allow-origin'), '*', path);
      }
    });

    it('takes long request lines', async () => {
      const filter = 'a = 1 OR '.repeat(3000);
      const response = await server.call(
        'GET',
        `/indexes/none/search?filter=${encodeURIComponent(filter)}b=2`,
      );
      assert.equal(response.json.code, 'index_not_found');
    });

    it('serves several requests on one connection', async () => {
      const responses = await pipelined(server.port, ['/health', '/nothing', '/health']);
      assert.deepEqual(responses, [200, 404, 200]);
    });

    it('checks the index uid of the path after authorization and before the index is looked up', async () => {
      assert.equal(
        (await server.call('GET', '/indexes/a%20b', { key: null })).json.code,
        'missing_authorization_header',
      );
      assert.equal((await server.call('GET', '/indexes/a%20b')).json.code, 'invalid_index_uid');
      assert.equal((await server.call('GET', '/indexes/none')).json.code, 'index_not_found');
    });

    it('describes every route', async () => {
      const { json } = await server.call('GET', '/openapi.json', { key: null });
      assert.equal(json.openapi, '3.1.0');
      assert.ok(json.paths['/indexes/{index_uid}/search'].post.requestBody);
      assert.ok(json.paths['/indexes/{index_uid}/settings/stop-words'].put);
      const parameters = json.paths['/tasks'].get.parameters.map(
        (one: { name: string }) => one.name,
      );
      assert.ok(parameters.includes('statuses') && parameters.includes('limit'));
    });
  });
}

describe('A port', () => {
  it('is not shared with a second server', async () => {
    const server = await startTestServer();
    await assert.rejects(startTestServer({ port: server.port }), /cannot be listened on/);
    await server.close();
  });
});

/** Statuses of GETs sent in one packet on one connection. */
function pipelined(port: number, paths: string[]): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const statuses: number[] = [];
    const next = (): void => {
      const path = paths[statuses.length];
      if (path === undefined) {
        resolve(statuses);
        return;
      }
      const req = request({ port, path, headers: { connection: 'keep-alive' } }, (res) => {
        statuses.push(res.statusCode!);
        res.resume();
        res.on('end', next);
      });
      req.on('error', reject);
      req.end();
    };
    next();
  });
}

function authorization(key: string | null | undefined): Record<string, string> {
  return key === null ? {} : { authorization: `Bearer ${key ?? 'MASTER_KEY_OF_TESTS'}` };
}

interface RawResponse {
  status: number;
  /** Without those that differ from response to response. */
  headers: Record<string, unknown>;
  /** The body as it was sent. */
  bytes: number;
}

/** GET and HEAD of a path, sequentially on one connection. */
async function rawBoth(
  port: number,
  path: string,
  headers: Record<string, string>,
): Promise<[RawResponse, RawResponse]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (method: string): Promise<RawResponse> =>
    new Promise((done, fail) => {
      const asked = request(
        { host: '127.0.0.1', port, path, method, headers, agent },
        (response) => {
          let bytes = 0;
          response.on('data', (chunk: Buffer) => (bytes += chunk.length));
          response.on('end', () => {
            const { date: _, 'x-request-id': __, ...others } = response.headers;
            done({ status: response.statusCode!, headers: others, bytes });
          });
        },
      );
      asked.on('error', fail);
      asked.end();
    });
  try {
    const head = await ask('HEAD');
    const get = await ask('GET');
    return [get, head];
  } finally {
    agent.destroy();
  }
}

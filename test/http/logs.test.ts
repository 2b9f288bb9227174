import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { newSeed, Random } from './kill/support/random.ts';
import { settle } from './kill/support/compare.ts';
import { addonIsBuilt, ServerProcess } from './kill/support/server-process.ts';

const MASTER_KEY = 'masterSecretOfTests0123';

interface LogLine {
  timestamp: string;
  level: string;
  target: string;
  fields: Record<string, any>;
}

/** Log lines of the server itself, without the banner. */
function linesOf(text: string): LogLine[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine);
}

describe('Logs', function () {
  this.timeout(120_000);
  let dir: string;
  let server: ServerProcess;

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'gannet-logs-'))));
  afterEach(async () => {
    if (!server.hasExited) await server.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  const start = async (...args: string[]): Promise<void> => {
    server = await ServerProcess.start({
      dir: join(dir, 'data'),
      port: await freePort(),
      key: MASTER_KEY,
      args: [
        ...['--experimental-logs-mode', 'JSON', '--dump-dir', join(dir, 'dumps')],
        ...['--snapshot-dir', join(dir, 'snapshots'), ...args],
      ],
      env: { GANNET_OPENAI_API_KEY: 'openAiSecretOfTests' },
    });
  };

  const send = (method: string, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${server.port}${path}`, {
      method,
      ...init,
      headers: { authorization: `Bearer ${MASTER_KEY}`, ...init.headers },
    });

  it('contain the method, route, status, time and id of each request, and its response has the id too', async () => {
    await start();
    const responses = [
      await send('GET', '/indexes/movies'),
      await send('GET', '/health', { headers: { 'x-request-id': 'proxy-17' } }),
      await send('GET', '/nowhere/at/all'),
      await send('DELETE', '/health'),
    ];
    await Promise.all(responses.map((received) => received.text()));
    const ids = responses.map((received) => received.headers.get('x-request-id')!);
    assert.equal(ids[1], 'proxy-17');
    assert.equal(new Set(ids).size, 4);
    await server.stop();
    const lines = linesOf(server.stderr).filter(({ fields }) => ids.includes(fields.requestId));
    // HTTP threads do not log in the order of the requests.
    lines.sort((a, b) => ids.indexOf(a.fields.requestId) - ids.indexOf(b.fields.requestId));
    const shown = lines.map(({ level, target, fields }) => {
      const { durationMs, requestId: _, ...rest } = fields;
      assert.equal(typeof durationMs, 'number');
      return [level, target, Object.values(rest).join(' ')];
    });
    assert.deepEqual(shown, [
      ['info', 'http', 'request GET /indexes/:index_uid 404'],
      ['info', 'http', 'request GET /health 200'],
      ['info', 'http', 'request GET unknown 404'],
      ['info', 'http', 'request DELETE unknown 405'],
    ]);
  });

  it('take no id from a client that would break a line', async () => {
    await start();
    for (const forged of ['a b', 'x'.repeat(65), '{"level":"error"}']) {
      const received = await send('GET', '/health', { headers: { 'x-request-id': forged } });
      assert.notEqual(received.headers.get('x-request-id'), forged);
    }
  });

  it('contain index, time and query of slow searches, but no filter', async () => {
    await start('--slow-search-ms', '0');
    const documents = [{ id: 1, title: 'Carol', owner: 'ruleOfTenant' }];
    await server.client.call('POST', '/indexes/movies/documents', { body: documents });
    await server.client.call('PATCH', '/indexes/movies/settings', {
      body: { filterableAttributes: ['owner'] },
    });
    await settle(server.client);
    const search = (path: string, body: object): Promise<Response> =>
      send('POST', path, {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
    const one = await search('/indexes/movies/search', {
      q: 'carol',
      filter: 'owner = ruleOfTenant',
    });
    const many = await search('/multi-search', { queries: [{ indexUid: 'movies', q: 'c' }] });
    const refused = await search('/indexes/movies/search', { filter: 'secretly = 1' });
    await server.stop();
    const slow = linesOf(server.stderr).filter(({ fields }) => fields.message === 'slow search');
    assert.equal(slow.length, 3, 'those of the server itself are not logged');
    // HTTP threads do not log in the order of the requests.
    const [first, second, failed] = [one, many, refused].map(({ headers }) =>
      slow.find(({ fields }) => fields.requestId === headers.get('x-request-id')),
    );
    const { kind, index, q, filtered, engineMs } = first!.fields;
    assert.deepEqual([kind, index, q, filtered], ['search', 'movies', 'carol', true]);
    assert.equal(typeof engineMs, 'number');
    assert.deepEqual([second!.fields.kind, second!.fields.indexes], ['multi-search', ['movies']]);
    assert.equal(failed!.fields.error, 'invalid_search_filter');
    assert.doesNotMatch(server.stderr, /ruleOfTenant|secretly/);
  });

  it('go to one client, as lines of its target, until it has enough', async () => {
    await start('--experimental-enable-logs-route', '--log-level', 'ERROR');
    const open = (body: object): Promise<Response> =>
      send('POST', '/logs/stream', {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
    const stream = await open({ mode: 'json', target: 'http=info' });
    assert.equal(stream.headers.get('x-accel-buffering'), 'no');
    assert.equal((await open({})).status, 400);
    await send('GET', '/version');
    assert.equal((await send('DELETE', '/logs/stream')).status, 204);
    const routes = linesOf(await stream.text()).map(({ fields }) => fields.route);
    assert.ok(routes.includes('/version'), JSON.stringify(routes));

    // Standard error shows nothing of that until it is configured to.
    assert.doesNotMatch(server.stderr, /version"/);
    const level = (target: string): Promise<Response> =>
      send('POST', '/logs/stderr', {
        body: JSON.stringify({ target }),
        headers: { 'content-type': 'application/json' },
      });
    assert.equal((await level('http=info')).status, 204);
    await send('GET', '/stats');
    assert.equal((await level('off')).status, 204);
    await send('GET', '/keys');
    await server.stop();
    const heard = linesOf(server.stderr).map(({ fields }) => fields.route);
    assert.ok(heard.includes('/stats'));
    assert.ok(!heard.includes('/keys'));
  });

  it('stop nothing when they cannot be written', async function () {
    if (!existsSync('/dev/full')) return this.skip();
    server = await ServerProcess.start({
      ...{ dir: join(dir, 'data'), port: await freePort(), key: MASTER_KEY },
      wrapper: ['sh', '-c', 'exec "$@" 2>/dev/full', 'sh'],
    });
    for (let n = 0; n < 200; n++) assert.equal((await send('GET', '/version')).status, 200);
    assert.equal(await server.stop(), 0);
  });

  describe('hold no secret', () => {
    let other: Server;
    let url: string;

    /** A server that fails, and repeats in its response whatever it receives. */
    beforeEach(async () => {
      other = createServer(async (request, response) => {
        let body = '';
        for await (const part of request) body += String(part);
        response.writeHead(401, { 'content-type': 'application/json' });
        const message = JSON.stringify(request.headers) + body;
        response.end(JSON.stringify({ error: { message, type: 'auth' } }));
      });
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
      url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    });
    afterEach(() => {
      other.closeAllConnections();
      other.close();
    });

    it('whatever route it is sent to, wherever it stands in the request', async () => {
      await start(
        ...['--log-level', 'TRACE', '--slow-search-ms', '0', '--experimental-enable-logs-route'],
        ...['--task-webhook-url', url.replace('//', '//user:launchUserSecret@')],
        ...['--task-webhook-authorization-header', 'launchSecretOfTests'],
      );
      const features =
        (await server.client.get<Record<string, boolean>>('/experimental-features'))!;
      await server.client.call('PATCH', '/experimental-features', {
        body: Object.fromEntries(Object.keys(features).map((name) => [name, true])),
      });
      const { results: keys } = await server.client.get<{
        results: { key: string; uid: string }[];
      }>('/keys');
      const part = (value: object): string =>
        Buffer.from(JSON.stringify(value)).toString('base64url');
      const claims = `${part({ alg: 'HS256' })}.${part({ apiKeyUid: keys[0]!.uid, searchRules: ['*'] })}`;
      const hmac = createHmac('sha256', keys[0]!.key).update(claims).digest('base64url');
      const token = `${claims}.${hmac}`;
      const stream = await send('POST', '/logs/stream', {
        body: JSON.stringify({ target: 'trace', mode: 'json' }),
        headers: { 'content-type': 'application/json' },
      });
      const streamed = stream.text();

      // Secrets for other servers, in their proper fields; each is used, and the request fails.
      const given = ['embedderSecret', 'chatSecret', 'hookSecret', 'exportSecret', 'urlSecret'];
      const withSecrets: [method: string, path: string, body: object][] = [
        [
          'PATCH',
          '/indexes/movies/settings',
          {
            embedders: {
              e: {
                source: 'rest',
                url: url.replace('//', '//user:urlSecret@'),
                apiKey: 'embedderSecret',
                dimensions: 2,
                request: { input: '{{text}}' },
                response: { vector: '{{embedding}}' },
              },
            },
          },
        ],
        ['POST', '/indexes/movies/documents', [{ id: 1, title: 'Carol' }]],
        [
          'PATCH',
          '/chats/c/settings',
          { source: 'vLlm', baseUrl: `${url}/v1?key=urlSecret`, apiKey: 'chatSecret' },
        ],
        [
          'POST',
          '/chats/c/chat/completions',
          { model: 'm', messages: [{ role: 'user', content: 'hello' }] },
        ],
        ['POST', '/webhooks', { url, headers: { authorization: 'hookSecret' } }],
        ['POST', '/export', { url: `${url}/?key=urlSecret`, apiKey: 'exportSecret' }],
        ['POST', '/dumps', {}],
        ['POST', '/snapshots', {}],
      ];
      for (const [method, path, body] of withSecrets) {
        const { status, text } = await server.client.call(method, path, { body });
        assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
      }

      const random = new Random(newSeed());
      const secrets = [MASTER_KEY, token, ...keys.map(({ key }) => key), 'sentSecretOfTests'];
      const { paths } = await server.client.get<{ paths: Record<string, Record<string, any>> }>(
        '/openapi.json',
      );
      let sent = 0;
      for (const [pattern, methods] of Object.entries(paths)) {
        for (const [verb, operation] of Object.entries(methods)) {
          const method = verb.toUpperCase();
          // Streams do not end.
          if (pattern.startsWith('/logs') || pattern.endsWith('/stream')) continue;
          const schema = operation.requestBody?.content?.['application/json']?.schema;
          const fields = Object.keys(schema?.properties ?? {});
          const named = pattern.replaceAll(/\{\w+\}/g, 'movies');
          const carriers: ((secret: string) => Promise<Response>)[] = [
            (secret) =>
              send(
                method,
                // No index is named like a secret: names of indexes are logged.
                pattern
                  .replaceAll('{index_uid}', encodeURIComponent(`${secret}.`))
                  .replaceAll(/\{\w+\}/g, encodeURIComponent(secret)),
              ),
            (secret) => send(method, `${named}?q=${encodeURIComponent(secret)}&x=${secret}`),
            (secret) => send(method, named, { headers: { authorization: `Bearer ${secret}` } }),
            (secret) => send(method, named, { headers: { authorization: `Bearer ${secret}x` } }),
            ...(method === 'GET'
              ? []
              : [
                  `{"broken": "@"`,
                  `["@"]`,
                  // The log of slow searches includes the query text.
                  ...fields
                    .filter((field) => field !== 'q' && field !== 'facetQuery')
                    .flatMap((field) => [
                      JSON.stringify({ [field]: '@' }),
                      JSON.stringify({ [field]: { '@': ['@'] } }),
                    ]),
                ].map(
                  (text) => (secret: string) =>
                    send(method, named, {
                      body: text.replaceAll('@', secret),
                      headers: { 'content-type': 'application/json' },
                    }),
                )),
          ];
          for (const carry of carriers) {
            const received = await carry(random.pick(secrets));
            await received.text();
            sent++;
          }
        }
      }
      await send('DELETE', '/logs/stream');
      const streamedText = await streamed;
      await server.stop();
      const lines = linesOf(server.stderr);
      assert.ok(lines.length > sent, 'every request is logged');
      assert.ok(linesOf(streamedText).length > sent);
      const everything = server.stderr + streamedText;
      const forbidden = [
        ...secrets,
        ...given,
        ...['launchSecretOfTests', 'launchUserSecret', 'openAiSecretOfTests'],
      ].flatMap((secret) => [secret, Buffer.from(secret).toString('base64').replace(/=+$/, '')]);
      for (const secret of forbidden) {
        const at = everything.indexOf(secret);
        assert.equal(at, -1, everything.slice(Math.max(0, at - 300), at + 100));
      }
      console.log(`      ${sent} requests, ${lines.length} lines`);
    });
  });
});

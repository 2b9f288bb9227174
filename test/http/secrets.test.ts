/**
 * Credentials are placed in every field that accepts them, with a provider that repeats everything
 * it receives, in every form. No response, log or webhook of the server may contain them.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { freePort } from '../support/free-port.ts';
import { addonIsBuilt, ServerProcess } from './kill/support/server-process.ts';

const MASTER_KEY = 'masterSecretOfTests0123';

/** No two share a substring of eight characters. */
const planted = new Map<string, string>();
function canary(name: string): string {
  const text = Buffer.from(`${planted.size}:${name}`).toString('hex').slice(0, 24);
  const value = `Cy${[...text].map((digit, n) => String.fromCharCode(65 + ((parseInt(digit, 16) * 7 + n * 5 + planted.size * 11) % 26))).join('')}`;
  planted.set(name, value);
  return value;
}

/** For a secret that is shown masked, only its start may appear. */
const SHOWN_LENGTH = 5;

function tracesIn(text: string, allowed: readonly string[] = []): string[] {
  const lower = text.toLowerCase();
  const found: string[] = [];
  for (const [name, value] of planted) {
    if (allowed.includes(name)) continue;
    const bytes = Buffer.from(value);
    const forms = [
      ...[value, bytes.toString('base64').replace(/=+$/, ''), bytes.toString('hex')],
      // In the middle of a longer text.
      ...[' ', '  '].map((before) =>
        Buffer.from(before + value)
          .toString('base64')
          .slice(4, -4),
      ),
    ];
    for (const form of forms) {
      for (let at = SHOWN_LENGTH; at + 10 <= form.length; at++) {
        const piece = form.slice(at, at + 10).toLowerCase();
        const offset = lower.indexOf(piece);
        if (offset < 0) continue;
        found.push(`${name}: …${text.slice(Math.max(0, offset - 80), offset + 40)}…`);
        break;
      }
    }
  }
  return found;
}

/** The echo of a request: all of it, in many forms. */
function echoOf(request: IncomingMessage, body: string): string {
  const { authorization = '', ...headers } = request.headers;
  const all = JSON.stringify({ url: request.url, ...headers });
  return [
    `no access for ${authorization}`,
    `half of it: ${authorization.slice(10)}`,
    encodeURIComponent(`${request.url} ${authorization}`),
    Buffer.from(authorization).toString('base64'),
    Buffer.from(authorization.replace(/^\w+ /, '')).toString('hex'),
    Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString(),
    all,
    JSON.stringify(all),
    body.slice(0, 4000),
  ].join(' | ');
}

/** Repeats what it receives, in errors of the form that each kind of client reads. */
class Echo {
  readonly deliveries: string[] = [];
  readonly paths = new Set<string>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => void this.#respond(request, response));
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const bytes = Buffer.concat(parts);
    const body = (
      request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes
    ).toString();
    const path = request.url!.split('?')[0]!;
    this.paths.add(path.split('/')[1]!);
    const said = echoOf(request, body);
    const json = (status: number, value: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(value));
    };
    if (path.startsWith('/hook')) {
      this.deliveries.push(body);
      response.writeHead(400).end(said);
    } else if (path.startsWith('/text')) response.writeHead(401).end(said);
    else if (path.startsWith('/form')) json(200, { data: 'none', message: said });
    else if (path.startsWith('/stream')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        `data: ${JSON.stringify({ error: { message: said, type: said, code: said } })}\n\n`,
      );
    } else if (path.startsWith('/odd')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${said}\n\n`);
    } else if (path.startsWith('/target') && request.method === 'GET') {
      json(404, { code: 'index_not_found', message: said, type: said, link: said });
    } else
      json(400, { error: { message: said }, message: said, code: said, type: said, link: said });
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

describe('Credentials', function () {
  this.timeout(120_000);
  let dir: string;
  let echo: Echo;
  let server: ServerProcess;
  let port: number;

  before(async function () {
    if (!addonIsBuilt()) this.skip();
    dir = mkdtempSync(join(tmpdir(), 'gannet-secrets-'));
    echo = new Echo();
    port = await echo.listen();
    server = await ServerProcess.start({
      dir: join(dir, 'data'),
      port: await freePort(),
      key: MASTER_KEY,
      args: [
        ...['--experimental-logs-mode', 'JSON', '--log-level', 'TRACE', '--dump-dir', dir],
        ...['--task-webhook-url', url('hook', 'launch')],
        ...['--task-webhook-authorization-header', `Bearer ${canary('launch header')}`],
      ],
      env: {
        GANNET_OPENAI_API_KEY: canary('key of the environment'),
        GANNET_EXPERIMENTAL_REST_EMBEDDER_MAX_RETRY_DURATION_SECONDS: '0',
      },
    });
    await call('PATCH', '/experimental-features', {
      ...{ network: true, chatCompletions: true, compositeEmbedders: true, metrics: true },
    });
  });
  after(async () => {
    await server.kill();
    echo.close();
    rmSync(dir, { recursive: true, force: true });
  });

  /** An address at the echo with credentials in each part. */
  function url(path: string, name: string): string {
    const [user, password] = [canary(`user of ${name}`), canary(`password of ${name}`)];
    const query = `?v=2&api_key=${canary(`key in the URL of ${name}`)}&x=${canary(`value in the URL of ${name}`)}`;
    return `http://${user}:${password}@127.0.0.1:${port}/${path}${query}`;
  }

  const raw = async (method: string, path: string, body?: unknown): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${MASTER_KEY}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return response.text();
  };
  /** Responses are searched, too. */
  async function call(
    method: string,
    path: string,
    body?: unknown,
    allowed: readonly string[] = [],
  ): Promise<any> {
    const text = await raw(method, path, body);
    assert.deepEqual(tracesIn(text, allowed), [], `${method} ${path}`);
    return text.startsWith('{') ? JSON.parse(text) : text;
  }
  const finish = async (method: string, path: string, body?: unknown): Promise<any> => {
    const { taskUid, ...response } = await call(method, path, body);
    assert.equal(typeof taskUid, 'number', JSON.stringify(response));
    for (;;) {
      const task = await call('GET', `/tasks/${taskUid}`);
      if (task.status !== 'enqueued' && task.status !== 'processing') return task;
    }
  };

  const rest = (path: string, name: string): Record<string, unknown> => ({
    ...{ source: 'rest', url: url(path, name), apiKey: canary(`apiKey of ${name}`) },
    headers: {
      'X-Api-Key': canary(`header of ${name}`),
      'X-Other': canary(`other header of ${name}`),
    },
    request: {
      input: ['{{text}}', '{{..}}'],
      options: { access_token: canary(`token in the request of ${name}`) },
    },
    response: { data: ['{{embedding}}', '{{..}}'] },
    dimensions: 3,
  });
  const inHeaders = (): string[] =>
    [...planted.keys()].filter((name) => name.includes('header of'));

  it('of embedders are in no response, whatever the provider says', async () => {
    await finish('POST', '/indexes/books/documents', [
      { id: 1, title: 'a', _vectors: { e: null } },
    ]);
    for (const path of ['text', 'json', 'form']) {
      const index = `/indexes/${path}`;
      const embedder = rest(path, path);
      const set = await finish('PATCH', `${index}/settings/embedders`, { e: embedder });
      assert.equal(set.status, 'succeeded', JSON.stringify(set.error));
      const task = await finish('POST', `${index}/documents`, [{ id: 1, title: 'a' }]);
      assert.equal(task.error.code, 'vector_embedding_error');
      assert.match(task.error.message, /\*\*\*/);
      const batch = await call('GET', `/batches/${task.batchUid}`);
      assert.match(batch.stats.embedderRequests.lastError, /\*\*\*/);
      await call('POST', `${index}/search`, {
        ...{ q: 'a', hybrid: { embedder: 'e', semanticRatio: 1 } },
      });
      // Clients send the headers of embedders back, so these routes show them.
      await call('GET', `${index}/settings`, undefined, inHeaders());
      const { e: shown } = await call('GET', `${index}/settings/embedders`, undefined, inHeaders());
      assert.deepEqual(shown.headers, embedder.headers);
      const back = await finish('PATCH', `${index}/settings/embedders`, { e: shown });
      assert.equal(back.status, 'succeeded');
      // Otherwise the provider would not have received the secrets that the response is cleaned of.
      const again = await finish('POST', `${index}/documents`, [{ id: 2, title: 'a' }]);
      assert.equal(again.error.message.replace('"2"', '"1"'), task.error.message);
    }
    for (const embedder of [
      { source: 'openAi', url: url('text', 'openAi'), apiKey: canary('apiKey of openAi') },
      { source: 'openAi', url: url('json', 'openAi without a key') },
      {
        ...{ source: 'ollama', model: 'm', apiKey: canary('apiKey of ollama') },
        url: url('json/api/embed', 'ollama'),
      },
      {
        source: 'composite',
        searchEmbedder: { ...rest('json', 'searching'), documentTemplate: undefined },
        indexingEmbedder: rest('text', 'indexing'),
      },
    ]) {
      const task = await finish('PATCH', '/indexes/more/settings', { embedders: { e: embedder } });
      if (task.status === 'succeeded') {
        await finish('POST', '/indexes/more/documents', [{ id: 1, title: 'a' }]);
      }
      await call('GET', '/indexes/more/settings', undefined, inHeaders());
      await finish('DELETE', '/indexes/more');
    }
    for (const change of [
      { url: canary('a URL that is none') + '?key=1' },
      { url: ['http://u:' + canary('password in a list') + '@h'] },
      { apiKey: [canary('a key in a list')] },
      { headers: canary('headers that are a text') },
      { headers: { 'X-Key': [canary('a header in a list')] } },
    ]) {
      await call('PATCH', '/indexes/books/settings/embedders', {
        e: { source: 'rest', ...change },
      });
    }
  });

  it('of webhooks are in no response', async () => {
    const headers = {
      Authorization: `Bearer ${canary('authorization of a webhook')}`,
      'X-Webhook-Secret': canary('secret of a webhook'),
      'X-Any': canary('other value of a webhook'),
      'X-Team': 'search',
    };
    const hook = await call('POST', '/webhooks', { url: url('hook', 'webhook'), headers });
    assert.equal(hook.headers['X-Team'], 'search');
    await call('GET', '/webhooks');
    const same = await call('PATCH', `/webhooks/${hook.uuid}`, {
      url: hook.url,
      headers: hook.headers,
    });
    assert.deepEqual(same, hook);
    await call('PATCH', `/webhooks/${hook.uuid}`, { headers: [canary('headers in a list')] });
    const odd = `${canary('a header that cannot be sent')}\n`;
    await call('PATCH', `/webhooks/${hook.uuid}`, { headers: { 'X-Key': odd } });
    await call('POST', '/webhooks', { url: `ftp://${canary('user of another scheme')}@h` });
  });

  it('of chat workspaces are in no response and no event', async () => {
    for (const path of ['stream', 'odd', 'json']) {
      const base = url(path, `chat ${path}`).replace('?', `/v1?`);
      const settings = { source: 'vLlm', baseUrl: base, apiKey: canary(`apiKey of chat ${path}`) };
      const shown = await call('PATCH', `/chats/${path}/settings`, settings);
      assert.deepEqual(await call('PATCH', `/chats/${path}/settings`, shown), shown);
      await call('GET', `/chats/${path}/settings`);
      const body = { model: 'm', stream: true, messages: [{ role: 'user', content: 'x' }] };
      const events = await call('POST', `/chats/${path}/chat/completions`, body);
      assert.match(events, /"type":"error".*\[DONE\]/s);
    }
    await call('PATCH', '/chats/x/settings', { apiKey: [canary('a key of chat in a list')] });
  });

  it('of the network are in its own routes alone', async () => {
    const keys = ['searchApiKey of a remote', 'writeApiKey of a remote'];
    const [searchApiKey, writeApiKey] = keys.map(canary);
    const remotes = { far: { url: url('json', 'remote'), searchApiKey, writeApiKey } };
    const network = { self: 'me', remotes, sharding: true };
    const shown = await call('PATCH', '/network', network, keys);
    assert.equal(shown.remotes.far.searchApiKey, searchApiKey);
    assert.deepEqual(await call('PATCH', '/network', shown, keys), shown);
    await call('GET', '/network', undefined, keys);
    const query = { indexUid: 'books', federationOptions: { remote: 'far' } };
    const { remoteErrors } = await call('POST', '/multi-search', {
      ...{ federation: {}, queries: [query] },
    });
    assert.match(remoteErrors.far.message, /\*\*\*/);
    const task = await finish('POST', '/indexes/shared/documents', [{ id: 1 }]);
    assert.match(task.network.remotes.far.error, /\*\*\*/);
    await call('PATCH', '/network', { remotes: { far: null }, sharding: false });
    await call('PATCH', '/network', { remotes: { x: { url: `ftp://${canary('remote')}@h` } } });
  });

  it('of exports are in no response', async () => {
    const target = { url: url('target', 'export'), apiKey: canary('apiKey of an export') };
    const { taskUid } = await call('POST', '/export', { ...target, indexes: { text: {} } });
    for (;;) {
      const task = await call('GET', `/tasks/${taskUid}`);
      if (task.status !== 'enqueued' && task.status !== 'processing') {
        assert.match(task.error.message, /\*\*\*/);
        break;
      }
    }
    await call('POST', '/export', { ...target, apiKey: [canary('a key of an export in a list')] });
  });

  it('are in no other response, in no line of the log, and in no delivery', async () => {
    for (const path of [
      '/tasks?limit=1000',
      '/batches?limit=200',
      '/stats',
      '/metrics',
      '/indexes',
    ]) {
      await call('GET', path);
    }
    await call('GET', '/experimental-features');
    await finish('POST', '/dumps');
    assert.deepEqual(tracesIn(echo.deliveries.join('\n')), []);
    assert.ok(echo.deliveries.length > 10, `${echo.deliveries.length} deliveries`);
    assert.deepEqual(
      [...echo.paths].sort(),
      ['form', 'hook', 'json', 'odd', 'stream', 'target', 'text'].sort(),
    );
    await server.stop();
    assert.deepEqual(tracesIn(server.stderr), []);
    assert.match(server.stderr, /"target":"http"/);
    assert.ok(planted.size > 60, `${planted.size} planted`);
  });
});

import assert from 'node:assert/strict';
import jwt from 'jsonwebtoken';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

const PAUSE_MS = 200;

interface Suggestion {
  text: string;
  source: string;
  attribute?: string;
  count: number;
}

describe('Suggestions', () => {
  let server: BuiltServer;
  const products = '/indexes/products';

  before(async () => {
    server = await startBuiltServer(['--analytics-retention-days', '30']);
    await server.finish('PATCH', `${products}/settings`, {
      body: {
        filterableAttributes: ['kind', 'brand', 'tenant'],
        suggestions: { attributes: ['kind', 'brand'], minUsers: 3 },
      },
    });
    await server.finish('POST', `${products}/documents`, {
      body: [
        { id: 1, title: 'Running shoes', kind: 'Running', brand: 'Runfast', tenant: 'a' },
        { id: 2, title: 'Running shorts', kind: 'Running', brand: 'Ground', tenant: 'b' },
        { id: 3, title: 'Runner bag', kind: 'Bags', brand: 'Runzoom', tenant: 'b' },
        { id: 4, title: 'Tent', kind: 'Camping', brand: 'Runzoom', tenant: 'b' },
      ],
    });
  });
  after(() => server?.close());

  async function post(path: string, body: object, headers: object, key = server.masterKey) {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...headers,
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, json: (await response.json()) as any };
  }
  const searchAs = (q: string, user: string): Promise<unknown> =>
    post(`${products}/search`, { q }, { 'x-svc-user-id': user });
  async function suggest(body: object, key?: string): Promise<Suggestion[]> {
    const { status, json } = await post(`${products}/suggest`, body, {}, key);
    assert.equal(status, 200, JSON.stringify(json));
    return json.suggestions;
  }
  const searches = (found: readonly Suggestion[]): [string, number][] =>
    found.filter(({ source }) => source === 'searches').map(({ text, count }) => [text, count]);
  const newKey = async (actions: string[], indexes: string[]): Promise<any> =>
    (await server.call('POST', '/keys', { body: { actions, indexes, expiresAt: null } })).json;

  /** Rows are written after five seconds, and a query is final three seconds later. */
  async function until(done: () => Promise<boolean>): Promise<void> {
    while (!(await done())) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }

  it('are values of the attributes of the setting, the most frequent first', async () => {
    assert.deepEqual(await suggest({ q: 'runn' }), [
      { text: 'Running', source: 'attribute', attribute: 'kind', count: 2 },
    ]);
    assert.deepEqual(await suggest({ q: 'run', limit: 3 }), [
      { text: 'Running', source: 'attribute', attribute: 'kind', count: 2 },
      { text: 'Runzoom', source: 'attribute', attribute: 'brand', count: 2 },
      { text: 'Runfast', source: 'attribute', attribute: 'brand', count: 1 },
    ]);
    const misspelt = await suggest({ q: 'runzomo' });
    assert.deepEqual(
      misspelt.map(({ text }) => text),
      ['Runzoom'],
    );
    assert.equal((await suggest({ q: 'run', limit: 1 })).length, 1);
  });

  it('are queries that enough users have sent, within a minute, and survive a restart', async () => {
    for (const user of ['u1', 'u2', 'u3', 'u4']) await searchAs('running shoes', user);
    for (const user of ['v1', 'v2', 'v3']) {
      await searchAs('Runner bag', user);
    }
    // One user, two users, and nothing found.
    for (let n = 0; n < 5; n++) await searchAs('running secret', 'w1');
    for (const user of ['w1', 'w2']) await searchAs('running shorts', user);
    for (const user of ['u1', 'u2', 'u3']) await searchAs('xyzzyqwert', user);
    // It is the last one that becomes final.
    for (const user of ['u1', 'u2', 'u3']) await searchAs('tent', user);
    await until(async () => searches(await suggest({ q: 'tent' })).length === 1);

    const expected: [string, number][] = [
      ['running shoes', 4],
      ['runner bag', 3],
    ];
    assert.deepEqual(searches(await suggest({ q: 'run' })), expected);
    assert.deepEqual(searches(await suggest({ q: 'rnning' })), [['running shoes', 4]]);
    assert.deepEqual(searches(await suggest({ q: 'shoe' })), [['running shoes', 4]]);
    assert.deepEqual(searches(await suggest({ q: 'xyzzy' })), []);
    assert.deepEqual(searches(await suggest({})), [...expected, ['tent', 3]]);
    // The kinds alternate.
    assert.deepEqual(
      (await suggest({ q: 'run' })).map(({ text }) => text),
      ['running shoes', 'Running', 'Runzoom', 'runner bag', 'Runfast'],
    );
    await server.kill('SIGTERM');
    await server.restart();
    await until(async () => searches(await suggest({ q: 'run' })).length === 2);
    assert.deepEqual(searches(await suggest({ q: 'run' })), expected);
  });

  it('respect the number of users of the setting', async () => {
    const path = `${products}/settings/suggestions`;
    await server.finish('PATCH', path, { body: { minUsers: 4 } });
    assert.deepEqual(searches(await suggest({ q: 'run' })), [['running shoes', 4]]);
    await server.finish('PATCH', path, { body: { minUsers: 2 } });
    assert.deepEqual(searches(await suggest({ q: 'running sh' })), [
      ['running shoes', 4],
      ['running shorts', 2],
    ]);
    assert.ok(!JSON.stringify(await suggest({ limit: 100 })).includes('secret'));
    const bad = await server.call('PATCH', path, { body: { minUsers: 1 } });
    assert.deepEqual([bad.status, bad.json.code], [400, 'invalid_settings_suggestions']);
  });

  it('of a tenant are only values of its own documents', async () => {
    const { uid, key } = await newKey(['search'], ['products']);
    const rules = { products: { filter: 'tenant = a' } };
    const token = jwt.sign({ apiKeyUid: uid, searchRules: rules }, key);
    assert.deepEqual(await suggest({ q: 'run' }, token), [
      { text: 'Running', source: 'attribute', attribute: 'kind', count: 1 },
      { text: 'Runfast', source: 'attribute', attribute: 'brand', count: 1 },
    ]);
    assert.deepEqual(await suggest({ q: 'camping' }, token), []);
    const open = jwt.sign({ apiKeyUid: uid, searchRules: ['products'] }, key);
    assert.notDeepEqual(searches(await suggest({ q: 'run' }, open)), []);
  });

  it('are refused without the right, and with invalid parameters', async () => {
    const elsewhere = (await newKey(['search'], ['others'])).key;
    assert.equal((await post(`${products}/suggest`, {}, {}, elsewhere)).status, 403);
    const other = (await newKey(['documents.add'], ['*'])).key;
    assert.equal((await post(`${products}/suggest`, {}, {}, other)).status, 403);
    const refused = async (body: object): Promise<string> =>
      (await post(`${products}/suggest`, body, {})).json.code;
    assert.equal(await refused({ limit: 0 }), 'invalid_suggest_limit');
    assert.equal(await refused({ limit: 101 }), 'invalid_suggest_limit');
    assert.equal(await refused({ q: 1 }), 'invalid_suggest_q');
    assert.equal(await refused({ filter: 'a = b' }), 'bad_request');
    const missing = await post('/indexes/nowhere/suggest', {}, {});
    assert.deepEqual([missing.status, missing.json.code], [404, 'index_not_found']);
    await server.finish('PATCH', `${products}/settings/suggestions`, {
      body: { attributes: ['title'] },
    });
    assert.equal(await refused({ q: 'run' }), 'invalid_facet_search_facet_name');
    await server.finish('DELETE', `${products}/settings/suggestions`);
    const { suggestions } = (await server.call('GET', `${products}/settings`)).json;
    assert.equal(suggestions, undefined);
    const own = (await server.call('GET', `${products}/settings/suggestions`)).json;
    assert.deepEqual(own, { attributes: [], minUsers: 5 });
  });
});

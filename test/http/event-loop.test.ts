/**
 * No request makes the event loop compute for long at a time, whatever it contains. The tests
 * measure CPU time of the thread, so that other processes do not count, and compare it with the
 * time to parse six megabytes on the same machine. Before they were bounded, these requests took
 * that long or longer, most of them many times.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';
import { LoopIterations } from '../support/loop-iterations.ts';
import { startChatProvider } from './support/chat-provider.ts';

const PARSES = 5;

/** CPU milliseconds of the fastest of several parses of six megabytes of JSON. */
function parseMs(): number {
  const text = listOf(6_000_000, (i) => `word${i}`);
  let fastest = Infinity;
  for (let n = 0; n < PARSES; n++) {
    const begin = process.cpuUsage();
    JSON.parse(text);
    fastest = Math.min(fastest, process.cpuUsage(begin).user / 1000);
  }
  return fastest;
}

/** JSON of about `bytes` bytes. */
function listOf(bytes: number, element: (i: number) => unknown): string {
  const parts: string[] = [];
  for (let length = 2, i = 0; length < bytes - 100; i++) {
    const part = JSON.stringify(element(i));
    parts.push(part);
    length += part.length + 1;
  }
  return `[${parts.join(',')}]`;
}

function objectOf(bytes: number, member: (i: number) => [string, unknown]): string {
  const parts: string[] = [];
  for (let length = 2, i = 0; length < bytes - 100; i++) {
    const [name, value] = member(i);
    const part = `"${name}":${JSON.stringify(value)}`;
    parts.push(part);
    length += part.length + 1;
  }
  return `{${parts.join(',')}}`;
}

describe('An iteration of the event loop is short', function () {
  const iterations = new LoopIterations();
  const plainMs = parseMs();
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer([], iterations.env);
    await server.call('PATCH', '/experimental-features', {
      body: { editDocumentsByFunction: true, network: true, chatCompletions: true },
    });
    await server.finish('POST', '/indexes/a/documents', {
      body: Array.from({ length: 100 }, (_, id) => ({ id, t: `text ${id}`, n: id })),
    });
    await server.finish('PATCH', '/indexes/a/settings', {
      body: { filterableAttributes: ['*'], sortableAttributes: ['*'] },
    });
  });
  after(async () => {
    await server.close();
    iterations.close();
  });

  /** Sends the request and waits for its task, without checking it. */
  async function longest(method: string, path: string, text?: string): Promise<[number, string]> {
    iterations.take();
    const { status, json } = await server.call(method, path, text === undefined ? {} : { text });
    if (status === 202) {
      const waits = `/tasks?uids=${json.taskUid}&statuses=enqueued,processing&limit=0`;
      while ((await server.call('GET', waits)).json.total > 0) await delay(20);
    }
    // The iteration that sent the response is recorded in the next one.
    await server.call('GET', '/health');
    await server.call('GET', '/health');
    return [iterations.take(), `${status} ${json?.code ?? ''}`.trim()];
  }

  const MB = 1_000_000;
  const SETTINGS = '/indexes/a/settings';
  const FETCH = '/indexes/a/documents/fetch';
  const word = (i: number): string => `word${i}`;
  const cases: [name: string, method: string, path: string, text: string, outcome: string][] = [
    [
      ...(['synonyms', 'PUT', `${SETTINGS}/synonyms`] as const),
      objectOf(3.9 * MB, (i) => [word(i), [`w${i}`]]),
      '202',
    ],
    ['stop words', 'PUT', `${SETTINGS}/stop-words`, listOf(3.9 * MB, word), '202'],
    [
      'fewer synonyms',
      'PUT',
      `${SETTINGS}/synonyms`,
      objectOf(250_000, (i) => [word(i), []]),
      '202',
    ],
    [
      ...(['a function of 98 KB', 'POST', '/indexes/a/documents/edit'] as const),
      JSON.stringify({
        function: `${'let f = |x| { '.repeat(90)}${'doc.a = 1; '.repeat(8000)}${'};'.repeat(90)}`,
      }),
      '202',
    ],
    [
      ...(['names of attributes', 'PUT', `${SETTINGS}/searchable-attributes`] as const),
      listOf(3.9 * MB, word),
      '400 invalid_settings_searchable_attributes',
    ],
    [
      ...(['orders of facets', 'PATCH', `${SETTINGS}/faceting`] as const),
      `{"sortFacetValuesBy":${objectOf(3.9 * MB, (i) => [word(i), 'count'])}}`,
      '400 invalid_settings_faceting',
    ],
    [
      ...(['a template', 'PATCH', `${SETTINGS}/embedders`] as const),
      JSON.stringify({ e: { source: 'ollama', documentTemplate: '{{doc.a}}'.repeat(25_000) } }),
      '400 invalid_settings_embedders',
    ],
    ['sort', 'POST', FETCH, `{"sort":"${'n:asc,'.repeat(1.5 * MB)}"}`, '400 invalid_document_sort'],
    ['ids', 'POST', FETCH, `{"ids":${listOf(3 * MB, word)}}`, '200'],
    [
      ...(['facets of indexes', 'POST', '/multi-search'] as const),
      `{"federation":{"facetsByIndex":${objectOf(2 * MB, (i) => [`i${i}`, null])}},"queries":[]}`,
      '400 invalid_multi_search_facets_by_index',
    ],
    [
      ...(['ids to delete', 'POST', '/indexes/a/documents/delete-batch'] as const),
      listOf(9.5 * MB, (i) => `x${i}`),
      '202',
    ],
    [
      ...(['a filter to delete by', 'POST', '/indexes/a/documents/delete'] as const),
      `{"filter":[${listOf(990_000, (i) => `n = ${i + 1000}`)}]}`,
      '202',
    ],
  ];
  for (const [name, method, path, text, outcome] of cases) {
    it(`with ${name}`, async () => {
      const [ms, status] = await longest(method, path, text);
      assert.equal(status, outcome);
      assert.ok(ms < plainMs, `${ms} ms, a parse ${plainMs} ms`);
    });
  }

  for (const path of [SETTINGS, '/tasks?limit=1000', '/batches?limit=1000']) {
    it(`when GET ${path} shows what is long`, async () => {
      const [ms, status] = await longest('GET', path);
      assert.equal(status, '200');
      assert.ok(ms < plainMs, `${ms} ms, a parse ${plainMs} ms`);
    });
  }

  it('when 500 conversations begin at once', async () => {
    const provider = await startChatProvider();
    try {
      const documents = Array.from({ length: 200 }, (_, id) => ({ id, g: `v${id}`, h: id }));
      const settings = { filterableAttributes: ['g', 'h'] };
      for (let n = 0; n < 30; n++) {
        await server.call('PATCH', `/indexes/chat${n}/settings`, { body: settings });
        await server.call('POST', `/indexes/chat${n}/documents`, { body: documents });
      }
      await server.idle();
      const workspace = { source: 'vLlm', baseUrl: provider.url, apiKey: 'k' };
      await server.call('PATCH', '/chats/w/settings', { body: workspace });
      const ask = async (): Promise<number> => {
        const messages = [{ role: 'user', content: 'x' }];
        const response = await fetch(`${server.url}/chats/w/chat/completions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${server.masterKey}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify({ model: 'm', stream: true, messages }),
        });
        await response.text();
        return response.status;
      };
      await ask();
      let ms = Infinity;
      // The first burst is compiled too, and a collection of garbage may fall into any.
      for (let burst = 0; burst < 3; burst++) {
        iterations.take();
        const statuses = await Promise.all(Array.from({ length: 500 }, ask));
        await server.call('GET', '/health');
        await server.call('GET', '/health');
        ms = Math.min(ms, iterations.take());
        assert.deepEqual(new Set(statuses), new Set([200]));
      }
      assert.ok(ms < plainMs, `${ms} ms, a parse ${plainMs} ms`);
    } finally {
      await provider.close();
    }
  });

  it('when 3,000 API keys are listed, and one is made', async () => {
    const body = { actions: ['search'], indexes: ['*'], expiresAt: null };
    for (let n = 0; n < 30; n++) {
      const made = Array.from({ length: 100 }, () => server.call('POST', '/keys', { body }));
      for (const { status } of await Promise.all(made)) assert.equal(status, 201);
    }
    const requests = [
      ['GET', '/keys?limit=100000', '200'],
      ['POST', '/keys', '201'],
      ['GET', `/keys/${'a'.repeat(64)}`, '404 api_key_not_found'],
    ] as const;
    for (const [method, path, outcome] of requests) {
      const text = method === 'POST' ? JSON.stringify(body) : undefined;
      const [ms, status] = await longest(method, path, text);
      assert.equal(status, outcome);
      assert.ok(ms < plainMs, `${method} ${path}: ${ms} ms, a parse ${plainMs} ms`);
    }
  });

  it('and settings of any length are read as they were sent, with concurrent requests', async () => {
    const lists = [100, 3_000, 5_000, 20_000, 40_000].map((count) =>
      Array.from({ length: count }, (_, i) => `w${i}é`),
    );
    const sent = lists.map((list, n) =>
      server.finish('PUT', `/indexes/c${n}/settings/separator-tokens`, { body: list }),
    );
    const others = Array.from({ length: 50 }, () =>
      server.call('POST', '/indexes/a/search', { body: { q: 'x'.repeat(40_000) } }),
    );
    for (const { status } of await Promise.all(others)) assert.equal(status, 200);
    for (const [n, task] of (await Promise.all(sent)).entries()) {
      assert.deepEqual(task.details.separatorTokens, lists[n]!.toSorted());
    }
  });

  it('and what is long comes back as it was set', async () => {
    const stopWords = Array.from({ length: 20_000 }, (_, i) => `é漢${i}"\\`);
    const synonyms = Object.fromEntries(stopWords.map((one) => [one, ['x', one]]));
    const separatorTokens = ['\u{1f600}', '|'];
    const body = { stopWords, synonyms, separatorTokens };
    const task = await server.finish('PATCH', '/indexes/b/settings', { body });
    assert.equal(task.status, 'succeeded');
    assert.deepEqual(task.details.stopWords, stopWords.toSorted());
    const expected = stopWords.map((one) => one.normalize('NFKD')).toSorted();
    const check = async (): Promise<void> => {
      const { json } = await server.call('GET', '/indexes/b/settings');
      assert.deepEqual(json.stopWords, expected);
      assert.deepEqual(json.synonyms, synonyms);
      assert.deepEqual(json.separatorTokens, separatorTokens.toSorted());
    };
    await check();
    await server.finish('POST', '/indexes/b/documents', { body: [{ id: 1, t: 'é漢1 c' }] });
    await server.finish('PATCH', '/indexes/b/settings', { body: { searchableAttributes: ['t'] } });
    await server.kill();
    await server.restart();
    await check();
    const again = (await server.call('GET', `/tasks/${task.uid}`)).json;
    assert.deepEqual(again.details, task.details);
    const batch = (await server.call('GET', `/batches/${task.batchUid}`)).json;
    assert.deepEqual(batch.details, task.details);
    await server.finish('PUT', '/indexes/b/settings/stop-words', { text: '["a"]' });
    const { json } = await server.call('GET', '/indexes/b/settings');
    assert.deepEqual(json.stopWords, ['a']);
    assert.deepEqual(json.synonyms, synonyms);
  });
});

/** Limits of one request: `docs/limits.md`. */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('Limits of a request', () => {
  let server: BuiltServer;
  /** A server with the default limits. */
  let usual: BuiltServer;
  before(async () => {
    usual = await startBuiltServer();
    server = await startBuiltServer([
      ...['--multi-search-queries-limit', '3', '--highlight-tag-size-limit', '16'],
      ...['--search-payload-size-limit', '2000'],
    ]);
    await server.finish('POST', '/indexes/books/documents', {
      body: [{ id: 1, title: '日本語の本' }],
    });
  });
  after(() => Promise.all([server.close(), usual.close()]));

  it('holds for the number of queries of a multi-search', async () => {
    const queries = Array.from({ length: 3 }, () => ({ indexUid: 'books' }));
    assert.equal((await server.call('POST', '/multi-search', { body: { queries } })).status, 200);
    const more = [...queries, ...queries];
    const { status, json } = await server.call('POST', '/multi-search', {
      body: { queries: more },
    });
    assert.equal(status, 400);
    assert.equal(json.code, 'bad_request');
    assert.match(json.message, /at most 3/);
  });

  it('holds for the patterns of a listing of fields', async () => {
    const list = (count: number): Promise<{ status: number; json: any }> =>
      server.call('POST', '/indexes/books/fields', {
        body: { filter: { attributePatterns: Array.from({ length: count }, (_, i) => `${i}*`) } },
      });
    assert.equal((await list(256)).status, 200);
    const { status, json } = await list(257);
    assert.equal(status, 400);
    assert.equal(json.code, 'invalid_index_fields_filter_attribute_patterns');
  });

  it('holds for the indexes whose facets are asked for', async () => {
    const facetsByIndex = Object.fromEntries(
      Array.from({ length: 1001 }, (_, i) => [`i${i}`, null]),
    );
    const { status, json } = await usual.call('POST', '/multi-search', {
      body: { federation: { facetsByIndex }, queries: [{ indexUid: 'books' }] },
    });
    assert.equal(status, 400);
    assert.equal(json.code, 'invalid_multi_search_facets_by_index');
  });

  it('holds for the length of names and of sort criteria', async () => {
    const long = 'x'.repeat(65_537);
    const media = Array.from({ length: 100_001 }, () => 0);
    for (const [path, body, code] of [
      ['search', { media }, 'invalid_search_media'],
      ['search', { sort: [long] }, 'invalid_search_sort'],
      ['search', { distinct: long }, 'invalid_search_distinct'],
      ['facet-search', { facetName: long }, 'invalid_facet_search_facet_name'],
      ['documents/fetch', { sort: [long] }, 'invalid_document_sort'],
      ['documents/fetch', { sort: ','.repeat(1_000_001) }, 'invalid_document_sort'],
    ] as const) {
      const { status, json } = await usual.call('POST', `/indexes/books/${path}`, { body });
      assert.equal(status, 400, path);
      assert.equal(json.code, code);
      assert.match(json.message, /characters/);
    }
  });

  it('holds for lists and texts of what is administered', async () => {
    await usual.call('PATCH', '/experimental-features', {
      body: { logsRoute: true, editDocumentsByFunction: true },
    });
    const named = (count: number, value: unknown): object =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, value]));
    const many = Array.from({ length: 10_001 }, (_, i) => `i${i}`);
    const text = 'x'.repeat(10_001);
    const key = { actions: ['search'], indexes: ['*'], expiresAt: null };
    const url = 'http://localhost:1';
    const pairs = Array.from({ length: 1001 }, (_, i) => ({ indexes: [`a${i}`, `b${i}`] }));
    const cases: [string, unknown, string][] = [
      ['/keys', { ...key, name: text }, 'invalid_api_key_name'],
      ['/keys', { ...key, description: text }, 'invalid_api_key_description'],
      ['/keys', { ...key, indexes: many }, 'invalid_api_key_indexes'],
      ['/keys', { ...key, actions: many.map(() => 'search') }, 'invalid_api_key_actions'],
      ['/webhooks', { url, headers: named(1001, null) }, 'invalid_webhook_headers'],
      ['/export', { url, indexes: named(1001, {}) }, 'bad_request'],
      ['/export', { url, indexes: { a: { filter: [many, many] } } }, 'bad_request'],
      ['/swap-indexes', pairs, 'bad_request'],
      ['/logs/stderr', { target: text }, 'bad_request'],
      ['/indexes', { uid: 'x', primaryKey: 'x'.repeat(65_537) }, 'invalid_index_primary_key'],
      [
        '/indexes/books/documents/edit',
        { function: '', context: { a: [...many, ...many] } },
        'invalid_document_edition_context',
      ],
    ];
    for (const [path, body, code] of cases) {
      const { status, json } = await usual.call('POST', path, { body });
      assert.equal(status, 400, path);
      assert.equal(json.code, code, path);
    }
  });

  it('holds for tags and markers', async () => {
    const long = 'é'.repeat(9);
    for (const [name, code] of [
      ['highlightPreTag', 'invalid_search_highlight_pre_tag'],
      ['highlightPostTag', 'invalid_search_highlight_post_tag'],
      ['cropMarker', 'invalid_search_crop_marker'],
    ] as const) {
      const one = await server.call('POST', '/indexes/books/search', { body: { [name]: long } });
      assert.equal(one.json.code, code);
      const query = encodeURIComponent(long);
      const got = await server.call('GET', `/indexes/books/search?${name}=${query}`);
      assert.equal(got.json.code, code);
      const many = await server.call('POST', '/multi-search', {
        body: { queries: [{ indexUid: 'books', [name]: long }] },
      });
      assert.equal(many.json.code, code);
      assert.match(many.json.message, /queries\[0\]/);
      const fits = await server.call('POST', '/indexes/books/search', {
        body: { [name]: long.slice(1) },
      });
      assert.equal(fits.status, 200);
    }
  });

  it('holds for the body of what only reads', async () => {
    const q = 'x'.repeat(2000);
    for (const path of ['/indexes/books/search', '/multi-search', '/indexes/books/facet-search']) {
      const { status, json } = await server.call('POST', path, { body: { q } });
      assert.equal(status, 413, path);
      assert.equal(json.code, 'payload_too_large');
    }
    const fetched = await server.call('POST', '/indexes/books/documents/fetch', {
      body: { filter: q },
    });
    assert.equal(fetched.status, 413);
    const settings = await server.finish('PATCH', '/indexes/books/settings', {
      body: { stopWords: [q] },
    });
    assert.equal(settings.status, 'succeeded');
  });

  it('holds for the body of what writes no documents', async () => {
    const large = `{"x":"${'x'.repeat(1_000_000)}"}`;
    const cases: [string, string, string][] = [
      ['PATCH', '/indexes/books/settings', `["${'x'.repeat(4_000_000)}"]`],
      ['PUT', '/indexes/books/settings/stop-words', `["${'x'.repeat(4_000_000)}"]`],
      ['PATCH', '/network', large],
      ['PATCH', '/experimental-features', large],
      ['POST', '/keys', large],
      ['POST', '/webhooks', large],
      ['POST', '/export', large],
      ['POST', '/events', large],
      ['POST', '/swap-indexes', large],
      ['POST', '/indexes', large],
      ['PATCH', '/chats/c/settings', large],
      ['POST', '/chats/c/chat/completions', large],
      ['POST', '/render-template', large],
      ['POST', '/indexes/books/documents/delete', large],
      ['POST', '/indexes/books/documents/edit', large],
      ['PATCH', '/dynamic-search-rules/r', large],
    ];
    for (const [method, path, text] of cases) {
      const { status, json } = await server.call(method, path, { text });
      assert.equal(status, 413, path);
      assert.equal(json.code, 'payload_too_large');
    }
    const ids = `["1"${' '.repeat(10_000_000)}]`;
    const deleted = await server.call('POST', '/indexes/books/documents/delete-batch', {
      text: ids,
    });
    assert.equal(deleted.status, 202);
  });

  it('holds for the lines that a CSV becomes', async () => {
    const path = '/indexes/columns/documents';
    const column = 'x'.repeat(20_000);
    for (const lines of [2_000, 20_000]) {
      // In memory, and in a file.
      const text = `id,${column}\n${'1,2\n'.repeat(lines)}`;
      const { status, json } = await server.call('POST', path, { text, type: 'text/csv' });
      assert.equal(json.code, 'payload_too_large');
      assert.equal(status, 413);
    }
    const text = `id,${column}\n${'1,2\n'.repeat(20)}`;
    assert.equal((await server.call('POST', path, { text, type: 'text/csv' })).status, 202);
  });

  it('holds for stored ranking rules', async () => {
    const rules = (count: number) => Array.from({ length: count }, (_, i) => `f${i}:asc`);
    const { status, json } = await server.call('PUT', '/indexes/books/settings/ranking-rules', {
      body: rules(101),
    });
    assert.equal(status, 400);
    assert.equal(json.code, 'invalid_settings_ranking_rules');
    const task = await server.finish('PUT', '/indexes/books/settings/ranking-rules', {
      body: rules(100),
    });
    assert.equal(task.status, 'succeeded');
  });
});

describe('A query of many characters without spaces', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    await server.finish('POST', '/indexes/books/documents', {
      body: [{ id: 1, title: '進撃の巨人' }],
    });
  });
  after(() => server.close());

  it('gets the response of its beginning, and delays no other request', async () => {
    for (const piece of ['進撃の巨人', 'ภาษาไทย', 'ひらがな', '漢字']) {
      const long = piece.repeat(600_000 / piece.length);
      const { status, json } = await server.call('POST', '/indexes/books/search', {
        body: { q: long, limit: 1, attributesToRetrieve: [] },
      });
      assert.equal(status, 200);
      const short = await server.call('POST', '/indexes/books/search', {
        body: { q: piece.repeat(1200 / piece.length), limit: 1, attributesToRetrieve: [] },
      });
      assert.deepEqual(json.hits, short.json.hits);
    }
  });
});

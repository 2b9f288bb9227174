/** Search parameters that must be refused although others in the request are valid. */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('Parameters of a search', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    await server.finish('POST', '/indexes/books/documents', { body: [{ id: 1, title: 'Dune' }] });
    await server.finish('PUT', '/indexes/books/settings/searchable-attributes', {
      body: ['title'],
    });
  });
  after(() => server.close());

  it('may not search on an unknown attribute, not even together with all of them', async () => {
    for (const attributesToSearchOn of [['nope'], ['*', 'nope'], ['nope', '*']]) {
      const { status, json } = await server.call('POST', '/indexes/books/search', {
        body: { q: 'dune', attributesToSearchOn },
      });
      assert.equal(status, 400, attributesToSearchOn.join());
      assert.equal(json.code, 'invalid_search_attributes_to_search_on');
    }
    const { json } = await server.call('POST', '/indexes/books/search', {
      body: { q: 'dune', attributesToSearchOn: ['*', 'title'] },
    });
    assert.equal(json.hits.length, 1);
  });

  it('may place a query of a federation only with the feature for it', async () => {
    const body = {
      federation: {},
      queries: [{ indexUid: 'unknown', federationOptions: { queryPosition: 3 } }],
    };
    const before = await server.call('POST', '/multi-search', { body });
    assert.equal(before.json.code, 'feature_not_enabled');
    await server.call('PATCH', '/experimental-features', { body: { network: true } });
    const after = await server.call('POST', '/multi-search', { body });
    assert.equal(after.json.code, 'index_not_found');
  });
});

describe('Documents that are sent', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
  });
  after(() => server.close());

  it('may not be followed by other text', async () => {
    for (const text of ['[{"id":3}] garbage', '[{"id":3}]]]}', '[] x', '{"id":3} x', '[],']) {
      const { status, json } = await server.call('POST', '/indexes/books/documents', { text });
      assert.equal(status, 400, text);
      assert.equal(json.code, 'malformed_payload', text);
    }
    for (const text of ['[{"id":3}]\n ', ' [ ] ']) {
      const { status } = await server.call('POST', '/indexes/books/documents', { text });
      assert.equal(status, 202, text);
    }
  });

  it('may follow each other without a newline as NDJSON', async () => {
    const task = await server.finish('POST', '/indexes/lines/documents', {
      text: '{"id":1}{"id":2} {"id":3}\n{"id":4}',
      type: 'application/x-ndjson',
    });
    assert.equal(task.details.indexedDocuments, 4);
  });
});

/** Null, absent and empty fields of requests: which are accepted, and the code of each refusal. */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

type Row = [fields: string, code: string | null];

/**
 * Route, the rest of its body, and the effect of null in each field; no code: it is accepted. `.`
 * leads into an object.
 */
const NULLS: [method: string, path: string, rest: object, rows: Row[]][] = [
  [
    ...(['POST', '/indexes/i/search', {}] as const),
    [
      ['offset limit cropLength cropMarker highlightPreTag highlightPostTag', 'invalid_search_'],
      ['showMatchesPosition matchingStrategy retrieveVectors showRankingScore', 'invalid_search_'],
      ['showRankingScoreDetails showPerformanceDetails', 'invalid_search_'],
      ['q page hitsPerPage attributesToRetrieve attributesToCrop attributesToHighlight', null],
      ['attributesToSearchOn filter sort distinct facets rankingScoreThreshold locales', null],
      ['hybrid vector media personalize useNetwork', null],
      ['hybrid.embedder', 'invalid_search_embedder'],
    ],
  ],
  [
    ...(['POST', '/multi-search', { queries: [] }] as const),
    [
      ['queries', 'bad_request'],
      ['federation', null],
      ['federation.page federation.hitsPerPage federation.mergeFacets federation.distinct', null],
      ['federation.personalize federation.showPerformanceDetails', null],
      ['federation.offset', 'invalid_search_offset'],
      ['federation.limit', 'invalid_search_limit'],
      ['federation.facetsByIndex', 'invalid_multi_search_facets_by_index'],
    ],
  ],
  [
    ...(['POST', '/indexes/i/facet-search', { facetName: 'kind' }] as const),
    [
      ['facetName', 'invalid_facet_search_facet_name'],
      ['matchingStrategy', 'invalid_search_matching_strategy'],
      ['facetQuery exhaustiveFacetCount q filter hybrid vector attributesToSearchOn locales', null],
    ],
  ],
  [
    ...(['POST', '/indexes/i/similar', { id: 1, embedder: 'e' }] as const),
    [
      ['id embedder offset limit retrieveVectors showRankingScore', 'invalid_similar_'],
      ['showRankingScoreDetails showPerformanceDetails', 'invalid_similar_'],
      ['filter attributesToRetrieve rankingScoreThreshold useNetwork', null],
    ],
  ],
  [
    ...(['POST', '/indexes/i/documents/fetch', {}] as const),
    [
      ['offset limit retrieveVectors', 'invalid_document_'],
      ['fields filter sort ids useNetwork', null],
    ],
  ],
  [
    ...(['POST', '/indexes/i/documents/edit', { function: '' }] as const),
    [
      ['function', 'invalid_document_edition_function_filter'],
      ['filter context', null],
    ],
  ],
  ['POST', '/indexes/i/documents/delete', {}, [['filter', 'invalid_document_filter']]],
  [
    ...(['POST', '/indexes', { uid: 'n' }] as const),
    [
      ['uid', 'invalid_index_uid'],
      ['primaryKey', null],
    ],
  ],
  ['PATCH', '/indexes/n', {}, [['primaryKey uid', null]]],
  [
    ...(['POST', '/keys', { actions: [], indexes: [], expiresAt: null }] as const),
    [
      ['uid actions indexes', 'invalid_api_key_'],
      ['name description expiresAt rateLimit weight', null],
    ],
  ],
  [
    ...(['POST', '/webhooks', { url: 'http://127.0.0.1:9/' }] as const),
    [
      ['url', 'invalid_webhook_url'],
      ['headers headers.a', null],
    ],
  ],
  ['PATCH', '/network', {}, [['self sharding remotes leader remotes.a', null]]],
  [
    ...(['PATCH', '/indexes/n/settings', {}] as const),
    [
      ['displayedAttributes searchableAttributes filterableAttributes synonyms embedders', null],
      ['typoTolerance typoTolerance.enabled typoTolerance.minWordSizeForTypos', null],
      ['faceting.maxValuesPerFacet pagination pagination.maxTotalHits embedders.e', null],
      ['chat.searchParameters chat.searchParameters.hybrid', null],
      ['synonyms.a', 'invalid_settings_synonyms'],
      ['faceting.sortFacetValuesBy.a', 'invalid_settings_faceting'],
    ],
  ],
  ['POST', '/logs/stderr', {}, [['target', null]]],
];

/** The response to a request with a required field absent or empty. */
const MISSING: [method: string, path: string, body: unknown, code: string | null][] = [
  ['POST', '/indexes', {}, 'missing_index_uid'],
  ['POST', '/multi-search', {}, 'bad_request'],
  ['POST', '/multi-search', { queries: [] }, null],
  ['POST', '/multi-search', { queries: [{}] }, 'missing_index_uid'],
  ['POST', '/indexes/i/search', {}, null],
  ['POST', '/indexes/i/search', { hybrid: {} }, 'invalid_search_hybrid_query'],
  ['POST', '/indexes/i/search', { personalize: {} }, 'invalid_search_personalize'],
  ['POST', '/indexes/i/facet-search', {}, 'missing_facet_search_facet_name'],
  ['POST', '/indexes/i/similar', { id: 1 }, 'bad_request'],
  ['POST', '/indexes/i/similar', { embedder: 'e' }, 'bad_request'],
  ['POST', '/indexes/i/documents/delete', {}, 'bad_request'],
  ['POST', '/indexes/i/documents/delete', { filter: [[]] }, 'invalid_document_filter'],
  ['POST', '/indexes/i/documents/edit', {}, 'missing_document_edition_function'],
  ['POST', '/swap-indexes', [], null],
  ['POST', '/swap-indexes', [{}], 'missing_swap_indexes'],
  ['POST', '/swap-indexes', [{ indexes: [] }], 'invalid_swap_indexes'],
  ['POST', '/swap-indexes', [{ indexes: ['a', 'b', 'c'] }], 'invalid_swap_indexes'],
  ['POST', '/keys', { indexes: [], expiresAt: null }, 'missing_api_key_actions'],
  ['POST', '/keys', { actions: [], expiresAt: null }, 'missing_api_key_indexes'],
  ['POST', '/keys', { actions: [], indexes: [] }, 'missing_api_key_expires_at'],
  ['POST', '/webhooks', {}, 'invalid_webhook_url'],
  ['PATCH', '/network', { remotes: { a: {} } }, 'missing_network_url'],
  ['POST', '/export', {}, 'invalid_export_url'],
  ['POST', '/render-template', {}, 'bad_request'],
  ['POST', '/render-template', { template: { kind: 'none' } }, 'invalid_render_template'],
];

const snake = (name: string): string => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

function withNull(rest: object, field: string): object {
  const [last, ...path] = field.split('.').reverse();
  const inner: object = path.reduce((value: object, name) => ({ [name]: value }), {
    [last!]: null,
  });
  return { ...rest, ...inner };
}

describe('Fields of requests', function () {
  this.timeout(60_000);
  let server: BuiltServer;

  before(async () => {
    server = await startBuiltServer();
    const { json } = await server.call('GET', '/experimental-features');
    const on = Object.fromEntries(Object.keys(json as object).map((name) => [name, true]));
    await server.call('PATCH', '/experimental-features', { body: on });
    const embedders = { e: { source: 'userProvided', dimensions: 1 } };
    const settings = { filterableAttributes: ['kind'], embedders };
    await server.call('PATCH', '/indexes/i/settings', { body: settings });
    const documents = [1, 2].map((id) => ({ id, kind: 'a', _vectors: { e: [id] } }));
    await server.finish('POST', '/indexes/i/documents', { body: documents });
  });

  after(() => server?.close());

  async function expect(
    method: string,
    path: string,
    body: unknown,
    code: string | null,
  ): Promise<void> {
    const { status, json } = await server.call(method, path, { body });
    const got = status < 300 ? null : (json as { code: string }).code;
    assert.equal(got, code, `${method} ${path} ${JSON.stringify(body)}: ${JSON.stringify(json)}`);
  }

  for (const [method, path, rest, rows] of NULLS) {
    it(`of ${method} ${path} take null or refuse it with their code`, async () => {
      for (const [fields, code] of rows) {
        for (const field of fields.split(' ')) {
          const own = code?.endsWith('_') === true ? code + snake(field) : code;
          await expect(method, path, withNull(rest, field), own);
        }
      }
    });
  }

  it('that are missing or empty have a code', async () => {
    for (const row of MISSING) await expect(...row);
  });
});

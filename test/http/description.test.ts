/**
 * The published description against the server: valid requests are accepted, and responses match
 * it.
 */
import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';
import { type JsonSchema, Sampler } from '../support/schema-sample.ts';

const SEED = Number(process.env['GANNET_SEED'] ?? Date.now() % 2 ** 31);
const REQUESTS_OF_ROUTE = 12;

interface Parameter {
  name: string;
  in: 'path' | 'query';
  required: boolean;
  schema?: JsonSchema;
  content?: Record<string, { schema: JsonSchema }>;
}

interface Operation {
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: object }> }>;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: object;
}

/**
 * Routes that call other servers, never end, speak another protocol, or would end what the others
 * need.
 */
const LEFT_OUT = [
  ...[
    '/logs/stream',
    '/tasks/stream',
    '/batches/stream',
    '/mcp',
    '/export',
    '/network',
    '/network/rebalance',
  ],
  ...['/chats/{workspace}/chat/completions', '/experimental-features', '/snapshots', '/dumps'],
];

/** Refusals by a validator: rules that the schema cannot express are reported with other texts. */
const BY_VALIDATION =
  /^(?:Invalid value|Invalid value type|Unknown (?:field|value|parameter)|Missing (?:field|parameter))\b/;

/** Rules that JSON Schema cannot express; `docs/internals/testing.md` names the kinds. */
const BEYOND_SCHEMA = [
  // Rules about several fields, or about the time.
  /must not be greater than `twoTypos`/,
  /`[\d-]+` is not in the future/,
  /the url of a remote cannot be null/,
  // Allowed in the body or in the query string.
  /^Missing field `function`/,
  // Texts with a grammar.
  /^Invalid value at `\.target`/,
  // What an index has: an index with the name of a sample may exist.
  /the index `[\w-]+` has no embedder/,
  // Arrays of empty arrays.
  /an empty filter would select every document/,
];

/**
 * Null in these is a fault with a code, as recorded from other servers of this API: their defaults
 * are not null, or they are inside a list of a setting.
 */
const NULL_REFUSED = new RegExp(
  [
    '(?:offset|limit|cropLength|cropMarker|highlightP(?:re|ost)Tag|matchingStrategy|retrieveVectors)$',
    '(?:showMatchesPosition|showRankingScore|showRankingScoreDetails)$',
    '(?:search|similar) \\.showPerformanceDetails$',
    '(?:search|facet-search|passages) (?:.*\\.)?hybrid\\.semanticRatio$',
    'federation\\.facetsByIndex$',
    'federationOptions\\.weight$',
    '\\.rename$',
    'edit \\.function$',
    'POST /keys \\.uid$',
    'webhooks/\\{uuid\\} \\.url$',
    '\\[\\]\\.features(?:\\..*)?$',
  ].join('|'),
);

/** Optional members whose type does not include null. */
function collectNullless(schema: JsonSchema, location: string, found: Set<string>): void {
  const { properties = {}, required = [], items, additionalProperties, oneOf = [] } = schema;
  for (const [name, member] of Object.entries(properties)) {
    const types = [member.type ?? []].flat();
    const isOptional = !required.includes(name) && member.not === undefined;
    if (isOptional && types.length > 0 && !types.includes('null')) found.add(`${location}.${name}`);
    collectNullless(member, `${location}.${name}`, found);
  }
  if (items !== undefined) collectNullless(items, `${location}[]`, found);
  if (typeof additionalProperties === 'object') {
    collectNullless(additionalProperties, `${location}.*`, found);
  }
  for (const option of oneOf) collectNullless(option, location, found);
}

describe('The description of the interface', function () {
  this.timeout(300_000);
  let server: BuiltServer;
  let description: Description;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const validators = new Map<object, ValidateFunction>();
  const seen = new Set<string>();

  before(async () => {
    console.log(`      seed ${SEED}`);
    server = await startBuiltServer(['--analytics-retention-days', '1']);
    description = (await server.call('GET', '/openapi.json')).json as Description;
    const { json: features } = await server.call('GET', '/experimental-features');
    const on = Object.fromEntries(Object.keys(features as object).map((name) => [name, true]));
    await server.call('PATCH', '/experimental-features', { body: on });
    await server.call('PATCH', '/indexes/movies/settings', {
      body: { filterableAttributes: ['*'], sortableAttributes: ['size'] },
    });
    const documents = [1, 2, 3].map((id) => ({ id, size: id, word: 'two words' }));
    await server.finish('POST', '/indexes/movies/documents', { body: documents });
  });

  after(() => server?.close());

  async function ask(
    method: string,
    target: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<{ status: number; type: string; text: string }> {
    const response = await fetch(server.url + target, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    return { status: response.status, type: response.headers.get('content-type') ?? '', text };
  }

  /** The operation must document the response. */
  function check(
    operation: Operation,
    what: string,
    { status, type, text }: { status: number; type: string; text: string },
  ): void {
    const described = operation.responses[status];
    assert.ok(described !== undefined, `${what}: status ${status} is not described: ${text}`);
    seen.add(String(status));
    const content =
      described.$ref === undefined
        ? described.content
        : { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
    if (content === undefined) return;
    const expected = Object.keys(content).find((one) => type.startsWith(one));
    assert.ok(expected !== undefined, `${what}: ${type} is not described`);
    if (expected !== 'application/json') return;
    const { schema } = content[expected]!;
    let validate = validators.get(described);
    if (validate === undefined) {
      validate = ajv.compile({ ...schema, components: description.components });
      validators.set(described, validate);
    }
    assert.ok(validate(JSON.parse(text)), `${what}: ${ajv.errorsText(validate.errors)}: ${text}`);
  }

  function* operations(all = false): Generator<[string, string, Operation]> {
    for (const [path, methods] of Object.entries(description.paths)) {
      if (!all && LEFT_OUT.includes(path)) continue;
      for (const [method, operation] of Object.entries(methods)) {
        yield [method.toUpperCase(), path, operation];
      }
    }
  }

  function targetOf(path: string, { parameters }: Operation, sampler: Sampler): string {
    const inPath = parameters.filter((one) => one.in === 'path');
    const filled = inPath.reduce(
      (text, { name, schema }) =>
        text.replace(`{${name}}`, encodeURIComponent(String(sampler.value(schema!)))),
      path,
    );
    const query = new URLSearchParams();
    for (const { name, required, schema, content, in: location } of parameters) {
      if (location !== 'query' || (!required && sampler.chance(0.7))) continue;
      const json = content?.['application/json'];
      const value = sampler.value(json?.schema ?? schema!);
      query.set(name, json === undefined ? String(value) : JSON.stringify(value));
    }
    return query.size === 0 ? filled : `${filled}?${query.toString()}`;
  }

  it('is such that requests that satisfy it are not refused by validation, and responses match it', async () => {
    const sampler = new Sampler(mulberry(SEED));
    const authorization = `Bearer ${server.masterKey}`;
    for (const [method, path, operation] of operations()) {
      for (let n = 0; n < REQUESTS_OF_ROUTE; n++) {
        const target = targetOf(path, operation, sampler);
        const content = operation.requestBody?.content['application/json'];
        const body =
          content === undefined ? undefined : JSON.stringify(sampler.value(content.schema));
        const what = `${method} ${target} ${body ?? ''}`;
        const received = await ask(
          method,
          target,
          { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
          body,
        );
        check(operation, what, received);
        if (received.status !== 400) continue;
        const { message } = JSON.parse(received.text) as { message: string };
        const isExplained = BEYOND_SCHEMA.some((reason) => reason.test(message));
        assert.ok(isExplained || !BY_VALIDATION.test(message), `${what}: ${message}`);
      }
    }
  });

  it('has defaults that satisfy their schemas', () => {
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      if (Object.hasOwn(value, 'type') && Object.hasOwn(value, 'default')) {
        const { default: given, ...schema } = value as { default: unknown };
        assert.ok(ajv.validate(schema, given), `${JSON.stringify(value)}: ${ajv.errorsText()}`);
      }
      Object.values(value).forEach(visit);
    };
    visit(description.paths);
  });

  it('describes responses to requests that ask for everything', async () => {
    const headers = {
      ...{ authorization: `Bearer ${server.masterKey}`, 'content-type': 'application/json' },
      'meili-include-metadata': 'true',
    };
    const full = async (method: string, path: string, body?: object): Promise<any> => {
      const template = path
        .replace(/\?.*/, '')
        .replace(/^\/indexes\/[\w-]+/, '/indexes/{index_uid}')
        .replace(/documents\/\d+/, 'documents/{document_id}')
        .replace(/dynamic-search-rules\/.+/, 'dynamic-search-rules/{uid}')
        .replace(/^\/chats\/\w+/, '/chats/{workspace}');
      const operation = description.paths[template]![method.toLowerCase()]!;
      const received = await ask(method, path, headers, body && JSON.stringify(body));
      assert.ok(received.status < 300, `${method} ${path}: ${received.text}`);
      check(operation, `${method} ${path}`, received);
      return JSON.parse(received.text);
    };
    const done = async (method: string, path: string, body?: object): Promise<void> => {
      await server.ended((await full(method, path, body)).taskUid as number);
    };
    await done('PATCH', '/indexes/full/settings', {
      filterableAttributes: ['id', 'size', 'kind', '_geo'],
      sortableAttributes: ['size', '_geo'],
      embedders: {
        e: { source: 'userProvided', dimensions: 2, distribution: { mean: 1, sigma: 1 } },
      },
      chat: { searchParameters: { hybrid: { embedder: 'e', semanticRatio: 1 } } },
      localizedAttributes: [{ attributePatterns: ['kind'], locales: ['eng'] }],
      synonyms: { a: ['b'] },
    });
    await done('POST', '/indexes/full/documents?customMetadata=x', [
      { id: 1, size: 1, kind: 'word', _geo: { lat: 1, lng: 2 }, _vectors: { e: [1, 0] } },
      { id: 2, size: 2.5, kind: 'word', _geo: { lat: 1, lng: 3 }, _vectors: { e: [0, 1] } },
    ]);
    await full('GET', '/indexes/full/settings');
    await full('GET', '/indexes/full/stats?showInternalDatabaseSizes=true');
    await full('GET', '/stats?sizeFormat=human&showInternalDatabaseSizes=true');
    const search = {
      ...{ q: 'word', hybrid: { embedder: 'e', semanticRatio: 0.5 }, vector: [1, 0] },
      ...{ retrieveVectors: true, showMatchesPosition: true, showRankingScore: true },
      ...{ showRankingScoreDetails: true, attributesToHighlight: ['*'] },
    };
    const shown = { showPerformanceDetails: true, facets: ['*'] };
    for (const window of [{ limit: 1 }, { page: 1 }]) {
      await full('POST', '/indexes/full/search', { ...search, ...shown, ...window });
      await full('POST', '/indexes/full/search', { sort: ['_geoPoint(1, 2):asc'], ...window });
      for (const merging of [{}, { mergeFacets: {} }]) {
        await full('POST', '/multi-search', {
          federation: {
            facetsByIndex: { full: ['*'] },
            showPerformanceDetails: true,
            ...window,
            ...merging,
          },
          queries: [{ ...search, indexUid: 'full' }],
        });
      }
    }
    for (const values of [null, [['sword']]]) {
      await full('POST', '/multi-search', {
        federation: {
          networkGroups: { attribute: 'kind', values },
          facetsByIndex: { full: ['*'] },
        },
        queries: [{ ...search, indexUid: 'full' }],
      });
    }
    await full('POST', '/multi-search', { queries: [{ ...search, ...shown, indexUid: 'full' }] });
    const interleave = { with: 'full', showIndex: true };
    await full('POST', '/indexes/full/search', { ...search, ...shown, interleave });
    await full('POST', '/indexes/full/similar', {
      ...{ id: 1, embedder: 'e', retrieveVectors: true, showRankingScore: true },
      ...{ showRankingScoreDetails: true, showPerformanceDetails: true },
    });
    await full('POST', '/indexes/full/facet-search', { facetName: 'kind', facetQuery: 'w' });
    await full('POST', '/indexes/full/documents/fetch', { retrieveVectors: true });
    await full('GET', '/indexes/full/documents/1?retrieveVectors=true');
    await full('POST', '/indexes/full/fields', {});
    await done('PATCH', '/dynamic-search-rules/rule', {
      ...{ description: 'd', precedence: 1, active: true },
      conditions: { time: { start: '2024-01-01T00:00:00Z' }, query: { words: 'a' } },
      actions: [{ selector: { indexUid: 'full', id: '1' }, action: { type: 'pin', position: 0 } }],
    });
    await full('POST', '/dynamic-search-rules', {});
    await full('GET', '/dynamic-search-rules/rule');
    await full('PATCH', '/chats/w/settings', { apiKey: 'secret', prompts: { system: 's' } });
    await full('GET', '/chats');
    await full('GET', '/chats/w/settings');
    await full('POST', '/webhooks', { url: 'http://127.0.0.1:9/', headers: { a: 'b' } });
    await full('GET', '/webhooks');
    await full('PATCH', '/network', {
      self: 'me',
      remotes: { me: { url: 'http://127.0.0.1:9/', searchApiKey: 'k' } },
    });
    await full('GET', '/network');
    await full('PATCH', '/network', { self: null, remotes: null });
    await full('POST', '/render-template', {
      template: { kind: 'inlineDocumentTemplate', inline: '{{ doc.id }}' },
      input: { kind: 'indexDocument', indexUid: 'full', id: '1' },
    });
    await done('POST', '/swap-indexes', [{ indexes: ['full', 'movies'] }]);
    await done('POST', '/indexes/movies/documents/edit', { function: 'doc.size = 2', context: {} });
    await full('GET', '/tasks?limit=100');
    await full('GET', '/batches?limit=100');
    await full('GET', '/keys');
    await full('GET', '/version');
    await full('GET', '/analytics/top-searches');
    await full('GET', '/analytics/top-filters');
    await full('GET', '/analytics/clicked-documents');
    await full('GET', '/analytics/interleaving');
    await full('GET', '/analytics/summary?groupBy=day,index');
  });

  it('describes the errors that do not follow from the form of a request', async () => {
    const headers = {
      ...{ authorization: `Bearer ${server.masterKey}`, 'content-type': 'application/json' },
    };
    const uid = crypto.randomUUID();
    const key = { uid, actions: ['search'], indexes: ['*'], expiresAt: null };
    assert.equal((await server.call('POST', '/keys', { body: key })).status, 201);
    await server.finish('POST', '/indexes/cited/documents', { body: [{ id: 1, other: 2 }] });
    await server.finish('PATCH', '/indexes/cited/settings', {
      body: {
        filterableAttributes: ['other'],
        foreignKeys: [{ fieldName: 'other', foreignIndexUid: 'nowhere' }],
      },
    });
    await server.call('PATCH', '/chats/errors/settings', { body: {} });
    const inline = { kind: 'inlineDocumentTemplate', inline: 'a' };
    const document = { kind: 'indexDocument', indexUid: 'cited', id: 'none' };
    const elsewhere = { ...document, indexUid: 'nowhere' };
    const question = { model: 'm', messages: [{ role: 'user', content: 'a' }] };
    const click = { eventType: 'click', eventName: 'e', userId: 'u', objectId: '1', position: 1 };
    const tools = [{ type: 'function', function: { name: 'unknown' } }];
    const foreign = { indexUid: 'cited', q: '', filter: '_foreign(other, id = 1)' };
    const cases: [string, object, string][] = [
      ['/keys', key, 'api_key_already_exists'],
      ['/render-template', { template: inline, input: document }, 'render_document_not_found'],
      ['/render-template', { template: inline, input: elsewhere }, 'index_not_found'],
      [
        '/render-template',
        { template: { kind: 'chatDocumentTemplate', indexUid: 'nowhere' } },
        'index_not_found',
      ],
      ['/events', { ...click, indexUid: 'nowhere' }, 'index_not_found'],
      ['/multi-search', { queries: [foreign] }, 'index_not_found'],
      ['/multi-search', { federation: {}, queries: [foreign] }, 'index_not_found'],
      [
        '/chats/errors/chat/completions',
        { ...question, n: 2 },
        'unimplemented_multi_choice_chat_completions',
      ],
      [
        '/chats/errors/chat/completions',
        { ...question, stream: false },
        'unimplemented_non_streaming_chat_completions',
      ],
      [
        '/chats/errors/chat/completions',
        { ...question, stream: true, tools },
        'unimplemented_external_function_calling',
      ],
    ];
    for (const [path, body, code] of cases) {
      const operation = description.paths[path.replace('/errors/', '/{workspace}/')]!.post!;
      const received = await ask('POST', path, headers, JSON.stringify(body));
      const what = `POST ${path} ${JSON.stringify(body)}`;
      assert.equal((JSON.parse(received.text) as { code: string }).code, code, what);
      check(operation, what, received);
    }
  });

  it('takes null in every optional field but those whose null has a code of its own', () => {
    const found = new Set<string>();
    for (const [method, path, { requestBody }] of operations(true)) {
      const schema = requestBody?.content['application/json']?.schema;
      if (schema !== undefined) collectNullless(schema, `${method} ${path} `, found);
    }
    assert.deepEqual([...found].filter((field) => !NULL_REFUSED.test(field)).sort(), []);
  });

  it('is such that every status that it names appears', async () => {
    const authorization = `Bearer ${server.masterKey}`;
    const json = { 'content-type': 'application/json' };
    for (const [method, path, operation] of operations()) {
      const target = path.replace(/\{\w+\}/g, 'none');
      const isOpen = operation.responses['401'] === undefined;
      const asked = async (headers: Record<string, string>, body?: string): Promise<number> => {
        const received = await ask(method, target, headers, body);
        check(operation, `${method} ${target}`, received);
        return received.status;
      };
      if (!isOpen) {
        assert.equal(await asked({}), 401);
        assert.equal(await asked({ authorization: 'Bearer wrong' }), 403);
      }
      if (operation.requestBody?.required === true) {
        assert.equal(await asked({ authorization, 'content-type': 'text/x' }, '{}'), 415, target);
        const isUpload = operation.requestBody.content['text/csv'] !== undefined;
        const nothing = await asked({ authorization, ...json }, isUpload ? '' : '{');
        assert.ok([400, 404].includes(nothing), `${target} ${nothing}`);
      }
      if (path === '/indexes/{index_uid}/search' && method === 'POST') {
        const long = `{"q":"${'x'.repeat(11_000_000)}"}`;
        assert.equal(await asked({ authorization, ...json }, long), 413);
      }
      assert.equal(await asked({ authorization, 'x-long': 'x'.repeat(66_000) }), 431);
    }
    const keyed = { authorization, ...json };
    const limit = { requestsPerSecond: 1 };
    const wanted = { actions: ['*'], indexes: ['*'], expiresAt: null, rateLimit: limit };
    const created = await ask('POST', '/keys', keyed, JSON.stringify(wanted));
    check(description.paths['/keys']!.post!, 'POST /keys', created);
    const { key, uid } = JSON.parse(created.text) as { key: string; uid: string };
    const stats = description.paths['/stats']!.get!;
    const limited = { authorization: `Bearer ${key}` };
    const received = await Promise.all([1, 2, 3].map(() => ask('GET', '/stats', limited)));
    for (const one of received) check(stats, 'GET /stats', one);
    const deleted = await ask('DELETE', `/keys/${uid}`, { authorization });
    check(description.paths['/keys/{key_or_uid}']!.delete!, 'DELETE /keys', deleted);
    await meetFullQueue();
    const named = new Set(
      [...operations()].flatMap(([, , { responses }]) => Object.keys(responses)),
    );
    named.delete('default');
    assert.deepEqual([...named].filter((status) => !seen.has(status)).sort(), []);
  });

  /** Searches beyond the queue of a server that accepts few. */
  async function meetFullQueue(): Promise<void> {
    const options = [
      '--experimental-search-queue-size',
      '1',
      '--experimental-nb-searches-per-core',
      '1',
    ];
    const narrow = await startBuiltServer(options);
    try {
      await narrow.finish('POST', '/indexes', { body: { uid: 'i' } });
      const search = description.paths['/indexes/{index_uid}/search']!.post!;
      for (let round = 0; !seen.has('503') && round < 100; round++) {
        const asked = Array.from({ length: 50 }, async () => {
          const response = await fetch(`${narrow.url}/indexes/i/search`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${narrow.masterKey}`,
              'content-type': 'application/json',
            },
            body: '{}',
          });
          const type = response.headers.get('content-type') ?? '';
          return { status: response.status, type, text: await response.text() };
        });
        for (const received of await Promise.all(asked)) check(search, 'POST search', received);
      }
    } finally {
      await narrow.close();
    }
  }
});

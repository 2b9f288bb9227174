/** `gannet migrate` from Typesense and Algolia, which small servers imitate. */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import {
  type AlgoliaIndex,
  algoliaServer,
  type Collection,
  type ForeignServer,
  typesenseServer,
} from '../support/foreign-servers.ts';
import { type Ended, runProgram } from '../support/run-program.ts';

const KEY = 'the key of the source';
const APP = 'APP123';

describe('gannet migrate from another program', function () {
  this.timeout(120_000);

  let target: BuiltServer;
  let source: ForeignServer;

  before(async () => {
    target = await startBuiltServer();
  });
  after(async () => {
    await target?.close();
  });
  afterEach(async () => {
    await source?.close();
    for (const { uid } of (await target.call('GET', '/indexes')).json.results) {
      await target.finish('DELETE', `/indexes/${uid}`);
    }
  });

  function migrate(kind: string, ...argv: string[]): Promise<Ended> {
    const from = ['--from-kind', kind, '--from', source.url, '--url', target.url];
    return runProgram(['migrate', ...from, '--from-key', KEY, '--quiet', ...argv], {
      env: { GANNET_KEY: target.masterKey },
    });
  }

  /** All documents of an index, as text: numbers are compared as written. */
  async function documentsOf(uid: string): Promise<string> {
    const response = await fetch(`${target.url}/indexes/${uid}/documents?retrieveVectors=true`, {
      headers: { authorization: `Bearer ${target.masterKey}` },
    });
    return await response.text();
  }

  async function settingsOf(uid: string): Promise<any> {
    return (await target.call('GET', `/indexes/${uid}/settings`)).json;
  }

  describe('Typesense', () => {
    const books: Collection = {
      schema: {
        name: 'books.v1',
        num_documents: 2,
        default_sorting_field: 'rank',
        token_separators: ['-'],
        symbols_to_index: ['+'],
        fields: [
          { name: 'title', type: 'string', facet: false, index: true, sort: true },
          { name: 'tags', type: 'string[]', facet: true, index: true },
          { name: 'rank', type: 'int64', index: true },
          { name: 'note', type: 'string', index: false, optional: true },
          { name: 'at', type: 'geopoint', index: true },
          { name: 'v', type: 'float[]', num_dim: 2, index: true },
        ],
      },
      lines:
        '{"id":"1","title":"C++ \\"now\\"","tags":["a"],"rank":12345678901234567890,"at":[48.5,2.25],"v":[0.5,1.0]}\n' +
        '{"id":"2","title":"Rust","tags":[],"rank":1.0,"note":"x","at":[1,2],"v":[1,0]}',
      synonyms: [
        { id: 's', synonyms: ['car', 'auto', 'wagon'] },
        { id: 't', root: 'phone', synonyms: ['mobile'] },
      ],
      overrides: [],
    };
    const start = async (
      collections: readonly Collection[],
      aliases: unknown[] = [],
    ): Promise<void> => {
      const named = collections.map((one) => [String(one.schema.name), one] as const);
      source = await typesenseServer(KEY, new Map(named), aliases);
    };

    it('copies documents, settings, synonyms, embeddings and aliases', async () => {
      await start([books], [{ name: 'books', collection_name: 'books.v1' }]);
      const { status, output, complaints } = await migrate('typesense');
      assert.equal(status, 0, complaints + output);
      assert.match(output, /`books\.v1` becomes `books_v1`/);
      const documents = await documentsOf('books_v1');
      assert.match(documents, /"rank":12345678901234567890[,}]/);
      assert.match(documents, /"_geo":\{"lat":48\.5,"lng":2\.25\}/);
      const settings = await settingsOf('books_v1');
      assert.deepEqual(settings.searchableAttributes, ['title', 'tags']);
      assert.deepEqual(settings.filterableAttributes, ['title', 'tags', 'rank', '_geo']);
      assert.deepEqual(settings.sortableAttributes, ['_geo', 'rank', 'title']);
      assert.equal(settings.rankingRules.at(-1), 'rank:desc');
      assert.deepEqual(settings.separatorTokens, ['-']);
      assert.deepEqual(settings.nonSeparatorTokens, ['+']);
      assert.deepEqual(settings.synonyms, {
        car: ['auto', 'wagon'],
        auto: ['car', 'wagon'],
        wagon: ['car', 'auto'],
        phone: ['mobile'],
      });
      assert.equal(settings.embedders.v.source, 'userProvided');
      assert.equal(settings.embedders.v.dimensions, 2);
      const { json } = await target.call('POST', '/indexes/books/search', { body: { q: 'auto' } });
      assert.equal(json.hits.length, 0);
      const near = await target.call('POST', '/indexes/books/search', {
        body: { vector: [0.5, 1], hybrid: { embedder: 'v' }, limit: 1 },
      });
      assert.equal(near.json.hits[0].id, '1');
    });

    it('reports what it cannot copy', async () => {
      await start([
        { ...books, overrides: [{ id: 'o' }] },
        { ...books, schema: { ...books.schema, name: 'newer' }, synonyms: undefined! },
      ]);
      const { status, complaints } = await migrate('typesense');
      assert.equal(status, 1);
      assert.match(complaints, /`books_v1`: 1 of its curations: write them as search rules/);
      assert.match(complaints, /`newer`: its synonyms are in a form that is not copied/);
    });

    it('takes documents without an optional vector', async () => {
      const lines = [
        '{"id":"1","v":[1,0]}',
        '{"id":"2"}',
        '{"id":"3","v":null}',
        '{"id":"4","v":[]}',
      ];
      const fields = [{ name: 'v', type: 'float[]', num_dim: 2, optional: true }];
      await start([
        {
          schema: { name: 'o', num_documents: 4, fields },
          lines: lines.join('\n'),
          synonyms: [],
          overrides: [],
        },
      ]);
      const { status, output, complaints } = await migrate('typesense');
      assert.equal(status, 0, complaints + output);
      const { numberOfDocuments, numberOfEmbeddings } = (
        await target.call('GET', '/indexes/o/stats')
      ).json;
      assert.deepEqual([numberOfDocuments, numberOfEmbeddings], [4, 1]);
    });

    it('skips and names the documents that the target refuses', async () => {
      const lines = Array.from({ length: 500 }, (_, n) => {
        if (n === 7) return '{"id":"a b","v":[1,0]}';
        if (n === 8) return '{"v":[1,0]}';
        if (n === 400) return '{"id":"x400","v":[1,0,0]}';
        return `{"id":"x${n}","v":[1,${n}]}`;
      });
      const fields = [{ name: 'v', type: 'float[]', num_dim: 2 }];
      await start([
        {
          schema: { name: 's', num_documents: 500, fields },
          lines: lines.join('\n'),
          synonyms: [],
          overrides: [],
        },
      ]);
      const { status, output, complaints } = await migrate('typesense');
      assert.equal(status, 4, complaints + output);
      assert.match(complaints, /^`s`: document "a b": .*\(invalid_document_id\)$/m);
      assert.match(complaints, /^`s`: document 9 of the source: .*\(missing_document_id\)$/m);
      assert.match(complaints, /^`s`: document "x400": .*\(invalid_vector_dimensions\)$/m);
      assert.equal(complaints.trim().split('\n').length, 3);
      assert.match(output, /3 refused documents skipped/);
      assert.equal((await target.call('GET', '/indexes/s/stats')).json.numberOfDocuments, 497);
    });

    it('refuses two collections of which the uids would be the same', async () => {
      await start([books, { ...books, schema: { ...books.schema, name: 'books v1' } }]);
      const { status, complaints } = await migrate('typesense');
      assert.equal(status, 1);
      assert.match(complaints, /would both become `books_v1`: copy them one by one with --indexes/);
      assert.equal((await migrate('typesense', '--indexes', 'books v1')).status, 0);
    });

    it('names a wrong key, and repeats what fails for the moment', async () => {
      await start([books]);
      const wrong = await migrate('typesense', '--from-key', 'wrong');
      assert.equal(wrong.status, 1);
      assert.match(wrong.complaints, /status 401: Forbidden/);
      let busy = 2;
      source.substitute = ({ path }) =>
        path === '/collections' && busy-- > 0
          ? {
              status: 503,
              headers: { 'retry-after': '0' },
              body: { message: 'Not Ready or Lagging' },
            }
          : null;
      assert.equal((await migrate('typesense')).status, 0);
    });

    for (const [what, body, message] of [
      ['no list', { message: 'hello' }, /the collections is not a list/],
      ['no JSON', '<html>', /not a JSON object/],
      ['a collection without fields', [{ name: 'x', num_documents: 1 }], /fields is not a list/],
    ] as const) {
      it(`refuses a response that is ${what}, and changes nothing`, async () => {
        await start([books]);
        source.substitute = ({ path }) => (path === '/collections' ? { body } : null);
        const { status, complaints } = await migrate('typesense');
        assert.equal(status, 1, complaints);
        assert.match(complaints, message);
        assert.equal((await target.call('GET', '/indexes')).json.total, 0);
      });
    }

    it('notices an export that breaks off, that is cut short, and that is not JSON', async () => {
      await start([books]);
      const part = books.lines.slice(0, books.lines.indexOf('\n') + 1);
      const exported = async (response: { body: string; breaksOff?: boolean }): Promise<Ended> => {
        source.substitute = ({ path }) => (path.endsWith('/export') ? response : null);
        return migrate('typesense', '--overwrite', '--yes', '--retry-seconds', '0');
      };
      assert.equal((await exported({ body: part, breaksOff: true })).status, 3);
      const short = await exported({ body: part });
      assert.equal(short.status, 1);
      assert.match(short.complaints, /1 document, but the source has 2/);
      const other = await exported({ body: `${part}nonsense\n` });
      assert.equal(other.status, 1);
      assert.match(other.complaints, /a document is not JSON/);
    });
  });

  describe('Algolia', () => {
    const shop: AlgoliaIndex = {
      settings: {
        searchableAttributes: ['unordered(name)', 'brand, maker'],
        attributesForFaceting: ['searchable(brand)', 'filterOnly(price)'],
        customRanking: ['desc(sold)', 'asc(price)'],
        minWordSizefor1Typo: 4,
        minWordSizefor2Typos: 8,
        disableTypoToleranceOnAttributes: ['brand'],
        attributeForDistinct: 'name',
        paginationLimitedTo: 500,
        maxValuesPerFacet: 50,
        separatorsToIndex: '+#',
        unretrievableAttributes: null,
        removeStopWords: false,
      },
      records: Array.from(
        { length: 5 },
        (_, n) =>
          `{"objectID": "p${n}", "name": "lamp ${n}", "price": ${n}.50, "_geoloc": [{"lat": ${n}, "lng": 2}, {"lat": 9, "lng": 9}]}`,
      ),
      synonyms: [
        { objectID: 'a', type: 'synonym', synonyms: ['tv', 'television'] },
        { objectID: 'b', type: 'oneWaySynonym', input: 'light', synonyms: ['lamp'] },
        { objectID: 'c', type: 'altCorrection1', word: 'lmp', corrections: ['lamp'] },
      ],
    };
    const cheapest: AlgoliaIndex = {
      primary: 'shop',
      settings: { ranking: ['asc(price)', 'typo', 'custom'] },
      records: [],
    };
    const start = async (indexes: Record<string, AlgoliaIndex>): Promise<void> => {
      source = await algoliaServer(APP, KEY, new Map(Object.entries(indexes)), 2);
    };
    const copy = (...argv: string[]): Promise<Ended> =>
      migrate('algolia', '--from-app', APP, ...argv);

    it('copies records, settings and synonyms, and makes a sort of a replica', async () => {
      await start({ shop, shop_by_price: cheapest });
      const { status, output, complaints } = await copy();
      assert.equal(status, 0, complaints + output);
      assert.deepEqual(
        (await target.call('GET', '/indexes')).json.results.map(({ uid }: { uid: string }) => uid),
        ['shop'],
      );
      const documents = await documentsOf('shop');
      assert.match(documents, /"price":3\.50,/);
      assert.match(documents, /"_geo":\{"lat":3,"lng":2\}/);
      const settings = await settingsOf('shop');
      assert.deepEqual(settings.searchableAttributes, ['name', 'brand', 'maker']);
      assert.deepEqual(settings.filterableAttributes, ['brand', 'price', '_geo']);
      assert.deepEqual(settings.sortableAttributes, ['_geo', 'price']);
      assert.deepEqual(settings.rankingRules.slice(-2), ['sold:desc', 'price:asc']);
      assert.deepEqual(settings.typoTolerance.minWordSizeForTypos, { oneTypo: 4, twoTypos: 8 });
      assert.deepEqual(settings.typoTolerance.disableOnAttributes, ['brand']);
      assert.equal(settings.distinctAttribute, 'name');
      assert.equal(settings.pagination.maxTotalHits, 500);
      assert.equal(settings.faceting.maxValuesPerFacet, 50);
      assert.deepEqual(settings.nonSeparatorTokens, ['#', '+']);
      assert.deepEqual(settings.synonyms, {
        tv: ['television'],
        television: ['tv'],
        light: ['lamp'],
        lmp: ['lamp'],
      });
      const { json } = await target.call('POST', '/indexes/shop/search', {
        body: { q: 'light', sort: ['price:desc'], limit: 1 },
      });
      assert.equal(json.hits[0].objectID, 'p4');
    });

    it('reports attributes that become visible, rules, and settings without a counterpart', async () => {
      const settings = { unretrievableAttributes: ['cost'], removeStopWords: ['en'] };
      await start({ shop: { ...shop, settings, rules: 2 } });
      const { status, complaints } = await copy();
      assert.equal(status, 1);
      assert.match(complaints, /unretrievableAttributes \(cost\): searches show them until/);
      assert.match(complaints, /settings without a counterpart: removeStopWords/);
      assert.match(complaints, /2 of its rules: write them as search rules/);
      assert.deepEqual((await settingsOf('shop')).searchableAttributes, ['*']);
    });

    it('reports records with ids that no document may have', async () => {
      await start({
        shop: { settings: {}, records: ['{"objectID": "a/b"}', '{"objectID": "c"}'] },
      });
      const { status, output, complaints } = await copy();
      assert.equal(status, 4);
      assert.match(complaints, /^`shop`: document "a\/b": .*\(invalid_document_id\)\n$/);
      assert.match(output, /`shop`: 1 document\n/);
    });

    it('names a wrong key and a missing application', async () => {
      await start({ shop });
      const wrong = await copy('--from-key', 'wrong');
      assert.equal(wrong.status, 1);
      assert.match(wrong.complaints, /Invalid Application-ID or API key/);
      const missing = await migrate('algolia');
      assert.equal(missing.status, 2);
      assert.match(missing.complaints, /--from-app is required/);
    });

    it('ends when the same page comes again', async () => {
      await start({ shop });
      source.substitute = ({ path }) =>
        path.endsWith('/browse') ? { body: { hits: [{ objectID: 'p1' }], cursor: 'again' } } : null;
      const { status, complaints } = await copy();
      assert.equal(status, 1);
      assert.match(complaints, /the same page comes again/);
    });
  });

  it('names the kinds when another one is given', async () => {
    const { status, complaints } = await runProgram([
      ...['migrate', '--from-kind', 'solr', '--from', 'http://127.0.0.1:1', '--url', target.url],
    ]);
    assert.equal(status, 2);
    assert.match(complaints, /meilisearch, typesense, algolia/);
  });
});

import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

const TITLES = [
  'love ❤️ letters',
  '✈️',
  'press 1️⃣ now',
  'Ⅻ',
  'Louis Ⅻ',
  '𝔐athematical 𝔏etters',
  'Ⓐ anarchy',
  'ᏣᎳᎩ',
  'the ᏣᎳᎩ nation',
  '辻󠄀さん',
  '進撃の巨人',
  'Malmö',
  'ラーメン',
];

describe('a document is found by its own text', function () {
  this.timeout(120_000);

  let server: BuiltServer;

  before(async () => {
    server = await startBuiltServer();
    const documents = TITLES.map((title, id) => ({ id, title }));
    await server.finish('PATCH', '/indexes/a/settings', {
      body: { filterableAttributes: ['title'] },
    });
    await server.finish('POST', '/indexes/a/documents', { body: documents });
  });
  after(() => server?.close());

  async function found(q: string, more: object = {}): Promise<number[]> {
    const body = { q, matchingStrategy: 'all', ...more };
    const { json } = await server.call('POST', '/indexes/a/search', { body });
    return json.hits.map(({ id }: { id: number }) => id);
  }

  for (const [id, title] of TITLES.entries()) {
    it(title, async () => {
      for (const part of title.split(' ')) assert.ok((await found(part)).includes(id), part);
      for (const locale of ['jpn', 'cmn', 'swe', 'eng', 'ara']) {
        assert.ok((await found(title, { locales: [locale] })).includes(id), locale);
      }
    });
  }

  it('without its variation selectors, in another letter case, in another form of an ideograph', async () => {
    assert.ok((await found('辻さん')).includes(9));
    assert.ok((await found('ꮳꮃꭹ')).includes(7));
    for (const q of ['進撃', '进击']) {
      assert.ok((await found(q, { locales: ['jpn'] })).includes(10), q);
    }
  });

  it('by a part that begins with the mark of a long vowel', async () => {
    for (const q of ['ーメン', 'ーメ', '-ーメン ラーメン']) {
      assert.equal((await found(q)).includes(12), !q.startsWith('-'), q);
    }
    for (const q of ['ーせん', 'ー', 'ーー']) assert.deepEqual(await found(q), [], q);
  });

  it('in a facet search, whatever the locale', async () => {
    for (const locales of [['jpn'], ['cmn'], undefined]) {
      const body = { facetName: 'title', facetQuery: '进击', ...(locales && { locales }) };
      const { json } = await server.call('POST', '/indexes/a/facet-search', { body });
      assert.deepEqual(
        json.facetHits.map(({ value }: { value: string }) => value),
        ['進撃の巨人'],
      );
    }
  });
});

describe('numbers that are floats', function () {
  this.timeout(120_000);

  it('are written with a fraction', async () => {
    const server = await startBuiltServer();
    try {
      await server.finish('PATCH', '/indexes/a/settings', {
        body: { filterableAttributes: ['p'] },
      });
      await server.finish('POST', '/indexes/a/documents', { body: [{ id: 1, p: 50, t: 'x' }] });
      const ask = async (path: string, body: object): Promise<string> =>
        (
          await fetch(`${server.url}${path}`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${server.masterKey}`,
              'content-type': 'application/json',
            },
            body: JSON.stringify(body),
          })
        ).text();
      const scores = { showRankingScore: true, showRankingScoreDetails: true };
      const one = await ask('/indexes/a/search', { q: 'x', facets: ['p'], ...scores });
      assert.match(one, /"min":50\.0,"max":50\.0/);
      assert.match(one, /"_rankingScore":1\.0[,}]/);
      assert.match(one, /"score":1\.0[,}]/);
      const queries = [{ indexUid: 'a', q: 'x' }];
      const federated = await ask('/multi-search', { federation: {}, queries });
      assert.match(federated, /"weightedRankingScore":1\.0[,}]/);
    } finally {
      await server.close();
    }
  });
});

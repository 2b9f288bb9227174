/** Which queries one federated list can hold, whatever is left of their text. */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

const REFUSED = 'invalid_multi_search_query_ranking_rules';

/** Texts without a term, each by what it consists of. */
const WITHOUT_TERMS = {
  separators: ['-', '"', '""', '...', '- -', '/', '。', '«»', '!?', '\u3000-'],
  'stop words': ['and', 'and und', 'und and ', 'の', 'のの'],
  'excluded words': ['-und', '-zug', '-"auf dem"', '-の', '-東京'],
  'stop words and excluded words': ['and -und', 'und -zug', 'and -"rot und"', 'の -東京'],
  phrases: ['"and"', '"and und" ', '" "', '-""', '"の"'],
};

describe('queries of one federated list', function () {
  this.timeout(120_000);

  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    const documents = [
      { id: 1, title: 'rot und blau', size: 3 },
      { id: 2, title: 'der rote zug', size: 1 },
      { id: 3, title: '東京の塔', size: 2 },
    ];
    const stopWords = ['and', 'und', 'の'];
    for (const [uid, more] of [
      ['sorted', { sortableAttributes: ['size'] }],
      [
        'custom',
        { rankingRules: ['words', 'typo', 'proximity', 'attribute', 'exactness', 'size:asc'] },
      ],
    ] as const) {
      await server.finish('PATCH', `/indexes/${uid}/settings`, { body: { stopWords, ...more } });
      await server.finish('POST', `/indexes/${uid}/documents`, { body: documents });
    }
  });
  after(() => server?.close());

  /** A query with words and the given one, in either order. */
  const ask = (uid: string, q: unknown, isFirst: boolean, strategy: string): Promise<any> => {
    const queries = ['rot', q].map((text) => ({
      ...{ indexUid: uid, q: text, matchingStrategy: strategy },
      ...(uid === 'sorted' ? { sort: ['size:asc'] } : {}),
    }));
    if (isFirst) queries.reverse();
    return server.call('POST', '/multi-search', { body: { federation: {}, queries } });
  };

  for (const [kind, texts] of Object.entries(WITHOUT_TERMS)) {
    it(`may consist of ${kind} only`, async () => {
      for (const q of texts)
        for (const uid of ['sorted', 'custom'])
          for (const isFirst of [true, false])
            for (const strategy of ['last', 'all', 'frequency']) {
              const { status, json } = await ask(uid, q, isFirst, strategy);
              assert.equal(status, 200, `${JSON.stringify(q)} in ${uid}: ${JSON.stringify(json)}`);
            }
    });
  }

  it('are not those without a text next to those with one', async () => {
    for (const q of ['', ' ', '\t\n', '\u3000', null, undefined])
      for (const isFirst of [true, false]) {
        const { status, json } = await ask('sorted', q, isFirst, 'last');
        assert.equal(status, 400, JSON.stringify(q));
        assert.equal(json.code, REFUSED);
      }
  });
});

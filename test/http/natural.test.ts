/** `matchingStrategy: "natural"`: where it is accepted, and what its results show. */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

const BOOKS = [
  { id: 1, title: 'The whale', text: 'a book about whales and the sea', _vectors: { e: null } },
  {
    id: 2,
    title: 'Sea birds',
    text: 'birds of the sea, and the hunters of the whale',
    _vectors: { e: null },
  },
  { id: 3, title: 'Gardens', text: 'how roses grow', _vectors: { e: null } },
];
const QUESTION = 'which book tells me about the white whale in the sea?';

describe('Questions', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    await server.finish('PATCH', '/indexes/books/settings', {
      body: { embedders: { e: { source: 'userProvided', dimensions: 2 } } },
    });
    await server.finish('POST', '/indexes/books/documents', { body: BOOKS });
  });
  after(() => server.close());

  const search = async (body: object, path = '/indexes/books/search'): Promise<any> => {
    const { status, json } = await server.call('POST', path, { body });
    assert.equal(status, 200, JSON.stringify(json));
    return json;
  };
  const ids = ({ hits }: any): number[] => hits.map(({ id }: any) => id);

  it('find documents that lack most of their words', async () => {
    assert.deepEqual(ids(await search({ q: QUESTION })), []);
    const response = await search({ q: QUESTION, matchingStrategy: 'natural' });
    assert.deepEqual(ids(response), [1, 2]);
    assert.equal(response.estimatedTotalHits, 2);
  });

  it('are read up to their 512th word, however long they are', async () => {
    const fillers = Array.from({ length: 511 }, (_, n) => `zz${n}q`).join(' ');
    const find = (q: string): Promise<any> => search({ q, matchingStrategy: 'natural' });
    assert.ok(ids(await find(`${fillers} whale`)).includes(1));
    assert.deepEqual(ids(await find(`${fillers} filler whale`)), []);
    assert.deepEqual(ids(await find(`${'zzq '.repeat(250_000)}whale`)), []);
  });

  it('have scores in (0, 1], which details add up to, and thresholds keep', async () => {
    const body = {
      q: QUESTION,
      matchingStrategy: 'natural',
      showRankingScore: true,
      showRankingScoreDetails: true,
    };
    const { hits } = await search(body);
    for (const { _rankingScore: score, _rankingScoreDetails: details } of hits) {
      assert.ok(score > 0 && score <= 1);
      const { words, proximity, wholeField, score: shown } = details.natural;
      const rest = proximity + wholeField;
      const sum = words.reduce((all: number, word: any) => all + word.contribution, rest);
      assert.ok(Math.abs(sum - score) < 1e-5 && shown === score);
      const whale = words.find(({ word }: any) => word === 'whale');
      assert.equal(whale.variant, 'exact');
      assert.ok(['title', 'text'].includes(whale.attribute));
    }
    const between = (hits[0]._rankingScore + hits[1]._rankingScore) / 2;
    assert.deepEqual(ids(await search({ ...body, rankingScoreThreshold: between })), [1]);
  });

  it('keep phrases and exclusions, find typos and beginnings, and mark what they found', async () => {
    const natural = { matchingStrategy: 'natural', attributesToHighlight: ['title'] };
    assert.deepEqual(ids(await search({ ...natural, q: 'whale "about whales"' })), [1]);
    const prose = 'a "white whale" is what this sentence of more than ten words is about';
    assert.deepEqual(ids(await search({ ...natural, q: prose })), [1, 2]);
    assert.deepEqual(ids(await search({ ...natural, q: 'what is a "white whale"' })), []);
    assert.deepEqual(ids(await search({ ...natural, q: 'whale sea -birds' })), [1]);
    assert.deepEqual(ids(await search({ ...natural, q: 'gradens rosse' })), [3]);
    const { hits } = await search({ ...natural, q: 'tell me of gard' });
    const garden = hits.find(({ id }: any) => id === 3);
    assert.equal(garden._formatted.title, '<em>Gard</em>ens');
  });

  it('are the default of an index that says so, unless a search says otherwise', async () => {
    const path = '/indexes/books/settings';
    const shown = async (): Promise<any> => (await server.call('GET', path)).json;
    assert.ok(!('defaultMatchingStrategy' in (await shown())));
    const child = `${path}/default-matching-strategy`;
    assert.equal((await server.call('GET', child)).json, 'last');
    await server.finish('PUT', child, { body: 'natural' });
    assert.equal((await shown()).defaultMatchingStrategy, 'natural');
    assert.deepEqual(ids(await search({ q: QUESTION })), [1, 2]);
    assert.deepEqual(ids(await search({ q: QUESTION, matchingStrategy: 'last' })), []);
    const bad = await server.call('PUT', child, { body: 'most' });
    assert.equal(bad.json.code, 'invalid_settings_default_matching_strategy');
    await server.finish('DELETE', path);
    assert.ok(!('defaultMatchingStrategy' in (await shown())));
    await server.finish('PATCH', path, {
      body: { embedders: { e: { source: 'userProvided', dimensions: 2 } } },
    });
  });

  it('weigh attributes as `searchableAttributes` says', async () => {
    const path = '/indexes/weighed';
    const best = async (weight: number): Promise<any> => {
      const searchableAttributes = [{ attribute: 'text', weight }, 'title'];
      await server.finish('PATCH', `${path}/settings`, { body: { searchableAttributes } });
      const { json } = await server.call('GET', `${path}/settings/searchable-attributes`);
      assert.deepEqual(json, searchableAttributes);
      return ids(await search({ q: 'whale', matchingStrategy: 'natural' }, `${path}/search`))[0];
    };
    await server.finish('POST', `${path}/documents`, {
      body: [
        { id: 1, title: 'whale', text: 'fish' },
        { id: 2, title: 'fish', text: 'whale' },
      ],
    });
    assert.equal(await best(0.1), 1);
    assert.equal(await best(9), 2);
    for (const weight of [0, -1, 'x']) {
      const body = [{ attribute: 'text', weight }];
      const { json } = await server.call('PUT', `${path}/settings/searchable-attributes`, { body });
      assert.equal(json.code, 'invalid_settings_searchable_attributes');
    }
  });

  it('find other forms of a word, compounds by their parts, and pairs of characters', async () => {
    const found = async (lines: object[], q: string, more: object = {}): Promise<number[]> => {
      await server.finish('DELETE', '/indexes/forms');
      await server.finish('POST', '/indexes/forms/documents', { body: lines });
      const body = { q, matchingStrategy: 'natural', ...more };
      return ids(await search(body, '/indexes/forms/search'));
    };
    const english = [
      { id: 1, t: 'the hunter of the whales was hunting' },
      { id: 2, t: 'the roses in the garden' },
    ];
    assert.deepEqual(await found(english, 'he hunts whale .'), [1]);
    assert.deepEqual(await found(english, 'gardening .', { locales: ['eng'] }), [2]);
    assert.deepEqual(await found(english, 'gardening .', { locales: ['jpn'] }), []);
    const german = [
      { id: 1, t: 'das Dampfschiff und der Dampf, das Schiff' },
      { id: 2, t: 'die Kapitänsmütze' },
      { id: 3, t: 'der Kapitän und die Mütze' },
    ];
    assert.deepEqual((await found(german, 'Mützen .', { locales: ['deu'] })).sort(), [2, 3]);
    const japanese = [
      { id: 1, t: '東京の大学' },
      { id: 2, t: '京東' },
    ];
    assert.deepEqual(await found(japanese, '東京'), [1]);
  });

  it('find the field that they are first, and words half typed or mistyped', async () => {
    const lines = [
      { id: 1, name: 'mail server tools', about: 'mail server, mail server, mail server' },
      { id: 2, name: 'mail server', about: 'for many' },
      { id: 3, name: 'main serving', about: 'a rare lib' },
      { id: 4, name: 'library', about: 'of functions' },
    ];
    await server.finish('PATCH', '/indexes/typed/settings', {
      body: { searchableAttributes: ['name', 'about'], synonyms: { postman: ['mail'] } },
    });
    await server.finish('POST', '/indexes/typed/documents', { body: lines });
    const found = async (q: string): Promise<any> =>
      search({ q, matchingStrategy: 'natural', showRankingScoreDetails: true }, typed);
    const typed = '/indexes/typed/search';
    const whole = await found('mail server');
    assert.deepEqual(ids(whole).slice(0, 2), [2, 1]);
    const share = ({ _rankingScoreDetails: { natural } }: any): number => natural.wholeField;
    assert.ok(share(whole.hits[0]) > share(whole.hits[1]) && share(whole.hits[1]) > 0);
    assert.deepEqual(ids(await found('lib')), [4, 3]);
    const variants = ({ hits }: any): string[] =>
      hits.map((hit: any) => hit._rankingScoreDetails.natural.words[0].variant);
    const mistyped = await found('serving');
    assert.deepEqual(ids(mistyped)[0], 3);
    const synonyms = await found('postman .');
    assert.deepEqual(
      [ids(synonyms).sort(), variants(synonyms)],
      [
        [1, 2],
        ['synonym', 'synonym'],
      ],
    );
  });

  it('take part in multi-search, federation and hybrid search', async () => {
    const query = { indexUid: 'books', q: QUESTION, matchingStrategy: 'natural' };
    const { results } = await search({ queries: [query] }, '/multi-search');
    assert.deepEqual(ids(results[0]), [1, 2]);
    const federated = await search({ federation: {}, queries: [query] }, '/multi-search');
    assert.deepEqual(ids(federated), [1, 2]);
    const hybrid = { embedder: 'e', semanticRatio: 0.5 };
    const response = await search({
      ...{ q: QUESTION, matchingStrategy: 'natural', hybrid, vector: [1, 0] },
    });
    assert.deepEqual(ids(response).slice(0, 2), [1, 2]);
    const chat = { chat: { searchParameters: { matchingStrategy: 'natural' } } };
    await server.call('PATCH', '/experimental-features', { body: { chatCompletions: true } });
    const task = await server.finish('PATCH', '/indexes/books/settings', { body: chat });
    assert.equal(task.status, 'succeeded');
  });
});

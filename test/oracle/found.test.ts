/** Small cases found by random comparisons of the engine with the oracle, for both of them. */
import assert from 'node:assert/strict';
import type { Document } from './corpus.ts';
import type { SearchParams, Settings } from './engine.ts';
import { SIDES } from './sides.ts';

interface Example {
  name: string;
  settings: Settings;
  documents: Document[];
  deleted?: number[];
  params: SearchParams;
  ids: number[];
  /** The score of `proximity`, hit by hit. */
  proximity?: number[];
  /** The title of each hit as it is shown. */
  formatted?: string[];
  /** How many words each hit matches. */
  words?: number[];
  /** The first half of `exactness` of each hit. */
  match?: string[];
  /** Without scores the best documents are found by shorter paths of the code. */
  unscored?: boolean;
}

interface Details {
  proximity: { score: number };
  words: { matchingWords: number };
  exactness: { matchType: string };
}

/** Attributes that take no typos. */
const exactAttributes = (...names: string[]): Settings => ({
  typoTolerance: {
    enabled: true,
    minWordSizeForTypos: { oneTypo: 5, twoTypos: 9 },
    disableOnWords: [],
    disableOnAttributes: names,
    disableOnNumbers: false,
  },
});

/** In their order. */
const WORDS_OF_ONE_BEGINNING = Array.from({ length: 1001 }, (_, n) =>
  `${n + 10_000}`.replace('1', 'wonde').replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)]!),
);

/** Enough for a short prefix. */
const WORDS_OF_ONE_SHORT_PREFIX = Array.from({ length: 100 }, (_, n) =>
  `for${n + 100}`.replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)]!),
);

const EXAMPLES: Example[] = [
  {
    name: 'a name with a dot is no field of its parent',
    settings: { filterableAttributes: ['info'] },
    documents: [{ id: 1, 'info.name': 'red', notes: { text: 'a' } }],
    params: { filter: 'info != blue' },
    ids: [],
  },
  {
    name: 'words are not glued to one that only attributes without typos have, nor is it marked',
    settings: exactAttributes('title'),
    documents: [{ id: 1, title: 'iln bird wonder' }],
    params: { q: 'iln wo nder ', attributesToHighlight: ['title'] },
    ids: [1],
    formatted: ['<em>iln</em> bird wonder'],
  },
  {
    name: 'nor are they glued to the beginning of such a word',
    settings: exactAttributes('title'),
    documents: [{ id: 1, title: 'iln bird wonder' }],
    params: { q: 'iln wo nd', attributesToHighlight: ['title'] },
    ids: [1],
    formatted: ['<em>iln</em> bird wonder'],
  },
  {
    name: 'what begins as typed is marked when words are glued to the beginning of another word',
    settings: exactAttributes('title'),
    documents: [
      { id: 1, title: 'iln bird wonder' },
      { id: 2, title: 'iln', note: 'wondrous' },
    ],
    params: { q: 'iln wo nd', attributesToHighlight: ['title'] },
    ids: [2, 1],
    formatted: ['<em>iln</em>', '<em>iln</em> bird <em>wond</em>er'],
  },
  {
    name: 'words are glued to the beginning of a thousand words, not of the next one',
    settings: exactAttributes('note'),
    documents: [
      { id: 1, title: WORDS_OF_ONE_BEGINNING.slice(0, 1000).join(' ') },
      { id: 2, title: WORDS_OF_ONE_BEGINNING[1000]!, note: 'iln' },
    ],
    params: { q: 'wo nde' },
    ids: [1],
  },
  {
    name: 'a page is not longer than asked for when distinct meets a threshold',
    settings: { distinctAttribute: 'year' },
    documents: [1, 2, 3, 4, 5].map((id): Document => ({ id, year: id })),
    params: { rankingScoreThreshold: 0.44, hitsPerPage: 2 },
    ids: [1, 2],
  },
  {
    name: 'a word stands where it stands, also in attributes that are not searched',
    settings: { rankingRules: ['wordPosition'] },
    documents: [
      { id: 1, note: 'water waterfall' },
      { id: 2, title: 'waterfal', note: 'red waterfall' },
    ],
    params: { q: 'waterfall ', attributesToSearchOn: ['note'] },
    ids: [2, 1],
  },
  {
    name: 'typos lead to the words of all attributes that take typos',
    settings: {
      rankingRules: ['wordPosition'],
      typoTolerance: { disableOnAttributes: ['tags'] },
    },
    documents: [
      { id: 1, title: 'red water', genre: 'watet' },
      { id: 2, title: 'a b water', tags: ['x'] },
      { id: 3, title: 'water' },
    ],
    params: { q: 'water ', attributesToSearchOn: ['t*'] },
    ids: [1, 3, 2],
  },
  {
    name: 'a glued word with its own prefix is as near as it stands',
    settings: {
      typoTolerance: {
        minWordSizeForTypos: { oneTypo: 5, twoTypos: 6 },
        disableOnNumbers: true,
      },
    },
    documents: [{ id: 1, title: 'booksro_booksdn booksad ' }],
    params: { q: 'booksd book sad' },
    ids: [1],
    proximity: [0.8],
  },
  {
    name: 'a stop word in a script without spaces is no term',
    settings: { stopWords: ['京'] },
    documents: [{ id: 1, title: '东 北 风' }],
    params: { q: '东 京 风', matchingStrategy: 'all' },
    ids: [1],
  },
  {
    name: 'without any rule the number of the document decides',
    settings: { rankingRules: [] },
    documents: [
      { id: 1, title: 'red' },
      { id: 2, title: 'red flower' },
    ],
    params: { q: 'red flower' },
    ids: [1, 2],
  },
  {
    name: 'only the searched attributes tell how frequent a word is',
    settings: {},
    documents: [
      { id: 1, title: 'red', note: 'blue' },
      { id: 2, title: 'red', note: 'blue' },
      { id: 3, title: 'blue', note: 'blue' },
    ],
    params: { q: 'red blue ', matchingStrategy: 'frequency', attributesToSearchOn: ['title'] },
    ids: [3],
  },
  {
    name: 'the most frequent word is dropped, or one before it in the query that is rarer',
    settings: {},
    documents: [
      { id: 1, title: 'quarry falcons owls' },
      { id: 2, title: 'owls' },
      { id: 3, title: 'quarry owls' },
      { id: 4, title: 'falcons quarry' },
      { id: 5, title: 'falcons owls' },
      { id: 6, title: 'quarry' },
      { id: 7, title: 'quarry' },
    ],
    params: { q: 'quarry owls falcons', matchingStrategy: 'frequency' },
    ids: [1, 4, 5],
    words: [3, 2, 2],
  },
  {
    name: 'a word is not dropped before one that follows it and is more frequent',
    settings: {},
    documents: [
      { id: 1, title: 'owls quarry falcons' },
      { id: 2, title: 'quarry' },
      { id: 3, title: 'quarry owls' },
      { id: 4, title: 'falcons quarry' },
      { id: 5, title: 'falcons owls' },
      { id: 6, title: 'quarry' },
      { id: 7, title: 'owls' },
    ],
    params: { q: 'owls quarry falcons', matchingStrategy: 'frequency' },
    ids: [1, 5, 4],
    words: [3, 2, 1],
  },
  {
    name: 'a glued word stays as long as the rarest of its words',
    settings: {},
    documents: [
      { id: 1, title: 'red blue green' },
      { id: 2, title: 'bluegreen' },
      { id: 3, title: 'red blue' },
      { id: 4, title: 'blue' },
      { id: 5, title: 'blue' },
      { id: 6, title: 'red' },
      { id: 7, title: 'green' },
      { id: 8, title: 'red' },
    ],
    params: { q: 'red blue green', matchingStrategy: 'frequency' },
    ids: [1, 2, 7],
    words: [3, 2, 1],
  },
  {
    name: 'the last word of a split word counts only where the word is split',
    settings: {},
    documents: [
      { id: 1, title: 'object mappings for the pgobject' },
      { id: 2, title: 'py object' },
      { id: 3, title: 'pgobject is a class for' },
      { id: 4, title: 'py object for' },
    ],
    params: { q: 'pyobject for ' },
    ids: [4, 1, 3, 2],
    proximity: [1, 0.5, 0.25, 1],
  },
  {
    name: 'in front of a short prefix it counts also where the word is not split',
    settings: {},
    documents: [
      { id: 1, title: 'object mappings for the pgobject' },
      { id: 2, title: 'py object' },
      { id: 3, title: 'pgobject is a class for' },
      { id: 4, note: WORDS_OF_ONE_SHORT_PREFIX.join(' ') },
    ],
    params: { q: 'pyobject for' },
    ids: [1, 3, 2],
    proximity: [0.75, 0.25, 1],
  },
  {
    name: 'the last word of a synonym counts only where the document contains the synonym',
    settings: { synonyms: { web: ['http server'] } },
    documents: [
      { id: 1, title: 'web server with x' },
      { id: 2, title: 'web with x' },
      { id: 4, title: 'http server with x' },
    ],
    params: { q: 'web with' },
    ids: [2, 4, 1],
    proximity: [1, 1, 0.75],
  },
  {
    name: 'so does the first word',
    settings: { synonyms: { web: ['http server'] } },
    documents: [
      { id: 1, title: 'with http by web' },
      { id: 2, title: 'with http server' },
    ],
    params: { q: 'with web' },
    ids: [2, 1],
    proximity: [1, 0.5],
  },
  {
    name: 'the last word of a glued word that is split counts only where it is split',
    settings: { separatorTokens: ['x'] },
    documents: [
      { id: 1, title: "broker's and devices." },
      { id: 2, title: 'device(s)' },
    ],
    params: { q: 'dexvices and' },
    ids: [1, 2],
    proximity: [0.6, 0.5],
  },
  {
    name: 'a stop word at the beginning of a phrase is no word of the attribute',
    settings: { stopWords: ['for'] },
    documents: [
      { id: 1, title: 'php for red php php' },
      { id: 2, title: 'blue php red blue php', note: 'red php' },
    ],
    params: { q: 'for php "for php"' },
    ids: [2, 1],
    match: ['exactMatch', 'noExactMatch'],
  },
  {
    name: 'words glued to a short prefix that the index has are marked where words begin with it',
    settings: {},
    documents: [
      { id: 1, title: 'c a catch' },
      { id: 2, note: ['ca', ...WORDS_OF_ONE_SHORT_PREFIX.map((word) => `ca${word}`)].join(' ') },
    ],
    params: { q: 'c a', attributesToHighlight: ['title'], limit: 1 },
    ids: [1],
    formatted: ['<em>c</em> <em>a</em> <em>ca</em>tch'],
  },
  {
    name: 'a match longer than the crop loses its last words and one separator before them',
    settings: {},
    documents: [{ id: 1, title: 'red - sun - flower' }],
    params: { q: '"red sun flower"', attributesToCrop: ['title'], cropLength: 2 },
    ids: [1],
    formatted: ['red - sun -…'],
  },
  {
    name: 'the language of an attribute decides how its words and those of the query are compared',
    settings: { localizedAttributes: [{ attributePatterns: ['t*'], locales: ['swe'] }] },
    documents: [
      { id: 1, title: 'öl' },
      { id: 2, title: 'ol' },
      { id: 3, note: 'öl' },
    ],
    params: { q: 'öl ' },
    ids: [1],
  },
  {
    name: 'a query that names another language is read in that of the attributes',
    settings: { localizedAttributes: [{ attributePatterns: ['*'], locales: ['swe'] }] },
    documents: [
      { id: 1, title: 'öl' },
      { id: 2, title: 'ol' },
    ],
    params: { q: 'öl ', locales: ['eng'] },
    ids: [1],
  },
  {
    name: 'katakana are hiragana in every language',
    settings: { localizedAttributes: [{ attributePatterns: ['title'], locales: ['cmn'] }] },
    documents: [
      { id: 1, title: 'サバ' },
      { id: 2, note: 'サバ' },
      { id: 3, note: 'さば' },
    ],
    params: { q: 'サバ', locales: ['jpn'] },
    ids: [1, 2, 3],
  },
  {
    name: 'simplified finds traditional and the other way round',
    settings: {},
    documents: [
      { id: 1, title: '學習語言' },
      { id: 2, title: '学习语言' },
      { id: 3, title: '学中文' },
    ],
    params: { q: '学習', showRankingScore: true },
    ids: [1, 2],
  },
  {
    name: 'fields of different languages are found by either form',
    settings: { localizedAttributes: [{ attributePatterns: ['title'], locales: ['jpn'] }] },
    documents: [
      { id: 1, title: '国のアニメ' },
      { id: 2, note: '國のアニメ' },
      { id: 3, note: '国のあにめ' },
    ],
    params: { q: '國のアニメ' },
    ids: [1, 2, 3],
  },
  {
    name: 'in Japanese as well',
    settings: { localizedAttributes: [{ attributePatterns: ['*'], locales: ['jpn'] }] },
    documents: [
      { id: 1, title: '學習' },
      { id: 2, title: '学習' },
    ],
    params: { q: '学習' },
    ids: [1, 2],
  },
  {
    name: 'the Arabic article is a word of its own',
    settings: {},
    documents: [
      { id: 1, title: 'كتاب' },
      { id: 2, title: 'الكتاب' },
      { id: 3, title: 'سلام' },
    ],
    params: { q: 'كتاب ' },
    ids: [1, 2],
  },
  {
    name: 'a word is split as most documents have it, whatever attributes are searched',
    settings: {},
    documents: [
      { id: 1, title: 'ab c' },
      { id: 2, note: 'a bc' },
      { id: 3, note: 'a bc' },
    ],
    params: { q: 'abc ', attributesToSearchOn: ['title'] },
    ids: [],
  },
  {
    name: 'by attribute a later bucket finds nothing by a pair of words that an earlier one has asked for',
    settings: { proximityPrecision: 'byAttribute' },
    documents: [
      { id: 1, title: 'gamin file access' },
      { id: 2, title: 'gaming file access' },
      { id: 3, title: 'gaming file accepts' },
      { id: 4, title: 'gamin file' },
    ],
    params: { q: 'gamin file acce' },
    ids: [1, 2, 3, 4],
    proximity: [1, 6 / 7, 6 / 7, 1],
  },
  {
    name: 'a dash before a mark that stands for nothing excludes no word behind that',
    settings: {},
    documents: [{ id: 1, title: '\u00e5' }],
    params: { q: '\u0643\u062a\u0627\u0628 -\u030aa "a"' },
    ids: [1],
  },
  {
    name: 'a phrase of one word holds what has the word',
    settings: {},
    documents: [
      { id: 1, title: 'sun' },
      { id: 2, title: 'blackbird' },
    ],
    params: { q: '"sun' },
    ids: [1],
  },
  {
    name: 'which documents are as good as equally far does not depend on such as match less well',
    settings: {
      rankingRules: ['words', 'proximity', 'sort', 'exactness'],
      sortableAttributes: ['_geo'],
    },
    documents: [
      { id: 1, title: 'red wine x', _geo: { lat: 0.000008, lng: 0 } },
      { id: 2, title: 'red wine', _geo: { lat: 0.000014, lng: 0 } },
      ...[3, 4, 5, 6].map((id) => ({ id, title: 'wine and red', _geo: { lat: 0, lng: 0 } })),
    ],
    params: { q: 'red wine', sort: ['_geoPoint(0, 0):asc'], limit: 2 },
    ids: [2, 1],
  },
  {
    name: 'what stands for a word in farther documents does not count for nearer ones',
    settings: { searchableAttributes: ['title', 'overview'] },
    documents: [
      { id: 1, title: 'hello', overview: 'hello worlx' },
      { id: 2, title: 'hello', overview: 'hello worlx' },
      { id: 3, title: 'hellp', overview: 'a world' },
    ],
    params: { q: 'hello world' },
    ids: [1, 2, 3],
    match: ['exactMatch', 'exactMatch', 'noExactMatch'],
  },
  {
    name: 'a synonym of several words counts where a document holds it',
    settings: {
      searchableAttributes: ['title', 'overview'],
      synonyms: { nyc: ['new york'] },
    },
    documents: [
      { id: 1, title: 'york pizza', overview: 'nyc' },
      { id: 2, title: 'new york pizza' },
      { id: 3, title: 'nyc pizza' },
      { id: 4, title: 'pizza', overview: 'nyc a york' },
      { id: 5, title: 'pizza', overview: 'new york nyc' },
    ],
    params: { q: 'nyc pizza' },
    ids: [3, 2, 1, 4, 5],
    proximity: [1, 1, 0.25, 0.25, 0.25],
  },
  {
    name: 'a short last word stands where any word does that begins with it, also in documents that have it as typed',
    settings: {
      rankingRules: ['words', 'exactness', 'attribute'],
      searchableAttributes: ['title', 'note'],
    },
    documents: [
      { id: 1, note: 'bird w' },
      { id: 2, title: 'wonder', note: 'bird w' },
      { id: 3, note: WORDS_OF_ONE_BEGINNING.slice(0, 120).join(' ') },
    ],
    params: { q: 'bird w' },
    ids: [2, 1],
  },
  {
    name: 'what begins with the last word is marked only as long as some document has such a word',
    settings: { localizedAttributes: [{ attributePatterns: ['name'], locales: ['eng'] }] },
    documents: [
      { id: 1, name: 'الكتاب' },
      { id: 2, name: 'book', title: 'الكتاب' },
    ],
    deleted: [1],
    params: { q: 'book الكتا', locales: ['eng'], attributesToHighlight: ['title'] },
    ids: [2],
    formatted: ['الكتاب'],
  },
  {
    name: 'what was typed is marked where it begins like a synonym of an earlier phrase',
    settings: { synonyms: { 京都: ['東'] } },
    documents: [{ id: 1, title: '京都 東京' }],
    params: { q: '京都 東京 ', attributesToHighlight: ['title'] },
    ids: [1],
    formatted: ['<em>京都</em> <em>東京</em>'],
  },
  {
    name: 'a mark that is ignored before a minus is no white space: the word behind is not excluded',
    settings: {},
    documents: [
      { id: 1, title: 'garden' },
      { id: 2, title: 'rose' },
    ],
    params: { q: '\u030a-garden' },
    ids: [1],
  },
  {
    name: 'the same mark behind white space',
    settings: {},
    documents: [
      { id: 1, title: 'rose garden' },
      { id: 2, title: 'rose' },
    ],
    params: { q: 'rose \u030a-garden' },
    ids: [1, 2],
  },
  {
    name: 'a word at the beginning of an attribute that is not searched is not found',
    settings: {},
    documents: [
      { id: 1, note: 'sea' },
      { id: 2, title: 'deep sea' },
    ],
    params: { q: 'sea', attributesToSearchOn: ['title'], limit: 1 },
    ids: [2],
    unscored: true,
  },
  {
    name: 'two words with a typo each are no better than both of them glued together',
    settings: {},
    documents: [
      { id: 1, title: 'yellow bird wonder elephant garden flower' },
      { id: 2, title: 'yelowflowr' },
    ],
    params: { q: 'yelow flowr ', limit: 1 },
    ids: [2],
    unscored: true,
  },
];

for (const [side, open] of Object.entries(SIDES)) {
  describe(`Cases found by comparison, ${side}`, () => {
    for (const {
      name,
      settings,
      documents,
      deleted,
      params,
      ids,
      proximity,
      words,
      formatted,
      match,
      unscored,
    } of EXAMPLES) {
      it(name, async () => {
        const index = await open(documents, settings, deleted);
        try {
          const { hits } = await index.search({
            ...params,
            showRankingScoreDetails: unscored !== true,
          });
          assert.deepEqual(
            hits.map((hit) => hit.id),
            ids,
          );
          if (formatted !== undefined) {
            assert.deepEqual(
              hits.map((hit) => (hit._formatted as Document).title),
              formatted,
            );
          }
          const details = hits.map((hit) => hit._rankingScoreDetails as unknown as Details);
          if (proximity !== undefined) {
            assert.deepEqual(
              details.map((of) => of.proximity.score),
              proximity,
            );
          }
          if (words !== undefined) {
            assert.deepEqual(
              details.map((of) => of.words.matchingWords),
              words,
            );
          }
          if (match !== undefined) {
            assert.deepEqual(
              details.map((of) => of.exactness.matchType),
              match,
            );
          }
        } finally {
          index.close();
        }
      });
    }
  });
}

/**
 * The examples of the behaviour that docs/behaviour describes, for the oracle and for the engine.
 */
import assert from 'node:assert/strict';
import type { Document } from './corpus.ts';
import type { SearchParams, Settings } from './engine.ts';
import { SIDES, type Side } from './sides.ts';

/** One index for the tests of a block. */
function index(
  open: (typeof SIDES)[string],
  documents: Document[],
  settings: Settings = {},
): Pick<Side, 'search'> {
  let side: Side | undefined;
  before(async () => {
    side = await open(documents, settings);
  });
  after(() => side?.close());
  return { search: (params) => side!.search(params) };
}

const titled = (titles: readonly string[]): Document[] =>
  titles.map((title, i): Document => ({ id: i + 1, title }));

async function ids(side: Pick<Side, 'search'>, params: SearchParams): Promise<unknown[]> {
  return (await side.search(params)).hits.map((hit) => hit.id);
}

const FILMS = [
  'Shazam!',
  'Captain Marvel',
  'Escape Room',
  'How to Train Your Dragon: The Hidden World',
  'Gläss',
];

for (const [name, open] of Object.entries(SIDES)) {
  describe(`conformance examples, ${name}: the distance of a hit`, () => {
    const poles = index(open, [{ id: 1, _geo: { lat: -89, lng: 0 } }], {
      sortableAttributes: ['_geo'],
    });
    const cases: [attributesToRetrieve: string[] | undefined, distance: number | undefined][] = [
      [undefined, 9896348],
      [['*'], 9896348],
      [['_geo'], 9896348],
      [['_geo.lat', '_geo.lng'], 9896348],
      [['_geo.lat'], undefined],
      [['id'], undefined],
      [[], undefined],
    ];
    for (const [attributesToRetrieve, distance] of cases) {
      it(`is ${distance} where ${JSON.stringify(attributesToRetrieve)} is retrieved`, async () => {
        const [hit] = (
          await poles.search({
            sort: ['_geoPoint(0, 0):asc'],
            ...(attributesToRetrieve && { attributesToRetrieve }),
          })
        ).hits;
        assert.equal(hit?._geoDistance, distance);
      });
    }
  });

  describe(`conformance examples, ${name}: films`, () => {
    const films = index(open, titled(FILMS), { filterableAttributes: ['title'] });
    const cases: [params: SearchParams, hits: number[]][] = [
      [{ q: 'glass' }, [5]],
      [{ q: 'captain marvl' }, [2]],
      [{ q: 'capt' }, [2]],
      [{ q: 'capt ' }, []],
      [{ q: 'kaptain' }, []],
      [{ q: 'esc rom' }, []],
      [{ q: 'dragon -captain' }, [4]],
      [{ q: '-dragon' }, [1, 2, 3, 5]],
      [{ q: '"train your"' }, [4]],
      [{ q: '"your train"' }, []],
      [{ q: 'escaperoom' }, [3]],
      [{ q: 'sha zam' }, [1]],
      [{ q: 'marvel unknown' }, [2]],
      [{ q: 'marvel unknown', matchingStrategy: 'all' }, []],
      [{ q: 'unknown marvel' }, []],
      [{ q: 'unknown marvel', matchingStrategy: 'frequency' }, [2]],
      [{ q: '', limit: 2 }, [1, 2]],
      [{ q: '', page: 2, hitsPerPage: 2 }, [3, 4]],
      [{ q: '', page: 0 }, []],
      [{ offset: 1, limit: 0 }, []],
      [{ filter: 'title = glass' }, []],
      [{ filter: "title = 'GLÄSS'" }, [5]],
    ];
    for (const [params, hits] of cases) {
      it(`${JSON.stringify(params)} finds ${hits.length === 0 ? 'nothing' : hits.join(', ')}`, async () => {
        assert.deepEqual(await ids(films, params), hits);
      });
    }

    it('counts typos: one for a missing letter and for a split, two for words glued together', async () => {
      for (const [q, typoCount] of [
        ['captain marvl', 1],
        ['escaperoom', 1],
        ['sha zam', 2],
      ] as const) {
        const [hit] = (await films.search({ q, showRankingScoreDetails: true })).hits;
        assert.equal(
          (hit?._rankingScoreDetails as { typo: { typoCount: number } }).typo.typoCount,
          typoCount,
          q,
        );
      }
    });

    it('reports how many words matched', async () => {
      const [hit] = (await films.search({ q: 'marvel unknown', showRankingScoreDetails: true }))
        .hits;
      const { words } = hit?._rankingScoreDetails as {
        words: { matchingWords: number; maxMatchingWords: number };
      };
      assert.deepEqual([words.matchingWords, words.maxMatchingWords], [1, 2]);
    });

    it('gives totals for both kinds of pagination', async () => {
      assert.equal((await films.search({ q: '', limit: 2 })).estimatedTotalHits, 5);
      assert.equal((await films.search({ offset: 1, limit: 0 })).estimatedTotalHits, 5);
      const paged = await films.search({ q: '', page: 2, hitsPerPage: 2 });
      assert.deepEqual([paged.totalHits, paged.totalPages], [5, 3]);
      const none = await films.search({ q: '', page: 0 });
      assert.deepEqual([none.totalHits, none.totalPages, none.hitsPerPage], [5, 1, 20]);
    });
  });

  describe(`conformance examples, ${name}: filters in lists`, () => {
    const attributes = ['genre', 'x'];
    const documents: Document[] = [
      { id: 1, genre: 'a', x: 1 },
      { id: 2, genre: 'a', x: 2 },
      { id: 3, genre: 'a', x: 3 },
      { id: 4, genre: 'b', x: 1 },
    ];
    const side = index(open, documents, { filterableAttributes: attributes });

    it('joins the outer elements by AND and the inner ones by OR', async () => {
      assert.deepEqual(await ids(side, { filter: ['genre = a', ['x = 1', 'x = 2']] }), [1, 2]);
    });
  });

  describe(`conformance examples, ${name}: matching strategies`, () => {
    const titles = [
      'Shazam!',
      'Captain Planet',
      'Captain Marvel',
      'a Captain Marvel ersatz',
      "He's not part of the Marvel Cinematic Universe",
      'a Shazam ersatz, but better than Captain Planet',
      'Capitain CAAAAAVEEERNE!!!!',
    ];
    const side = index(open, titled(titles));
    const cases: [q: string, last: number[], all: number[], frequency: number[]][] = [
      ['Captain Marvel', [3, 4, 2, 6, 7], [3, 4], [3, 4, 5]],
      ['Capitain Marvel', [3, 4, 7, 2, 6], [3, 4], [3, 4, 5]],
      ['Captain Supercopter Marvel', [2, 3, 4, 6, 7], [], [3, 4, 5]],
    ];
    for (const [q, last, all, frequency] of cases) {
      it(`orders ${q} by strategy`, async () => {
        assert.deepEqual(await ids(side, { q, matchingStrategy: 'last' }), last, 'last');
        assert.deepEqual(await ids(side, { q, matchingStrategy: 'all' }), all, 'all');
        assert.deepEqual(
          await ids(side, { q, matchingStrategy: 'frequency' }),
          frequency,
          'frequency',
        );
      });
    }
  });

  describe(`conformance examples, ${name}: ranking score`, () => {
    const side = index(
      open,
      titled([
        'Tumbler Cup',
        'Stainless Steel Tumbler',
        'How to Train Your Dragon: The Hidden World',
      ]),
    );
    const scores = async (q: string): Promise<unknown[]> =>
      (await side.search({ q, showRankingScore: true })).hits.map((hit) => [
        hit.title,
        hit._rankingScore,
      ]);

    it('prefers the field that starts with the word', async () => {
      assert.deepEqual(await scores('tumbler'), [
        ['Tumbler Cup', 0.9848484848484849],
        ['Stainless Steel Tumbler', 0.8787878787878788],
      ]);
    });

    it('takes distance and position into account', async () => {
      assert.deepEqual(await scores('train dragon'), [
        ['How to Train Your Dragon: The Hidden World', 0.9490740740740741],
      ]);
    });

    it('explains the score', async () => {
      const [hit] = (await side.search({ q: 'train dragon', showRankingScoreDetails: true })).hits;
      assert.deepEqual(hit?._rankingScoreDetails, {
        words: { order: 0, matchingWords: 2, maxMatchingWords: 2, score: 1 },
        typo: { order: 1, typoCount: 0, maxTypoCount: 2, score: 1 },
        proximity: { order: 2, score: 0.75 },
        attribute: {
          order: 3,
          attributeRankingOrderScore: 1,
          queryWordDistanceScore: 0.8095238095238095,
          score: 0.8095238095238095,
        },
        exactness: {
          order: 4,
          matchType: 'noExactMatch',
          matchingWords: 2,
          maxMatchingWords: 2,
          score: 0.3333333333333333,
        },
      });
    });
  });

  describe(`conformance examples, ${name}: words in scripts without spaces`, () => {
    const side = index(
      open,
      titled(['東京大学に行く', '東大の学生', '東京タワー', '首都の塔', 'tokyo tower', '東と京']),
      {
        synonyms: {
          東京: ['首都', 'tokyo'],
          東京大学: ['東大'],
          'tokyo 大学': ['学生'],
        },
      },
    );
    const cases: [params: SearchParams, hits: number[]][] = [
      [{ q: '東京' }, [1, 3, 4, 5]],
      [{ q: '東京', matchingStrategy: 'all' }, [1, 3, 4, 5]],
      [{ q: '東京 ', limit: 1 }, [1]],
      [{ q: '東京大学', matchingStrategy: 'all' }, [1, 2]],
      [{ q: '東京大学 行く', matchingStrategy: 'all' }, [1]],
      [{ q: 'tokyo 大学', matchingStrategy: 'all' }, [2]],
      [{ q: '"東京"' }, [1, 3]],
      [{ q: '塔 -東京' }, [4]],
    ];
    for (const [params, hits] of cases) {
      it(`gives the same response to ${JSON.stringify(params)}`, async () => {
        assert.deepEqual(await ids(side, params), hits);
      });
    }
    it('counts the words of a phrase, not its characters', async () => {
      const params = { q: '"東京大学に" tower', showRankingScoreDetails: true };
      const [hit] = (await side.search(params)).hits;
      const { words } = hit!._rankingScoreDetails as unknown as Record<string, unknown>;
      assert.deepEqual(words, { order: 0, matchingWords: 3, maxMatchingWords: 4, score: 0.75 });
    });
  });

  describe(`conformance examples, ${name}: highlighting and cropping`, () => {
    const shape = async (text: string, params: SearchParams): Promise<unknown> => {
      const side = await open(titled([text]), {});
      const [hit] = (await side.search(params)).hits;
      side.close();
      return (hit?._formatted as Document | undefined)?.title;
    };
    const highlights: [q: string, text: string, result: string][] = [
      ['westfali', 'Westfália', '<em>Westfáli</em>a'],
      ['"the world"', 'to split the world between', 'to split <em>the world</em> between'],
    ];
    for (const [q, text, result] of highlights) {
      it(`highlights ${q} in ${text}`, async () => {
        assert.equal(await shape(text, { q, attributesToHighlight: ['title'] }), result);
      });
    }
    const crops: [text: string, result: string][] = [
      [
        'Natalie risk her future. Split The World is a book written by Emily Henry. I never read it.',
        '…Split The World is a book written by Emily Henry…',
      ],
      [
        'Natalie risk her future to build a world with the boy she loves. Emily Henry: The Love That Split The World.',
        '…she loves. Emily Henry: The Love That Split The World.',
      ],
    ];
    for (const [text, result] of crops) {
      it(`crops to ${result}`, async () => {
        assert.equal(
          await shape(text, { q: 'split the world', attributesToCrop: ['title'], cropLength: 10 }),
          result,
        );
      });
    }
    it('shows the start of a text without a match', async () => {
      const side = await open(
        [
          {
            id: 1,
            title: 'split the world',
            note: 'A quick brown fox can not jump 32 feet, right? Brr, it is cold!',
          },
        ],
        {},
      );
      const params = { q: 'split', attributesToCrop: ['note'], cropLength: 10 };
      const [hit] = (await side.search(params)).hits;
      side.close();
      assert.equal(
        (hit?._formatted as Document).note,
        'A quick brown fox can not jump 32 feet, right…',
      );
    });
    it('counts only words for the length of a crop', async () => {
      const text = 'void void split the world void void.';
      for (const [cropLength, result] of [
        [2, '…split the…'],
        [1, '…split…'],
        [0, text],
      ] as const) {
        assert.equal(
          await shape(text, { q: 'split the world', attributesToCrop: ['title'], cropLength }),
          result,
        );
      }
    });
  });
}

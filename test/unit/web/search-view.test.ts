/** What the search view computes: histograms, comparisons, code, and the fields of hits. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { codeSample } from '../../../src/web/code-samples.ts';
import { otherQueries, suggestionsFrom } from '../../../src/web/other-queries.ts';
import { movements } from '../../../src/web/comparison.ts';
import { arranged, storedFields, titleField } from '../../../src/web/hit-fields.ts';
import { barsOf, BUCKETS, momentUnit } from '../../../src/web/histogram.ts';

describe('Histograms', () => {
  it('have a bar for each whole number, if these are few', () => {
    assert.equal(barsOf({ min: 3, max: 7 }), 5);
    assert.equal(barsOf({ min: 3, max: 700 }), BUCKETS);
    assert.equal(barsOf({ min: 3.5, max: 7 }), BUCKETS);
  });

  it('know moments from years and durations', () => {
    assert.equal(momentUnit('release_date', 1_600_000_000), 's');
    assert.equal(momentUnit('createdAt', 1_600_000_000_000), 'ms');
    assert.equal(momentUnit('release_date', 1999), null);
    assert.equal(momentUnit('population', 1_600_000_000), null);
  });
});

describe('The comparison of two lists', () => {
  it('says how far each hit moved', () => {
    assert.deepEqual(movements(['a', 'b', 'c', 'd'], ['c', 'b', 'a']), [
      { kind: 'moved', by: 2 },
      { kind: 'same' },
      { kind: 'moved', by: -2 },
      { kind: 'absent' },
    ]);
  });
});

describe('A search as code', () => {
  const body = { q: `it's "5"`, filter: ['a = 1', ['b', 'c']], showRankingScore: true, none: null };

  it('sends the same request from a shell', () => {
    const code = codeSample('curl', 'http://host/path', 'a b', body);
    const script = `curl() { printf '%s\\0' "$@"; }\n${code}`;
    const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
    const given = stdout.split('\0');
    assert.equal(given[2], 'http://host/path/indexes/a%20b/search');
    assert.deepEqual(JSON.parse(given[given.indexOf('--data') + 1]!), body);
  });

  it('has the same body in JavaScript and in Python', () => {
    const script = codeSample('JavaScript', 'http://host', 'i', body);
    const [, literal] = /JSON\.stringify\(([^]*)\),\n\}\);/.exec(script)!;
    assert.deepEqual(JSON.parse(literal!), body);
    const python = codeSample('Python', 'http://host', 'i', body);
    assert.match(python, /"showRankingScore": True,\n {8}"none": None,\n {4}\},/);
    assert.match(python, /"q": "it's \\"5\\"",/);
  });
});

describe('The fields of a hit', () => {
  const hit = {
    id: 7,
    name: 'Dune',
    about: 'A long text about a planet, its worms and those who live there.',
    tags: ['sand', 'spice'],
    cover: 'https://elsewhere.example/7.png',
    nested: { a: 1 },
    _rankingScore: 1,
  };

  it('are a title, a line of short ones and a text', () => {
    assert.deepEqual(arranged(hit, 'id', null), { title: 'name', line: ['tags'], text: 'about' });
    assert.deepEqual(arranged(hit, 'id', ['cover', 'id', 'missing']), {
      title: 'name',
      line: ['cover', 'id'],
      text: undefined,
    });
    assert.equal(titleField({ id: 'x', other: 'text' }, 'id'), 'other');
    assert.ok(!storedFields(hit).includes('_rankingScore'));
  });
});

describe('What the page suggests', () => {
  const marks = { begin: '<', end: '>' };

  it('is other queries that find something, each once', () => {
    const queries = otherQueries('i', 'red shoe lace', marks);
    const texts = ['shoe lace', 'red lace', 'red shoe', 'red', 'shoe', 'lace'];
    assert.deepEqual(
      queries.map(({ q }) => q),
      texts,
    );
    const found = (totalHits: number, _formatted = {}): any => ({
      totalHits,
      hits: [{ _formatted }],
    });
    const results = [found(0), found(3), found(0), found(9), found(0), found(4)];
    assert.deepEqual(suggestionsFrom(queries, results, marks), [
      { text: 'red lace', hits: 3 },
      { text: 'red', hits: 9 },
      { text: 'lace', hits: 4 },
    ]);
    const beginnings = otherQueries('i', 'bookxyz', marks);
    assert.deepEqual(
      beginnings.map(({ q }) => q),
      ['bookxy', 'bookx', 'book', 'boo'],
    );
    const formatted = { id: 1, titles: ['none', 'A <Book>ish thing'] };
    const some = [found(0), found(2, formatted), found(5, formatted), found(6, { t: '<Boo>' })];
    assert.deepEqual(suggestionsFrom(beginnings, some, marks), [
      { text: 'bookish', hits: 2 },
      { text: 'boo', hits: 6 },
    ]);
  });
});

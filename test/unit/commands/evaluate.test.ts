import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { evaluate } from '../../../src/commands/evaluate/evaluation.ts';
import {
  type JudgedQueries,
  readJudgedQueries,
} from '../../../src/commands/evaluate/judged-queries.ts';
import { jsonReport, markdownReport, textReport } from '../../../src/commands/evaluate/report.ts';
import { readLines } from '../../../src/commands/evaluate/text-lines.ts';
import { type WayOptions, waysOf } from '../../../src/commands/evaluate/ways.ts';

describe('Judged queries', () => {
  let dir: string;
  before(() => (dir = mkdtempSync(join(tmpdir(), 'gannet-judged-'))));
  after(() => rmSync(dir, { recursive: true }));

  function read(judgements: string | Buffer, queries: string | Buffer | null = null) {
    const [q, j] = [join(dir, 'q'), join(dir, 'j')];
    writeFileSync(j, judgements);
    if (queries !== null) writeFileSync(q, queries);
    return readJudgedQueries(queries === null ? null : q, readLines(j));
  }

  function shown({ queries }: JudgedQueries): unknown[] {
    return queries.map(({ id, q, grades }) => [id, q, Object.fromEntries(grades)]);
  }

  const EXPECTED = [
    ['1', 'red shoes', { a: 2, 'b-7': 0 }],
    ['2', 'hats', { '9007199254740993': 1 }],
  ];
  const TSV = '1\tred shoes\n2\thats\n';
  const QRELS = '1 0 a 2\n1 0 b-7 0\n2 0 9007199254740993 1\n';

  it('are read from each format, with every end of line and encoding', () => {
    const packed = gzipSync(QRELS);
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(QRELS)]);
    const forms: [string | Buffer, string | null][] = [
      [QRELS, TSV],
      [QRELS.replaceAll('\n', '\r\n'), `\uFEFF${TSV.replaceAll('\n', '\r\n')}`],
      [QRELS.replaceAll('\n', '\r').trim(), `\n\n${TSV}`],
      [marked, TSV],
      [packed, TSV],
      ['query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb-7\t0\n2\t9007199254740993\t1\n', TSV],
      [QRELS, '{"id": 1, "q": "red shoes"}\n{"id": "2", "q": "hats"}'],
      [
        '{"id":1,"judgements":{"a":2,"b-7":0.0}}\n{"id":2,"relevant":[9007199254740993]}',
        '{"id":1,"q":"red shoes"}\n{"id":2,"q":"hats"}',
      ],
      [
        '{"id":1,"q":"red shoes","judgements":{"a":2.0,"b-7":0}}\n{"id":2,"q":"hats","relevant":["9007199254740993"]}',
        null,
      ],
      [
        '{"id":1,"q":"red shoes","judgements":[{"document":"a","grade":2},{"document":"b-7","grade":0}]}\n{"id":2,"q":"hats","judgements":[{"document":9007199254740993,"grade":1}]}',
        null,
      ],
      [
        '{"id":1,"q":"red shoes","document":"a","grade":2}\n{"id":1,"q":"red shoes","document":"b-7","grade":0}\n{"id":2,"q":"hats","document":9007199254740993}',
        null,
      ],
    ];
    for (const [judgements, queries] of forms) {
      assert.deepEqual(shown(read(judgements, queries)), EXPECTED, String(judgements));
      assert.deepEqual(read(judgements, queries).notes, []);
    }
    const byText = read('{"q":"hats","judgements":{"a":1}}');
    assert.deepEqual(shown(byText), [['hats', 'hats', { a: 1 }]]);
    const filtered = read('{"q":"hats","search":{"filter":"a = 1"},"relevant":["a"]}');
    assert.deepEqual(filtered.queries[0]!.search, { filter: 'a = 1' });
  });

  it('name the file and the line of what is wrong', () => {
    const faults: [judgements: string | Buffer, queries: string | null, message: RegExp][] = [
      ['', TSV, /j is empty\.$/],
      ['\r\n \n', TSV, /j is empty\.$/],
      [QRELS, '', /q is empty\.$/],
      [QRELS, null, /j has no texts of queries: name them with --queries/],
      ['1 0 a\n1 0 b x', TSV, /j:1: the grade|j:2: the grade of the document b is not a number/],
      ['1 0 a 1\n1 a', TSV, /j:2: expected `query 0 document grade`\.$/],
      ['1 0 a 1\r\n\r\n1 0 b -2', TSV, /j:3: the grade -2 is below 0; 0 means/],
      ['1 0 a 1\n1 0 b 1\n1 0 a 1', TSV, /j:3: the document a is judged twice .* line 1\.$/],
      [QRELS, '1\tx\n2\ty\n1\tz', /q:3: the query 1 is also in line 1\.$/],
      [QRELS, '1\tx\n2', /q:2: expected an id, a tab and a query\.$/],
      [QRELS, '1\tx\n2\t ', /q:2: expected an id, a tab and a query\.$/],
      [QRELS, '{"id":1}', /q:1: expected a text `q`\.$/],
      [QRELS, '{"q":"a","id":true}', /q:1: `id` must be a text or a number\.$/],
      [QRELS, '{"q":"a","search":3}', /q:1: `search` must be an object/],
      [QRELS, '{"q":"a","search":{"limit":3}}', /q:1: `search` may not set `limit`\.$/],
      ['{"id":1,"relevant":[1]}\n{"id":2', TSV, /j:2: this is not a JSON object\.$/],
      ['{"id":1,"relevant":[1]}\n[1]', TSV, /j:2: this is not a JSON object\.$/],
      ['{"id":1}', TSV, /j:1: expected `judgements`, `relevant` or `document`\.$/],
      ['{"id":1,"judgements":{"a":"1"}}', TSV, /j:1: the grade of the document a is not/],
      ['{"id":1,"relevant":[1,1]}', TSV, /j:1: the document 1 is judged twice/],
      ['{"id":1,"relevant":[null]}', TSV, /j:1: `relevant` must be a text or a number/],
      ['7 0 a 1', TSV, /No query has a document that .*j judges relevant/],
      ['1 0 a 0', TSV, /No query has a document that .*j judges relevant/],
      [Buffer.from([0x31, 0x20, 0xff]), TSV, /j:1: this is not UTF-8/],
      [Buffer.from('1 0 a 1', 'utf16le'), TSV, /j is UTF-16/],
    ];
    for (const [judgements, queries, message] of faults) {
      assert.throws(() => read(judgements, queries), { name: 'FileError', message });
    }
    assert.throws(() => readLines(join(dir, 'none')), /there is no such file/);
  });

  it('leave out, and name, what cannot be measured', () => {
    const { queries, notes, documents } = read(
      '1 0 a 1\n1 0 b 0\n2 0 a 0\n8 0 a 1',
      '1\tx\n2\ty\n3\tz\n4\tz\n5\tz\n6\tz\n7\tz\n9\tz',
    );
    assert.deepEqual(
      queries.map(({ id }) => id),
      ['1'],
    );
    assert.equal(notes.length, 3);
    assert.match(notes[0]!, /^6 queries without judgements left out: 3 \(.*q:3\), .* and 1 more$/);
    assert.match(notes[1]!, /^1 query without a relevant document left out: 2 \(.*q:2\)$/);
    assert.match(notes[2]!, /^1 query judged that no file of queries has: 8 \(.*j:4\)$/);
    assert.deepEqual([...documents.keys()], ['a', 'b']);
  });
});

describe('The ways of an evaluation', () => {
  const none = { search: null, with: null, withIndex: null, settings: null, sweep: null };
  const ways = (given: Partial<WayOptions>) => waysOf({ index: 'a', ...none, ...given });

  it('are the index as it is, and what is compared', () => {
    assert.deepEqual(ways({}), [{ name: 'present', index: 'a', search: {}, settings: null }]);
    assert.deepEqual(ways({ search: '{"sort":["b"]}', with: '{"x":1}', withIndex: 'b' })[1], {
      name: 'changed',
      index: 'b',
      search: { sort: ['b'], x: 1 },
      settings: null,
    });
    assert.deepEqual(ways({ settings: '{"stopWords":[]}' })[1]!.settings, { stopWords: [] });
  });

  it('are all combinations of a sweep', () => {
    const found = ways({
      search: '{"hybrid":{"embedder":"m"}}',
      sweep:
        'hybrid.semanticRatio=0.3,0.5; matchingStrategy=all,last;settings.stopWords=["a","b"],[]',
    });
    assert.equal(found.length, 9);
    assert.deepEqual(found[1], {
      name: 'hybrid.semanticRatio=0.3, matchingStrategy=all, settings.stopWords=["a","b"]',
      index: 'a',
      search: { hybrid: { embedder: 'm', semanticRatio: 0.3 }, matchingStrategy: 'all' },
      settings: { stopWords: ['a', 'b'] },
    });
    assert.deepEqual(found[8]!.settings, { stopWords: [] });
  });

  it('are refused with the option', () => {
    const faults: [Partial<WayOptions>, RegExp][] = [
      [{ search: 'x' }, /`x` for search/],
      [{ with: '[1]' }, /for with/],
      [{ settings: '3' }, /for settings/],
      [{ search: '{"limit":3}' }, /--search may not set `limit`/],
      [{ with: '{"q":"a"}' }, /--with may not set `q`/],
      [{ sweep: 'offset=1,2' }, /--sweep may not set `offset`/],
      [{ sweep: '0.3,0.5' }, /for sweep/],
      [{ sweep: 'a=1,1' }, /names a value twice/],
      [{ sweep: 'a=1,2,3,4,5,6,7,8; b=1,2,3,4,5,6,7' }, /56 ways; at most 49/],
    ];
    for (const [given, message] of faults) {
      assert.throws(() => ways(given), { name: 'BadOption', message });
    }
  });
});

describe('An evaluation', () => {
  const queries = ['a', 'b', 'c'].map((id) => ({
    id,
    q: `query | ${id}`,
    search: {},
    grades: new Map([['1', 1]]),
  }));
  const hits = new Map([
    ['present', [['1', '2'], ['2', '1'], ['3']]],
    ['changed', [['2', '1'], ['1', '2'], ['1']]],
  ]);
  const evaluation = evaluate(queries, hits, { depths: { page: 2, recall: 2 }, seed: 1 });
  const ways = ['present', 'changed'].map((name) => ({
    name,
    index: 'i',
    search: {},
    settings: null,
  }));
  const reported = { evaluation, ways, notes: ['one note'], seed: 1 };

  it('counts and names the queries that gained and lost', () => {
    const [{ better, worse, same }] = evaluation.differences as [
      (typeof evaluation.differences)[0],
    ];
    assert.deepEqual([better, worse, same], [2, 1, 0]);
    assert.deepEqual(
      evaluation.changes!.gained.map(({ query }) => query.id),
      ['c', 'b'],
    );
    assert.deepEqual(
      evaluation.changes!.lost.map(({ query, by }) => [query.id, by.toFixed(3)]),
      [['a', '-0.369']],
    );
    assert.equal(evaluation.ways[0]!.withoutJudged, 1);
  });

  it('is written as text, Markdown and JSON, the same each time', () => {
    const text = textReport(reported);
    assert.match(text, /^3 queries of i, pages of 2, recall among 2\n\n +nDCG@2 +MRR@2 +recall@2/);
    assert.match(text, /^changed +0\.877 \[0\.631, 1\.000\] +0\.833 /m);
    assert.match(text, /^changed +\+0\.333 \[-0\.369, \+1\.000\] +2 +1 +0 +may be chance$/m);
    assert.match(text, /^Lost most by changed\nnDCG@2 +id +query\n-0\.369 +a +query \| a$/m);
    const markdown = markdownReport(reported);
    assert.match(markdown, /^# Relevance of i\n/);
    assert.match(markdown, /^- one note$/m);
    assert.match(markdown, /^\| a \| query \\\| a \| 1\.000 \| 0\.631 \|$/m);
    const again = evaluate(queries, hits, { depths: { page: 2, recall: 2 }, seed: 1 });
    assert.equal(markdownReport({ ...reported, evaluation: again }), markdown);
    const json = JSON.parse(jsonReport(reported));
    assert.deepEqual(json.ways[1].ndcg, { mean: 0.876977, low: 0.63093, high: 1 });
    assert.equal(json.ways[0].difference, null);
    assert.equal(json.ways[1].difference.better, 2);
    assert.deepEqual(json.queries[0].ways[1], {
      ndcg: 0.63093,
      mrr: 0.5,
      recall: 1,
      coverage: 0.5,
    });
  });
});

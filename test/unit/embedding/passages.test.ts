import assert from 'node:assert/strict';
import { choosePassages } from '../../../src/embedding/choose-passages.ts';
import { type Cut, passagesOf, tokensOf } from '../../../src/embedding/passages.ts';
import { hitsForRequest, passagesForRequest } from '../../../src/embedding/render-request.ts';
import { Renderer, type RenderedRow } from '../../../src/embedding/render.ts';
import { passageSearch } from '../../../src/search/passage-search.ts';
import { mulberry } from '../../support/random.ts';

const SENTENCE = 'The quick brown fox jumps over the lazy dog again. ';

describe('Passages of a text', () => {
  const texts = (text: string, cut: Partial<Cut> = {}): string[] =>
    passagesOf(text, { maxTokens: 16, overlap: 0, max: 255, ...cut }).map((one) => one.text);

  const ROWS: [name: string, text: string, cut: Partial<Cut>, expected: string[]][] = [
    ['nothing', '', {}, []],
    ['only white space', ' \n\t ', {}, []],
    ['a short text', ' One. Two. ', {}, ['One. Two.']],
    [
      'sentences that do not fit together',
      'A'.repeat(40) + '. ' + 'B'.repeat(40) + '.',
      {},
      [`${'A'.repeat(40)}.`, `${'B'.repeat(40)}.`],
    ],
    [
      'an overlap',
      'Aaaa aaaa aaaa aaaa. Bbbb bbbb bbbb bbbb. Cccc cccc cccc cccc. Dddd.',
      { overlap: 1 },
      [
        'Aaaa aaaa aaaa aaaa. Bbbb bbbb bbbb bbbb. Cccc cccc cccc cccc.',
        'Cccc cccc cccc cccc. Dddd.',
      ],
    ],
    [
      'an overlap that would fill more than half',
      'A'.repeat(50) + '. ' + 'B'.repeat(30) + '.',
      { overlap: 1 },
      [`${'A'.repeat(50)}.`, `${'B'.repeat(30)}.`],
    ],
    [
      'no more than allowed',
      'A. '.repeat(100),
      { max: 2 },
      ['A. '.repeat(21).trim(), 'A. '.repeat(21).trim()],
    ],
    [
      'a long sentence at its words',
      'word '.repeat(20),
      {},
      ['word '.repeat(12).trim(), 'word '.repeat(8).trim()],
    ],
    [
      'white space at the end, which repeats no sentence',
      `Aaaa aaaa aaaa aaaa. Bbbb bbbb bbbb bbbb.\n${' '.repeat(30)}`,
      { overlap: 1 },
      ['Aaaa aaaa aaaa aaaa. Bbbb bbbb bbbb bbbb.'],
    ],
    [
      'words up to the last passage',
      'seven! '.repeat(40).trim(),
      { max: 1 },
      ['seven! '.repeat(9).trim()],
    ],
    [
      'a long sentence up to its last passage',
      'seven '.repeat(40),
      { max: 1 },
      ['seven '.repeat(10).trim()],
    ],
    ['a long word at its characters', 'é'.repeat(40), {}, ['é'.repeat(32), 'é'.repeat(8)]],
  ];
  for (const [name, text, cut, expected] of ROWS) {
    it(`are of ${name}`, () => assert.deepEqual(texts(text, cut), expected));
  }

  it('have bytes of the text, fit, and contain every word', () => {
    const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
    const random = mulberry(seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
    for (let round = 0; round < 300; round++) {
      const pieces = [
        'a ',
        'é',
        '漢字',
        '。',
        '. ',
        '! ',
        '\n',
        '😀',
        'word',
        ' ',
        '\n \n'.repeat(9),
        'Dr. ',
        '1.5 ',
        '? "x" ',
      ];
      const text = Array.from({ length: Math.floor(random() * 200) }, () => pick(pieces)).join('');
      const cut = { maxTokens: pick([16, 20, 40]), overlap: pick([0, 1, 3]), max: 255 };
      const message = `seed ${seed}: ${JSON.stringify({ text, cut })}`;
      const bytes = Buffer.from(text);
      const covered = new Uint8Array(bytes.length);
      let [last, lastEnd] = [-1, 0];
      for (const { text: part, start, length } of passagesOf(text, cut)) {
        assert.equal(bytes.toString('utf8', start, start + length), part, message);
        assert.ok(length <= cut.maxTokens * 4 && part.trim() === part && part !== '', message);
        assert.ok(start > last && start + length > lastEnd, message);
        [last, lastEnd] = [start, start + length];
        covered.fill(1, start, start + length);
      }
      const left = Buffer.from(bytes.filter((_, at) => covered[at] === 0)).toString();
      assert.equal(left.trim(), '', message);
    }
  });

  it('read no more of a long text than they can hold', () => {
    const cut = { maxTokens: 16, overlap: 10, max: 255 };
    assert.equal(passagesOf('x. '.repeat(3_000_000), cut).length, 255);
  });
});

describe('Rows of passages', () => {
  const renderer = new Renderer({
    searchable: null,
    ignoreFaults: false,
    embedders: [
      {
        kind: 'template',
        template: '{{ doc.title }}: {{ doc.body.text }}',
        bytesMax: 10,
        chunks: { attribute: 'body.text', maxTokens: 16, overlap: 0, max: 255 },
      },
      { kind: 'template', template: '{{ doc.body.text }}', bytesMax: 1000 },
    ],
  });
  const rows = (doc: object, want: unknown[], old?: object): (RenderedRow[] | null)[] => {
    const rendered = renderer.render(JSON.stringify([{ id: 1, doc, want, ...(old && { old }) }]));
    assert.ok(rendered.kind === 'rows');
    return rendered.rows[0]!;
  };
  const document = (text: unknown): object => ({ title: 'T', body: { text } });
  const long = SENTENCE.repeat(2).trim();

  it('are rendered with the passage in place of the text, which others see whole', () => {
    const [passages, whole] = rows(document(long), [
      [0, 1, []],
      [1, 1, []],
    ]);
    assert.deepEqual(
      passages!.map(({ fragment, input }) => [fragment, input!.value]),
      [
        [0, `T: ${SENTENCE.trim()}`],
        [1, `T: ${SENTENCE.trim()}`],
      ],
    );
    assert.equal(whole![0]!.input!.value, long);
  });

  it('are of the whole document where there is no text', () => {
    for (const text of [null, 5, '', ' ', ['a'], { x: 'a' }]) {
      const [[row]] = rows(document(text), [[0, 1, []]]) as [RenderedRow[]];
      assert.match(String(row!.input!.value), /^T: /, JSON.stringify(text));
    }
  });

  it('stay as far as their text does', () => {
    const first = rows(document(long), [[0, 1, []]])[0]!;
    const stored = first.map(({ fragment, hash, span }) => [fragment, hash, ...span]);
    assert.equal(rows(document(long), [[0, 0, stored]])[0], null);
    // Those of older versions learn where they are.
    const older = rows(document(long), [[0, 0, stored.map((row) => row.slice(0, 2))]])[0];
    assert.deepEqual(
      older,
      first.map((row, kept) => ({ ...row, input: null, kept })),
    );
    const longer = rows(document(`${long} And one more.`), [[0, 0, stored]])[0]!;
    assert.deepEqual(
      longer.map(({ fragment, input }) => [fragment, input?.value ?? 'kept']),
      [
        [0, 'kept'],
        [1, `T: ${SENTENCE}And one more.`],
      ],
    );
    // What moves is kept, with its new place.
    const before = 'Another begins the whole text here now. ';
    const moved = rows(document(before + long), [[0, 0, stored]])[0]!;
    assert.deepEqual(
      moved.map(({ span: [start], input }) => [start, input?.value ?? 'kept']),
      [
        [0, `T: ${before.trim()}`],
        [before.length, 'kept'],
        [before.length + SENTENCE.length, 'kept'],
      ],
    );
    // One passage less.
    const fewer = rows(document(SENTENCE.trim()), [[0, 0, stored]])[0]!;
    assert.deepEqual(
      fewer.map(({ input }) => input),
      [null],
    );
    // Without the hashes of what is stored, the text before decides.
    const unknown = stored.map(([fragment]) => [fragment, '0']);
    assert.equal(rows(document(long), [[0, 0, unknown]], document(long))[0], null);
    assert.notEqual(rows(document(long), [[0, 0, unknown]], document('old'))[0], null);
  });
});

describe('Passages for a model', () => {
  const text = (words: string, count: number): string => `${words} `.repeat(count).trim();
  /** A hit that names each sentence as a passage, with its score. */
  const hit = (id: number, ...sentences: [string, number][]): Record<string, unknown> => {
    const whole = sentences.map(([sentence]) => sentence).join(' ');
    const named = sentences.map(([sentence, score]) => ({
      attribute: 'text',
      start: whole.indexOf(sentence),
      length: sentence.length,
      score,
      text: sentence,
    }));
    return { id, text: whole, _passages: named.sort((a, b) => b.score - a.score) };
  };
  const filled = (word: string): string => `${word} ${text(`${word}ly`, 4)} end of ${word} now.`;
  const choose = (hits: Record<string, unknown>[], maxTokens: number) =>
    choosePassages(hits, { primaryKey: 'id', maxTokens }).map(({ passage }) => passage);
  const ids = (hits: Record<string, unknown>[], maxTokens: number): unknown[] =>
    choose(hits, maxTokens).map(({ id }) => id);

  it('are the nearest of each document, and second ones later', () => {
    const hits = [
      hit(1, [filled('Apple'), 0.1], [filled('Pear'), 0.8]),
      hit(2, [filled('Plum'), 0.5]),
      hit(3, [filled('Fig'), 0.9]),
    ];
    const found = choose(hits, 1_000);
    assert.deepEqual(
      found.map(({ id, text: cited }) => [id, cited.split(' ')[0]]),
      [
        [1, 'Pear'],
        [2, 'Plum'],
        [3, 'Fig'],
        [1, 'Apple'],
      ],
    );
    assert.equal(found[0]!.score, 0.8);
    const { start, length, text: cited } = found[0]!;
    assert.equal(Buffer.from(String(hits[0]!.text)).toString('utf8', start, start + length), cited);
  });

  it('fit the budget; one that does not is left out', () => {
    const hits = [hit(1, ['Short one.', 0.5]), hit(2, [filled('Pear'), 0.5]), hit(3, ['Figs.', 0])];
    assert.deepEqual(ids(hits, 8), [1, 3]);
  });

  it('are the best one up to the end of a sentence or a word where it does not fit', () => {
    const long = { id: 1, text: `Zürich is a city. ${filled('Pear')}` };
    const hits = [long, { id: 2, text: 'Figs.' }];
    for (const [maxTokens, expected] of [
      [5, 'Zürich is a city.'],
      [4, 'Zürich is a'],
      [2, 'Zürich'],
      [1, 'Zür'],
    ] as const) {
      const found = choose(hits, maxTokens);
      const length = Buffer.byteLength(expected);
      assert.deepEqual(
        found.map((one) => [one.id, one.start, one.length, one.tokens, one.text]),
        [[1, 0, length, tokensOf(expected), expected]],
      );
    }
  });

  it('do not repeat each other', () => {
    const hits = [
      hit(1, ['The same words.', 0.5]),
      hit(2, ['The SAME words!', 0.5]),
      hit(3, ['Others.', 0.5]),
    ];
    assert.deepEqual(ids(hits, 100), [1, 3]);
  });

  it('are those with words of the query where hits name none', () => {
    const body = `${text('filler', 130)}. The whale swims. ${text('padding', 130)}.`;
    const start = body.indexOf('whale');
    const whale = {
      id: 7,
      title: 'whale',
      body,
      _matchesPosition: { title: [{ start: 0, length: 5 }], body: [{ start, length: 5 }] },
    };
    const [first] = choose([whale], 1_000);
    assert.equal(first!.attribute, 'body');
    assert.match(first!.text, /The whale swims/);
    const { start: at, length, text: cited } = first!;
    assert.equal(Buffer.from(body).toString('utf8', at, at + length), cited);
  });

  it('are not what a document has in a field of the same name', () => {
    const text = 'A whale sings.';
    const one = { attribute: 'text', start: 0, length: 7, text: 'A whale' };
    const given = ['mine', [null], [5], [{ ...one, text: 5 }], [{ ...one, attribute: 'title' }]];
    for (const _passages of [...given, [{ ...one, text: 'A shark' }], [{ ...one, start: '0' }]]) {
      const [{ id, attribute, text: cited } = {}] = choose([{ id: 1, text, _passages }], 100);
      assert.deepEqual([id, attribute, cited], [1, 'text', text], JSON.stringify(_passages));
    }
    assert.equal(choose([{ id: 1, text, _passages: [{ ...one, id: 2 }] }], 100)[0]!.id, 1);
  });

  it('are of nested texts and of lists, too', () => {
    const cited = (document: object): unknown[] =>
      choose([{ id: 1, ...document }], 100).map((one) => [one.attribute, one.indices, one.text]);
    const body = { text: 'Below it.' };
    assert.deepEqual(cited({ body, t: 'x' }), [['body.text', undefined, 'Below it.']]);
    const parts = ['First.', 'A whale sings.', 'Whales and ships sing.', 'Last.'];
    // The engine has the positions of the last text only.
    const _matchesPosition = {
      'body.parts': [
        { start: 0, length: 5, indices: [1, 2] },
        { start: 11, length: 4, indices: [1, 2] },
      ],
    };
    const lists = { body: [{ parts: ['Other.'] }, { parts }], _matchesPosition };
    assert.deepEqual(cited(lists), [
      ['body.parts', [1, 2], 'Whales and ships sing.'],
      ['body.parts', [1, 1], 'A whale sings.'],
    ]);
  });

  it('come from a search by ranks, also where null is given', () => {
    const request = { q: 'whale', hybrid: { embedder: 'e', fusion: null } };
    const { hybrid } = passageSearch(request, {});
    assert.deepEqual(hybrid, { embedder: 'e', fusion: 'rrf' });
  });

  it('name ids that JavaScript does not represent', () => {
    const result = Buffer.from(
      '{"hits":[{"id":9007199254740993,"score":0.30000000000000004,"t":"a whale"},{"id":"9007199254740993","t":"cats"}]}',
    );
    const found = passagesForRequest({ result, primaryKey: 'id', maxTokens: 100 });
    assert.deepEqual(
      found.passages.map(({ id }) => id),
      [9_007_199_254_740_993n, '9007199254740993'],
    );
    const hits = hitsForRequest(result, 'id');
    assert.deepEqual(hits.ids, ['9007199254740993', '9007199254740993']);
    assert.equal(
      hits.documents[0],
      '{"id":9007199254740993,"score":0.30000000000000004,"t":"a whale"}',
    );
  });

  it('are none of documents without text, and without an id where it is not displayed', () => {
    assert.deepEqual(choose([{ id: 1 }, { id: 2, n: 5 }], 100), []);
    assert.deepEqual(ids([{ text: 'some' }], 100), [null]);
  });
});

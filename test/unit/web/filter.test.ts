/** Filters on the page: trees and their texts, and what an attribute may be filtered by. */
import assert from 'node:assert/strict';
import {
  arity,
  condition,
  filterable,
  filterText,
  operatorsFor,
  parseFilter,
  type Filter,
  type Operator,
} from '../../../src/web/filter.ts';
import { mulberry } from '../../support/random.ts';

const OPERATORS: readonly Operator[] = [
  ...(['=', '!=', '>', '>=', '<', '<=', 'TO', 'IN', 'NOT IN', 'EXISTS', 'NOT EXISTS'] as const),
  ...(['IS NULL', 'IS NOT NULL', 'IS EMPTY', 'IS NOT EMPTY', 'CONTAINS'] as const),
  ...(['NOT CONTAINS', 'STARTS WITH', 'NOT STARTS WITH'] as const),
];
const WORDS = [
  ...[
    'a',
    'year',
    'a.b',
    '-5',
    '1e3',
    '2026-01-31T10:00:00Z',
    'now',
    'now-7d',
    'now+90m',
    'é',
    '5',
  ],
  ...['two words', ' ', '"', "'", '\\', '\\"', 'a"b', '[x]', '(y)', 'a,b', 'a = b', '<', '日本'],
  ...[
    'AND',
    'OR',
    'NOT',
    'IN',
    'TO',
    'EXISTS',
    'NULL',
    'STARTS',
    '_geo',
    '_geoRadius',
    '_vectors.x',
  ],
  ...['\n', '\t', 'x\u0000', '🎈', 'now', '+', '!='],
];
const TEXTS = [
  '_geoRadius(45.4, -9.1, 2000)',
  '_geoBoundingBox([45.5, 9.2], [45.4, 9.1])',
  '_geoPolygon([1, 2], [3, 4], [5.5, -6])',
  'items[colour = red AND (size > 3 OR tags IN ["]", b])]',
  '_vectors.own EXISTS',
  '_vectors NOT EXISTS',
  '_foreign(author, name = "x)")',
];

describe('The text of a filter', () => {
  it('gives the tree again, whatever its names and values hold', () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const random = mulberry(seed);
    const below = (end: number): number => Math.floor(random() * end);
    const pick = <T>(values: readonly T[]): T => values[below(values.length)]!;
    const tree = (depth: number): Filter => {
      const not = random() < 0.3;
      const kind = random();
      if (kind < 0.15) return { kind: 'text', not, text: pick(TEXTS) };
      if (kind < 0.6 || depth > 3) {
        const operator = pick(OPERATORS);
        const values = Array.from({ length: arity(operator) ?? 1 + below(3) }, () => pick(WORDS));
        const names = WORDS.filter((word) => word !== 'now+90m');
        return { ...condition(pick(names), operator, values), not };
      }
      const parts = Array.from({ length: 2 + below(3) }, () => tree(depth + 1));
      return { kind: pick(['all', 'any']), not, parts };
    };
    for (let round = 0; round < 3000; round++) {
      const filter = tree(0);
      const text = filterText(filter);
      assert.deepEqual(parseFilter(text), filter, `seed ${seed}: ${text}`);
    }
  });

  it('may be written in other ways', () => {
    for (const [text, same] of [
      ["a='it\\'s'", `a = "it's"`],
      ['a=1 AND b=2 OR NOT NOT c=3', '(a = 1 AND b = 2) OR c = 3'],
      ['((a = 1))', 'a = 1'],
      ['NOT (a = 1 AND b EXISTS)', 'NOT (a = 1 AND b EXISTS)'],
      ['year 1900 TO 2000', 'year 1900 TO 2000'],
      ['a IN[1,"b c",]', 'a IN [1, "b c"]'],
      ['\n', ''],
    ] as const) {
      assert.equal(filterText(parseFilter(text)), same);
    }
  });

  it('is edited as text where it has no tree', () => {
    const texts = ['a =', 'a = 1 b', '(a = 1', 'a = "x', 'a ~ 1', 'a IN []', 'a = ""', 'a NOT 1'];
    texts.push('a = "now+1d"', 'a = "\\u0041"', 'AND', '_geoRadius(1, 2', 'x[a = 1', 'a IS 1');
    for (const text of [...texts, `${'('.repeat(100_000)}a`]) {
      assert.throws(() => parseFilter(text), Error, text.slice(0, 20));
    }
  });

  it('leaves out what is not complete', () => {
    const open = condition('a', 'TO', ['1', '']);
    const whole = condition('b', 'IN', ['x']);
    const group: Filter = { kind: 'any', not: true, parts: [open, { ...whole, not: true }] };
    assert.equal(filterText({ kind: 'all', not: false, parts: [group, open] }), 'b IN [x]');
    assert.equal(filterText(open), '');
  });
});

describe('What an attribute may be filtered by', () => {
  const allowed = (setting: Parameters<typeof filterable>[0], fields: string[] = []) =>
    Object.fromEntries(filterable(setting, fields).map((one) => [one.attribute, one]));

  it('is decided by the first rule that covers it', () => {
    const found = allowed(
      [
        {
          attributePatterns: ['price*', 'x'],
          features: { filter: { equality: false, date: true } },
        },
        { attributePatterns: ['*'], features: { facetSearch: true } },
        'price_list',
      ],
      ['price_a', 'name', '_geo'],
    );
    assert.deepEqual(Object.keys(found).sort(), ['name', 'price_a', 'price_list', 'x']);
    assert.ok(found.price_a!.operators.includes('TO') && !found.price_a!.operators.includes('='));
    assert.ok(!found.name!.operators.includes('>') && found.name!.operators.includes('IN'));
    assert.deepEqual([found.x!.searchesValues, found.name!.searchesValues], [false, true]);
    assert.deepEqual(
      allowed([{ attributePatterns: ['a'], features: { filter: { equality: false } } }]),
      {},
    );
  });

  it('has no beginnings where it is a number', () => {
    const { a } = allowed(['a']);
    assert.ok(operatorsFor(a!, false).includes('STARTS WITH'));
    assert.ok(!operatorsFor(a!, true).includes('STARTS WITH'));
    assert.ok(operatorsFor(a!, true).includes('>='));
  });
});

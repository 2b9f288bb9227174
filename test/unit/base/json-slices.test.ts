/** JSON made in slices, compared with `JSON.stringify`. */
import assert from 'node:assert/strict';
import { jsonInSlices, jsonText, weightOf } from '../../../src/base/json-slices.ts';
import { RawJson } from '../../../src/base/json.ts';
import { mulberry } from '../../support/random.ts';

const MANY = 200_000;

const large: Record<string, unknown> = {
  'a text': 'x'.repeat(1_000_000),
  'a text of two bytes a unit': '漢字é'.repeat(300_000),
  'a text of pairs': '\u{1f600}'.repeat(400_000),
  'a text of pairs that begin at odd positions': 'a' + '\u{1f600}'.repeat(400_000),
  'a text of half pairs': '\ud83d'.repeat(300_000),
  'a text to be escaped': '"\\\n\u0000'.repeat(200_000),
  numbers: Array.from({ length: MANY }, (_, i) => i / 7),
  texts: Array.from({ length: 300 }, (_, i) => `${i}`.repeat(2000)),
  members: Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`k${i}`, [i]])),
  'a long name': { ['n'.repeat(500_000)]: 1, b: undefined, c: null },
  'nothing that is shown': { a: undefined, b: ['x'.repeat(500_000), undefined, null] },
  'large inside large': [[['x'.repeat(300_000)], {}], { a: ['y'.repeat(300_000), 1] }, 'z'],
};

describe('JSON in slices', () => {
  for (const [name, value] of Object.entries(large)) {
    it(`of ${name} is that of JSON.stringify, and lets others go on`, async () => {
      const expected = Buffer.from(JSON.stringify(value));
      let iterations = 0;
      let counting = true;
      const count = (): void => {
        iterations++;
        if (counting) setImmediate(count);
      };
      setImmediate(count);
      const made = await jsonInSlices(value);
      counting = false;
      assert.ok(made.equals(expected));
      assert.ok(
        iterations >= Math.floor(JSON.stringify(value).length / 1_000_000),
        `${iterations} iterations`,
      );
      assert.ok(iterations > 0, 'nobody else was served');
    });
  }

  it('is that of JSON.stringify for random values', async () => {
    const seed = Date.now() % 2 ** 31;
    console.log(`      seed ${seed}`);
    const random = mulberry(seed);
    const below = (n: number): number => Math.floor(random() * n);
    const value = (depth: number): unknown => {
      const kind = below(depth === 0 ? 4 : 6);
      if (kind === 0) return [null, true, -1.5, 1e300, 'é\u{1f600}"'][below(5)];
      if (kind < 3) return 'ab\u{1f600}'.repeat(below(3) === 0 ? below(60_000) : below(9));
      if (kind === 3) return below(1000);
      const members = Array.from({ length: below(5) }, () => value(depth - 1));
      return kind === 4 ? members : Object.fromEntries(members.map((one, i) => [`${i}"`, one]));
    };
    for (let i = 0; i < 200; i++) {
      const one = value(5);
      assert.equal((await jsonInSlices(one)).toString(), JSON.stringify(one));
      assert.equal((await jsonText(one)).toString(), JSON.stringify(one));
    }
  });

  it('takes in what is JSON already', async () => {
    const raw = new RawJson(Buffer.from('["is",  "as it was"]'));
    const made = await jsonInSlices({ q: 'x', filter: raw, list: [1, raw] });
    assert.equal(
      made.toString(),
      '{"q":"x","filter":["is",  "as it was"],"list":[1,["is",  "as it was"]]}',
    );
  });
});

describe('The weight of a value', () => {
  it('is about the length of its JSON, up to a bound', () => {
    for (const value of ['', 'abc', [1, 2, [3]], { a: { b: ['x'] } }, {}, [], null, true]) {
      const weight = weightOf(value, 1000);
      assert.ok(weight > 0 && weight <= JSON.stringify(value).length + 3, JSON.stringify(value));
    }
    assert.ok(weightOf(large.members, 1000) >= 1000);
    assert.ok(weightOf(large.numbers, 1000) >= 1000);
    assert.ok(weightOf({ a: new RawJson(Buffer.from('1')) }, 1000) >= 1000);
  });
});

import assert from 'node:assert/strict';
import {
  arrayElements,
  compareUtf8,
  JsonFloat,
  memberText,
  parseJson,
} from '../../../src/base/json.ts';
import { mulberry } from '../../support/random.ts';

function parse(text: string): ReturnType<typeof parseJson> {
  return parseJson(Buffer.from(text));
}

describe('JSON texts', () => {
  it('are told from broken ones with line and column', () => {
    const cases: [string, RegExp][] = [
      ['{"a": 1', /ends before/],
      ['{"a": 1,\n "b" 2}', /line 2, column 6/],
      ['{"q": "x"} trailing', /line 1, column 12/],
      [' ', /ends before/],
      ['{"a": x}', /"x" at line 1, column 7/],
      ['{"a": "}",\n "b": tru }', /"t" at line 2, column 7/],
      ['[1,,2]', /"," at line 1, column 4/],
      ['[1,2,]', /"]" at line 1, column 6/],
      ['{"a" 1, "b": nope, "c": "a longer text than is shown of a fault"}', /column 6/],
      ['nope', /"n" at line 1, column 1/],
      ['"cut', /ends before/],
      ['{"a": [1, 2', /ends before/],
    ];
    for (const [text, reason] of cases) {
      const outcome = parse(text);
      assert.ok(!outcome.ok, text);
      assert.match(outcome.error, reason, text);
    }
  });

  it('that are not UTF-8 are refused', () => {
    assert.ok(!parseJson(Buffer.from([0x22, 0xc3, 0x28, 0x22])).ok);
  });

  it('may be nested 128 levels deep and no deeper', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    assert.ok(parse(nested(128)).ok);
    assert.ok(!parse(nested(129)).ok);
    assert.ok(parse(JSON.stringify('['.repeat(1000))).ok, 'brackets inside a string do not count');
  });

  it('mark numbers that are not written as integers of 64 bits', () => {
    const outcome = parse('{"a":2.0,"b":1e1,"c":18446744073709551616,"d":[7,{"e":-3}],"f":"2.0"}');
    assert.ok(outcome.ok);
    assert.deepEqual(outcome.value.value, {
      a: 2,
      b: 10,
      c: 18446744073709551616,
      d: [7, { e: -3 }],
      f: '2.0',
    });
    assert.deepEqual(outcome.value.marked, {
      a: new JsonFloat(2),
      b: new JsonFloat(10),
      c: new JsonFloat(18446744073709551616),
      d: [7, { e: -3 }],
      f: '2.0',
    });
  });

  it('are not read twice when every member is an ordinary number', () => {
    for (const text of ['{"limit":20,"vector":[0.5,1e-3,2.0]}', '{"a":1.5,"b":18446744}']) {
      const outcome = parse(text);
      assert.ok(outcome.ok);
      assert.equal(outcome.value.marked, outcome.value.value, text);
    }
  });

  it('give the raw text of array elements', () => {
    const text = ' [ 18446744073709551615 , "a,]\\"" , {"b":[1,2]},[ ] ,1.0]';
    assert.deepEqual(arrayElements(text), [
      '18446744073709551615',
      '"a,]\\""',
      '{"b":[1,2]}',
      '[ ]',
      '1.0',
    ]);
    assert.deepEqual(arrayElements('[]'), []);
    assert.deepEqual(arrayElements('[ ]'), []);
  });

  it('give the raw text of a member, the last one when it occurs twice', () => {
    assert.equal(
      memberText('{"id":1, "x":{"id":9}, "id" : 18446744073709551615 }', 'id'),
      '18446744073709551615',
    );
    assert.equal(memberText('{"x":"id"}', 'id'), undefined);
  });
});

describe('Comparing texts', () => {
  it('agrees with the order of their UTF-8 bytes', () => {
    const seed = Date.now() % 2 ** 31;
    console.log(`      seed ${seed}`);
    const random = mulberry(seed);
    const alphabet = ['a', 'Z', 'é', 'z', '\ue000', '\uffff', '😀', '𐀀', ''];
    const word = (): string =>
      Array.from(
        { length: Math.floor(random() * 4) },
        () => alphabet[Math.floor(random() * alphabet.length)],
      ).join('');
    for (let i = 0; i < 5000; i++) {
      const [a, b] = [word(), word()];
      const expected = Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      assert.equal(Math.sign(compareUtf8(a, b)), expected, JSON.stringify([a, b]));
    }
  });
});

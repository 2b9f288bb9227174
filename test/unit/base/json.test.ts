import assert from 'node:assert/strict';
import {
  compareUtf8,
  ExcessiveJson,
  JSON_CONTAINERS_MAX,
  parseResponse,
  exactText,
  JsonNumber,
  jsonString,
  parseJson,
  plainNumbers,
  RawJson,
  sortUtf8,
} from '../../../src/base/json.ts';
import { mulberry } from '../../support/random.ts';

function parse(text: string): ReturnType<typeof parseJson> {
  return parseJson(Buffer.from(text));
}

describe('JSON texts', () => {
  it('are distinguished from broken ones with line and column', () => {
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

  it('with half a character are refused, in texts and in names', () => {
    const halves = ['\\ud800', '\\udC00', '\\uD800\\u0041', '\\ud800 \\udc00', '\\udbff\\ud800'];
    for (const half of halves) {
      for (const around of [half, `a${half}`, `${half}b`, `\\ud83d\\ude00${half}`, `\\\\${half}`]) {
        for (const text of [`["${around}"]`, `{"${around}": 1.0}`]) {
          const outcome = parse(text);
          assert.ok(!outcome.ok, text);
          assert.match(outcome.error, /^half a character at line 1, column \d+$/);
        }
      }
    }
    const second = parse('["a",\n "b\\udfff"]');
    assert.ok(!second.ok);
    assert.match(second.error, /line 2, column 4$/);
    for (const whole of ['\\ud83d\\ude00', '\\uD83D\\uDE00\\\\ud800', '\\\\ud800', '\\u0000']) {
      assert.ok(parse(`["${whole}"]`).ok, whole);
    }
  });

  it('that are not UTF-8 are refused', () => {
    assert.ok(!parseJson(Buffer.from([0x22, 0xc3, 0x28, 0x22])).ok);
  });

  it('may be nested 128 levels deep and no deeper', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    assert.ok(parse(nested(128)).ok);
    assert.ok(!parse(nested(129)).ok);
    const mixed = (pairs: number): string => '[{"a":'.repeat(pairs) + '0' + '}]'.repeat(pairs);
    assert.ok(parse(mixed(64)).ok);
    assert.ok(!parse(mixed(65)).ok);
    assert.ok(parse(JSON.stringify(['['.repeat(300), '{'.repeat(300)])).ok);
    assert.ok(parse(JSON.stringify('['.repeat(1000))).ok, 'brackets inside a string do not count');
  });

  const numbers = '{"a":2.0,"b":1e1,"c":18446744073709551616,"d":[7,{"e":-3}],"f":"2.0","g":0.5}';

  it('mark numbers whose value does not show how they are written', () => {
    const outcome = parse(numbers);
    assert.ok(outcome.ok);
    assert.deepEqual(outcome.value, {
      a: new JsonNumber('2.0'),
      b: new JsonNumber('1e1'),
      c: new JsonNumber('18446744073709551616'),
      d: [7, { e: -3 }],
      f: '2.0',
      g: 0.5,
    });
    assert.deepEqual(plainNumbers(outcome.value), JSON.parse(numbers));
    assert.ok(new JsonNumber('18446744073709551615').isInteger);
    for (const text of ['18446744073709551616', '-9223372036854775809', '2.0', '1e1']) {
      assert.ok(!new JsonNumber(text).isInteger, text);
    }
  });

  it('have only plain numbers in arrays, unless they are read exactly', () => {
    const text = '{"vector":[0.5,1e-3,2.0,18446744073709551615]}';
    const plain = parse(text);
    assert.ok(plain.ok);
    assert.deepEqual(plain.value, JSON.parse(text));
    const exact = parseJson(Buffer.from(text), { exact: true });
    assert.ok(exact.ok);
    const { vector } = exact.value as { vector: unknown[] };
    assert.deepEqual(vector.map(exactText), ['0.5', '1e-3', '2.0', '18446744073709551615']);
  });

  it('keep the last of equal names, and names that mean something elsewhere', () => {
    const outcome = parse('{"n":1.0,"__proto__":{"a":1},"x":1,"x":2}');
    assert.ok(outcome.ok);
    assert.deepEqual(Object.keys(outcome.value as object), ['n', '__proto__', 'x']);
    assert.equal((outcome.value as { x: number }).x, 2);
  });

  it('are read alike in both ways', () => {
    const seed = Date.now() % 2 ** 31;
    console.log(`      seed ${seed}`);
    const random = mulberry(seed);
    const below = (end: number): number => Math.floor(random() * end);
    const space = (): string => ['', '', ' ', '\n', '\t\r'][below(5)]!;
    const text = (): string => JSON.stringify(['', 'a"b', '\\', '[{', 'é😀', '\u0001'][below(6)]);
    const value = (depth: number): string => {
      const list = (one: () => string): string =>
        Array.from({ length: below(4) }, () => space() + one() + space()).join(',');
      switch (below(depth > 3 ? 4 : 6)) {
        case 0:
          return text();
        case 1:
          return ['0', '-0', '12', '1.5', '2.0', '1e3', '-7E-2', '98446744073709551616'][below(8)]!;
        case 2:
          return ['true', 'false', 'null'][below(3)]!;
        case 3:
          return '[]';
        case 4:
          return `[${list(() => value(depth + 1))}]`;
        default:
          return `{${list(() => `${text()}${space()}:${space()}${value(depth + 1)}`)}}`;
      }
    };
    for (let i = 0; i < 2000; i++) {
      let sent = space() + value(0) + space();
      if (below(3) === 0) {
        const at = below(sent.length);
        sent = sent.slice(0, at) + ['', ',', ']', '"', '1', 'x'][below(6)] + sent.slice(at + 1);
      }
      let expected: unknown;
      try {
        expected = { value: JSON.parse(Buffer.from(sent).toString()) };
      } catch {
        expected = null;
      }
      const outcome = parseJson(Buffer.from(sent), { exact: true });
      assert.equal(outcome.ok, expected !== null, sent);
      if (outcome.ok) assert.deepEqual({ value: plainNumbers(outcome.value) }, expected, sent);
    }
  });

  it('report the line of a fault after very many', () => {
    const outcome = parse(`${'\n'.repeat(1_000_000)}x`);
    assert.ok(!outcome.ok);
    assert.match(outcome.error, /line 1000001, column 1/);
  });

  it('have no more values than can be held', () => {
    const outcome = parse(`[${'[],'.repeat(1_000_000)}[]]`);
    assert.ok(!outcome.ok);
    assert.match(outcome.error, /more than 2000000 values/);
  });
});

describe('Responses of other servers', () => {
  const long = (begin: string, unit: string, count: number, end: string): Buffer =>
    Buffer.from(begin + unit.repeat(count) + end);

  it('are parsed, unless they would take much more memory than their bytes', () => {
    assert.equal((parseResponse(long('[', '0,', 3_000_000, '0]')) as unknown[]).length, 3_000_001);
    assert.equal((parseResponse(long('["', '{', 3_000_000, '"]')) as unknown[]).length, 1);
    assert.equal((parseResponse(long('[', '{},', 999_999, '{}]')) as unknown[]).length, 1_000_000);
    const refused: [Buffer, RegExp][] = [
      [long('[', '{},', JSON_CONTAINERS_MAX, '{}]'), /more than 2000000 objects and arrays/],
      [long('[', '[],', JSON_CONTAINERS_MAX, '[]]'), /more than 2000000 objects and arrays/],
      [long('', '[', 2_000_000, ''), /nested deeper than 128 levels/],
      [long('', '{"a":', 500_000, ''), /nested deeper than 128 levels/],
    ];
    for (const [bytes, reason] of refused) {
      assert.throws(
        () => parseResponse(bytes),
        (error) => error instanceof ExcessiveJson && reason.test(error.message),
      );
    }
    assert.throws(() => parseResponse(long('', 'x', 2_000_000, '')), SyntaxError);
  });

  it('take at most 32 times the memory of their bytes', () => {
    const count = 1_900_000;
    for (const [begin, unit, end] of [
      ['[', '{},', '0]'],
      ['[', '[],', '0]'],
      ['[', '[0],', '0]'],
      ['[', '{"a":{}},', '0]'],
      ['[', '0,', '0]'],
      ['[', '0.5,', '0]'],
      ['[', '"ab",', '0]'],
    ] as const) {
      const bytes = long(begin, unit, unit.length > 8 ? count / 2 : count, end);
      const before = process.memoryUsage();
      const value = parseResponse(bytes);
      const after = process.memoryUsage();
      const taken = after.heapUsed + after.external - before.heapUsed - before.external;
      assert.ok(taken <= 32 * bytes.length, `${unit}: ${taken / bytes.length} bytes a byte`);
      assert.ok(Array.isArray(value));
    }
  });
});

describe('Parts that stay text', () => {
  it('are written as they are, whatever is around them', () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    console.log(`      seed ${seed}`);
    const random = mulberry(seed);
    const below = (n: number): number => Math.floor(random() * n);
    const plain = (depth: number): unknown => {
      const kind = below(depth > 0 ? 6 : 4);
      if (kind === 0) return below(100);
      if (kind === 1) return null;
      if (kind < 4)
        return ['', '"', '\\', '漢é\u{1f600}', '{"a":[', 'x'.repeat(below(50))][below(6)];
      const members = Array.from({ length: below(4) }, () => plain(depth - 1));
      return kind === 4
        ? members
        : Object.fromEntries(members.map((member, n) => [`${n}"é`, member]));
    };
    /** The value, with some parts as text. */
    const apart = (value: unknown): unknown => {
      if (below(4) === 0) return new RawJson(JSON.stringify(value));
      if (Array.isArray(value)) return value.map(apart);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [name, apart(member)]),
      );
    };
    for (let n = 0; n < 500; n++) {
      const value = plain(4);
      const mixed = apart(value);
      assert.equal(jsonString(mixed), JSON.stringify(value));
      assert.deepEqual(JSON.parse(JSON.stringify(mixed)), value);
    }
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

  it('are sorted in the order of their bytes', () => {
    const seed = Date.now() % 2 ** 31;
    console.log(`      seed ${seed}`);
    const random = mulberry(seed);
    const parts = [
      '',
      'a',
      'b',
      'Z',
      '9',
      'é',
      '漢',
      '\ue000',
      '\uffff',
      '\u{1f600}',
      '\u{10ffff}',
    ];
    for (let i = 0; i < 300; i++) {
      const known = i % 2 === 0 ? parts.slice(0, 7) : parts;
      const texts = Array.from({ length: 20 }, () =>
        Array.from({ length: 3 }, () => known[Math.floor(random() * known.length)]!).join(''),
      );
      const expected = texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      assert.deepEqual(sortUtf8(texts), expected);
    }
  });
});

/** Positions of values in JSON compared with `JSON.parse`, over random texts. */
import assert from 'node:assert/strict';
import { JsonCursor } from '../../../src/base/json-cursor.ts';
import { elementsAt, membersAt, stringAt } from '../../../src/base/json-spans.ts';
import { mulberry } from '../../support/random.ts';

describe('Positions of values in JSON', () => {
  it('are those of the values that JSON.parse makes', () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 2 ** 32);
    const random = mulberry(seed);
    const below = (n: number): number => Math.floor(random() * n);
    const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
    const space = (): string => pick(['', '', '', ' ', '\n', '\t ', '\r\n']);
    const TEXTS = [
      '',
      'a',
      '\\',
      '"',
      '\\"',
      '}',
      ']',
      ',',
      ':',
      '{"a":[',
      'ü\u{1f600}',
      '\u0000',
      'a\\\\',
    ];

    /** A random value, written with random spaces. */
    const written = (depth: number): string => {
      const kind = depth === 0 ? 2 + below(3) : below(5);
      if (kind === 2) return JSON.stringify(pick(TEXTS) + pick(TEXTS));
      if (kind > 2)
        return pick(['0', '-12', '1.50', '1e3', 'true', 'false', 'null', '12345678901234567890']);
      const inside = Array.from({ length: below(4) }, (_, n) => {
        const value = space() + written(depth - 1) + space();
        return kind === 0
          ? value
          : `${space()}${JSON.stringify(`${n}${pick(TEXTS)}`)}${space()}:${value}`;
      }).join(',');
      return kind === 0 ? `[${inside || space()}]` : `{${inside || space()}}`;
    };

    const check = (text: string, begin: number, end: number, expected: unknown): void => {
      assert.deepEqual(JSON.parse(text.slice(begin, end)), expected);
      if (Array.isArray(expected)) {
        const elements = elementsAt(text, begin);
        assert.equal(elements.length, expected.length);
        elements.forEach((span, n) => check(text, span.begin, span.end, expected[n]));
      } else if (typeof expected === 'object' && expected !== null) {
        const members = membersAt(text, begin);
        assert.deepEqual(members.map(({ name }) => name).sort(), Object.keys(expected).sort());
        for (const { name, from, begin: at, end: to } of members) {
          assert.equal(text[from], '"');
          check(text, at, to, (expected as Record<string, unknown>)[name]);
        }
      } else if (typeof expected === 'string') {
        assert.equal(stringAt(text, { begin, end }), expected);
      }
    };

    for (let n = 0; n < 2000; n++) {
      const text = written(below(5));
      try {
        const behind = `${text}${pick(['', ',', ']', '}', ' '])}`;
        const cursor = new JsonCursor(behind);
        cursor.skip();
        assert.equal(cursor.at, text.length);
        check(behind, 0, text.length, JSON.parse(text));
      } catch (error) {
        throw new Error(`seed ${seed}: ${text}`, { cause: error });
      }
    }
  });
});

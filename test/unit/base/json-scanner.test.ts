import assert from 'node:assert/strict';
import { JsonScanner, MalformedJson } from '../../../src/base/json-scanner.ts';
import { mulberry } from '../../support/random.ts';

const SEED = 20251126;

function accepts(text: string): boolean {
  const scanner = new JsonScanner(Buffer.from(text));
  try {
    scanner.skip();
    scanner.end();
    return true;
  } catch (error) {
    assert.ok(error instanceof MalformedJson, String(error));
    return false;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('JsonScanner', () => {
  it(`passes over what JSON.parse reads, and over nothing else (seed ${SEED})`, () => {
    const random = mulberry(SEED);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
    const make = (depth: number): unknown => {
      const kind = Math.floor(random() * (depth > 3 ? 4 : 6));
      if (kind === 0) return pick(['', 'a"b', '\\', 'é\u2028', '\u0001', '{"x":1}', ',]']);
      if (kind === 1) return pick([0, -1.5, 1e300, 123456789, 5e-324]);
      if (kind <= 3) return pick([true, false, null]);
      const size = Math.floor(random() * 4);
      if (kind === 4) return Array.from({ length: size }, () => make(depth + 1));
      return Object.fromEntries(
        Array.from({ length: size }, () => [pick(['a', 'b"', '', 'ü']), make(depth + 1)]),
      );
    };
    for (let round = 0; round < 3000; round++) {
      const text = JSON.stringify(make(0), null, pick([0, 1]));
      assert.ok(accepts(text), text);
      const at = Math.floor(random() * text.length);
      const damaged =
        text.slice(0, at) +
        pick(['', ',', '"', '}', ']', '\\', '1', 'x', '\u0001', ':', '\\u12', '-']) +
        text.slice(at + Math.floor(random() * 2));
      assert.equal(accepts(damaged), parses(damaged), damaged);
    }
  });

  it('shows members and elements where they stand', () => {
    const scanner = new JsonScanner(Buffer.from(' {"a":[1,{"b":2}], "\\u0062" :"x","c":{}} '));
    const seen: unknown[] = [];
    scanner.object((name) => {
      if (name === 'a') scanner.array(() => seen.push(scanner.value()));
      else if (name === 'b') seen.push(name, scanner.value());
    });
    scanner.end();
    assert.deepEqual(seen, [1, { b: 2 }, 'b', 'x']);
  });

  it('refuses nesting without end', () => {
    assert.equal(accepts('['.repeat(100_000)), false);
  });
});

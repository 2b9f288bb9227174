import assert from 'node:assert/strict';
import { RawJson } from '../../../src/base/json.ts';
import { LONG_MARK, longApart, longTogether } from '../../../src/base/long-values.ts';
import { mulberry } from '../../support/random.ts';

describe('Long values', () => {
  it('are taken out of an object and put back, in the order of its members', () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    console.log(`      seed ${seed}`);
    const random = mulberry(seed);
    const below = (n: number): number => Math.floor(random() * n);
    const plain = (): unknown =>
      [7, null, 'long', [1, { a: null }], { long: { x: 1 } }, { 'a/b': 'é' }, [], {}][below(8)];
    const value = (): unknown => (below(3) === 0 ? new RawJson(JSON.stringify(plain())) : plain());
    const object = (member: () => unknown): Record<string, unknown> =>
      Object.fromEntries(Array.from({ length: below(5) }, (_, n) => [`m${n}`, member()]));
    for (let n = 0; n < 1000; n++) {
      const whole = object(() => (below(2) === 0 ? object(value) : value()));
      const { rest, long } = longApart(whole);
      const stored = JSON.stringify(rest);
      assert.equal(Buffer.from(stored).subarray(0, 9).equals(LONG_MARK), long.size > 0);
      assert.doesNotMatch(stored, /RawJson/);
      const again = longTogether(JSON.parse(stored), (path) => long.get(path)!.bytes);
      assert.equal(JSON.stringify(again), JSON.stringify(whole));
      assert.deepEqual([...longApart(again).long.keys()], [...long.keys()]);
    }
  });

  it('are named with their bytes, and have null instead', () => {
    const settings = { first: 1, synonyms: new RawJson('{"é":[]}'), stopWords: ['a'] };
    const { rest, long } = longApart({ type: 't', settings, context: new RawJson('2') });
    assert.equal(
      JSON.stringify(rest),
      '{"long":{"settings/synonyms":9,"context":1},"type":"t",' +
        '"settings":{"first":1,"synonyms":null,"stopWords":["a"]},"context":null}',
    );
    assert.equal(String(long.get('settings/synonyms')!.bytes), '{"é":[]}');
    assert.ok(settings.synonyms instanceof RawJson, 'the object stays as it is');
  });

  it('are none in an object without them, which is not copied', () => {
    const whole = { a: { b: 1 }, c: [new Date(0)] };
    assert.equal(longApart(whole).rest, whole);
  });
});

import assert from 'node:assert/strict';
import { humanSize, limitText, parseSize, shortSize } from '../../../src/base/size.ts';
import { editDistance, suggest } from '../../../src/base/suggest.ts';

describe('A suggestion', () => {
  const accepted = ['limit', 'offset', 'attributesToRetrieve', 'q'];

  it('is the nearest name within the distance its length allows', () => {
    assert.equal(suggest('limits', accepted), 'limit');
    assert.equal(suggest('attributeToRetreive', accepted), 'attributesToRetrieve');
    assert.equal(suggest('lmiit', accepted), 'limit', 'a transposition counts one');
    assert.equal(suggest('lmt', accepted), undefined, 'three bytes are too few');
    assert.equal(suggest('limiter', accepted), undefined, 'two edits are too many for seven bytes');
    assert.equal(suggest('offstes', accepted), undefined);
  });

  it('is the first of several that are equally near', () => {
    assert.equal(suggest('abcdx', ['abcde', 'abcdf']), 'abcde');
  });

  it('measures the edit distance like the recursive definition', () => {
    const naive = (a: string, b: string): number => {
      if (a === '' || b === '') return a.length + b.length;
      const options = [
        naive(a.slice(1), b) + 1,
        naive(a, b.slice(1)) + 1,
        naive(a.slice(1), b.slice(1)) + (a[0] === b[0] ? 0 : 1),
      ];
      if (a.length > 1 && b.length > 1 && a[0] === b[1] && a[1] === b[0]) {
        options.push(naive(a.slice(2), b.slice(2)) + 1);
      }
      return Math.min(...options);
    };
    const words = ['', 'a', 'ab', 'ba', 'abc', 'acb', 'cab', 'bca', 'aabb', 'abab', 'baba'];
    for (const a of words) {
      for (const b of words) assert.equal(editDistance(a, b), naive(a, b), `${a} ${b}`);
    }
  });
});

describe('A size', () => {
  it('is read with decimal and binary units', () => {
    const cases: [string, number | undefined][] = [
      ['4096', 4096],
      ['100 MB', 100_000_000],
      ['100MiB', 104_857_600],
      ['1.5 kib', 1536],
      ['1 gb', 1e9],
      ['', undefined],
      ['-1', undefined],
      ['10 parsecs', undefined],
    ];
    for (const [text, bytes] of cases) assert.equal(parseSize(text), bytes, text);
  });

  it('is shown in units that fit', () => {
    assert.equal(limitText(100_000_000), '100 MB');
    assert.equal(limitText(104_857_600), '100 MiB');
    assert.equal(limitText(123), '123 B');
    assert.equal(humanSize(1_310_720), '1.25 MiB');
    assert.equal(humanSize(2048), '2.00 KiB');
    assert.equal(shortSize(2048), '2 KiB');
    assert.equal(shortSize(1536), '1.5 KiB');
    assert.equal(shortSize(100), '100 B');
  });
});

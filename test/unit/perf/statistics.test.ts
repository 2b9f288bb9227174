import assert from 'node:assert/strict';
import { exponentOf, growthTable } from '../../../perf/statistics.ts';

describe('Growth', () => {
  it('has the exponent of a power', () => {
    const sizes = [1000, 20_000, 300_000];
    for (const exponent of [0, 0.5, 1, 2]) {
      const figures = sizes.map((size) => 7 * size ** exponent);
      assert.ok(Math.abs(exponentOf(sizes, figures) - exponent) < 1e-9, `${exponent}`);
    }
  });

  it('is shown by size, without an exponent where a figure is 0', () => {
    const figures = [
      { 'time, ms': 2, files: 0 },
      { 'time, ms': 20.04, files: 3 },
    ];
    const lines = growthTable('documents', [1000, 10_000], figures).split('\n');
    assert.deepEqual(lines, [
      '| documents | 1,000 | 10,000 | exponent |',
      '| --- | --- | --- | --- |',
      '| time, ms | 2 | 20 | 1.00 |',
      '| files | 0 | 3 |  |',
    ]);
  });
});

import assert from 'node:assert/strict';
import { parseTuning } from '../../../src/engine/tuning.ts';

describe('parseTuning', () => {
  it('reads thresholds', () => {
    const tuning = { largeBucketMin: 1, cpuMax: 'avx2' };
    assert.deepEqual(parseTuning(JSON.stringify(tuning)), tuning);
    assert.deepEqual(parseTuning('{}'), {});
  });

  it('refuses what is no threshold', () => {
    for (const text of [
      ...['', '[]', 'null', '1', '{"largeBucket":1}', '{"cpuMax":"sse"}'],
      ...['{"largeBucketMin":0}', '{"largeBucketMin":1.5}', '{"largeBucketMin":"1"}'],
    ]) {
      assert.equal(parseTuning(text), null, text);
    }
  });
});

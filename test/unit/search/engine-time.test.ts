import assert from 'node:assert/strict';
import { engineMsOf } from '../../../src/search/engine-time.ts';

describe('The time that the engine took', () => {
  const cases: [name: string, answer: string, expected: number | undefined][] = [
    ['stands in an answer', '{"hits":[],"query":"","processingTimeMs":12,"limit":20}', 12],
    ['may be its last value', '{"processingTimeMs":0}', 0],
    ['is not what a document says', '{"hits":[{"processingTimeMs":7}],"processingTimeMs":3}', 3],
    [
      'is not an attribute of its name',
      '{"processingTimeMs":3,"facetDistribution":{"processingTimeMs":{"a":1}}}',
      3,
    ],
    ['is not in a text', JSON.stringify({ query: '"processingTimeMs":9' }), undefined],
    ['is in no other answer', '{"results":[]}', undefined],
    ['is not in an empty one', '', undefined],
  ];
  for (const [name, answer, expected] of cases) {
    it(name, () => assert.equal(engineMsOf(Buffer.from(answer)), expected));
  }
});

/** What the server stores about embedders for the engine. */
import assert from 'node:assert/strict';
import { completeStates } from '../../../src/engine/embedder-states.ts';

describe('what the engine knows of embedders', () => {
  it('follows from their sources: dimensions, and how similarities are spread', () => {
    const embedders = {
      large: { source: 'openAi', model: 'text-embedding-3-large' },
      own: { source: 'openAi', model: 'x', dimensions: 3, distribution: { mean: 0.1, sigma: 0.2 } },
      rest: { source: 'rest' },
      parts: {
        source: 'composite',
        searchEmbedder: { source: 'rest' },
        indexingEmbedder: { source: 'openAi', model: 'text-embedding-ada-002' },
      },
    };
    const embedderStates = { own: { dimensions: 3, fragments: { a: 0 } } };
    assert.deepEqual(completeStates({ embedders, embedderStates }).embedderStates, {
      large: { dimensions: 3072, distribution: { mean: 0.7, sigma: 0.1 }, computes: true },
      own: {
        dimensions: 3,
        fragments: { a: 0 },
        distribution: { mean: 0.1, sigma: 0.2 },
        computes: true,
      },
      parts: { dimensions: 1536, distribution: { mean: 0.9, sigma: 0.08 }, computes: true },
    });
  });
});

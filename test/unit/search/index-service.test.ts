import assert from 'node:assert/strict';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.ts';
import { wholeListing } from '../../../src/search/index-service.ts';

describe('A listing as one piece', () => {
  const limits = { ...DEFAULT_LIMITS, responseBytes: 6 };
  let read: number;
  async function* parts(): AsyncGenerator<Buffer> {
    for (const part of ['ab', 'cd', 'ef', 'gh', 'ij']) {
      read++;
      yield Buffer.from(part);
    }
  }

  beforeEach(() => {
    read = 0;
  });

  it('is all of its parts', async () => {
    const whole = await wholeListing(parts(), { ...limits, responseBytes: 10 });
    assert.equal(whole.toString(), 'abcdefghij');
  });

  it('is read no further than a response may be long', async () => {
    await assert.rejects(wholeListing(parts(), limits), { name: 'ApiError' });
    assert.equal(read, 4);
  });
});

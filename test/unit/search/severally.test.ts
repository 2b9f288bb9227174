import assert from 'node:assert/strict';
import { answerTooLarge, DEFAULT_LIMITS } from '../../../src/contract/limits.ts';
import type { Answer } from '../../../src/search/answer.ts';
import { severally } from '../../../src/search/run/severally.ts';
import { callerOf } from '../../support/search-caller.ts';

describe('Several searches of one request', () => {
  const limits = { ...DEFAULT_LIMITS, answerBytes: 20_000 };
  const ofBytes = (bytes: number): Answer => ({ bytes: Buffer.alloc(bytes) }) as Answer;

  it('are refused with the limit of the request, not with what is left of it', async () => {
    const answers = severally(2, 1, limits, callerOf(), (_, bytesLeft) =>
      bytesLeft < 10_000
        ? Promise.reject(answerTooLarge({ answerBytes: bytesLeft }).placed({ query: 1 }))
        : Promise.resolve(ofBytes(19_950)),
    );
    await assert.rejects(answers, ({ message }: Error) => /20000 bytes|20 kB/.test(message));
  });

  it('pass on which query is too large by itself', async () => {
    const first = severally(1, 1, limits, callerOf(), (_, answerBytes) =>
      Promise.reject(answerTooLarge({ answerBytes }).placed({ query: 0 })),
    );
    await assert.rejects(first, /Inside `\.queries\[0\]`/);
  });
});

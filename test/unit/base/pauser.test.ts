import assert from 'node:assert/strict';
import { pauser } from '../../../src/base/pauser.ts';

const WORKERS = 5;
const PAUSES = 4;

describe('pauser', () => {
  it('lets one of several go on in each iteration of the event loop', async () => {
    let iteration = 0;
    let isDone = false;
    const count = (): void => {
      iteration++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const resumed: number[] = [];
    const work = async (): Promise<void> => {
      const pause = pauser();
      for (let n = 0; n < PAUSES;) {
        if (!(await pause())) continue;
        resumed.push(iteration);
        n++;
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
    isDone = true;
    assert.equal(new Set(resumed).size, WORKERS * PAUSES);
  });
});

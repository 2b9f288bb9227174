import assert from 'node:assert/strict';
import { FairQueue } from '../../../src/base/fair-queue.ts';

describe('A fair queue', () => {
  const any = (): boolean => true;

  it('gives each requester one item before another gets its second', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.push(item[0]!, item);
    const taken = Array.from({ length: 4 }, () => queue.take(any));
    assert.deepEqual(taken, ['a1', 'b1', 'c1', 'a2']);
    queue.push('d', 'd1');
    assert.equal(queue.size, 3);
    assert.deepEqual([queue.take(any), queue.take(any), queue.take(any)], ['b2', 'a3', 'd1']);
    assert.deepEqual([queue.take(any), queue.size], [undefined, 0]);
  });

  it('passes over those who cannot be served now', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'b1']) queue.push(item[0]!, item);
    assert.equal(
      queue.take((requester) => requester !== 'a'),
      'b1',
    );
    assert.equal(
      queue.take((requester) => requester !== 'a'),
      undefined,
    );
    assert.deepEqual([...queue.drain(), queue.size], ['a1', 'a2', 0]);
  });
});

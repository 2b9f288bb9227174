import assert from 'node:assert/strict';
import { FairQueue } from '../../../src/base/fair-queue.ts';

describe('A fair queue', () => {
  const take = (queue: FairQueue<string>, may: (one: string) => boolean = () => true) => {
    const next = queue.next((requester) => (may(requester) ? 0 : Infinity));
    return next === undefined ? undefined : queue.take(next);
  };

  it('gives each requester one item before another gets its second', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.push(item[0]!, item);
    const taken = Array.from({ length: 4 }, () => take(queue));
    assert.deepEqual(taken, ['a1', 'b1', 'c1', 'a2']);
    queue.push('d', 'd1');
    assert.equal(queue.size, 3);
    assert.deepEqual([take(queue), take(queue), take(queue)], ['b2', 'a3', 'd1']);
    assert.deepEqual([take(queue), queue.size], [undefined, 0]);
  });

  it('passes over those who cannot be served now', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'b1']) queue.push(item[0]!, item);
    assert.equal(
      take(queue, (requester) => requester !== 'a'),
      'b1',
    );
    assert.equal(
      take(queue, (requester) => requester !== 'a'),
      undefined,
    );
    assert.deepEqual([...queue.drain(), queue.size], ['a1', 'a2', 0]);
  });

  it('prefers those of lower rank, and each in turn among equals', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'b1', 'c1', 'c2', 'b2']) queue.push(item[0]!, item);
    const ranks: Record<string, number> = { a: 2, b: 1, c: 1 };
    const taken = Array.from({ length: 5 }, () => queue.take(queue.next((one) => ranks[one]!)!));
    assert.deepEqual(taken, ['b1', 'c1', 'b2', 'c2', 'a1']);
  });

  it('lets requesters withdraw items, and keeps their turn', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'b1', 'c1']) queue.push(item[0]!, item);
    assert.deepEqual([queue.remove('a', 'a1'), queue.remove('a', 'a1')], [true, false]);
    assert.deepEqual([queue.removeAll('b'), queue.removeAll('b')], [['b1'], []]);
    assert.deepEqual([queue.of('a'), queue.requesters, queue.size], [['a2'], 2, 2]);
    assert.deepEqual([take(queue), take(queue), take(queue)], ['a2', 'c1', undefined]);
  });
});

import assert from 'node:assert/strict';
import { SharedHandles, sharedHandleMemory } from '../../../src/engine/shared-handles.ts';

describe('handles that threads share', () => {
  const both = (): [main: SharedHandles, thread: SharedHandles] => {
    const memory = sharedHandleMemory();
    return [new SharedHandles(memory), new SharedHandles(memory)];
  };

  it('are not withdrawn while a thread uses the index, and stay usable', () => {
    const [main, thread] = both();
    const slot = main.offer(7)!;
    assert.equal(thread.enter(slot, 7), true);
    assert.equal(main.withdraw(slot), false);
    assert.equal(thread.enter(slot, 7), true);
    thread.leave(slot);
    thread.leave(slot);
    assert.equal(main.withdraw(slot), true);
    assert.equal(thread.enter(slot, 7), false);
  });

  it('are not mistaken for those of another index in the same slot', () => {
    const [main, thread] = both();
    const slot = main.offer(7)!;
    assert.equal(main.withdraw(slot), true);
    assert.equal(main.offer(8), slot);
    assert.equal(thread.enter(slot, 7), false);
    assert.equal(thread.enter(slot, 8), true);
    thread.leave(slot);
    assert.equal(main.withdraw(slot), true);
  });

  it('are removed from under a thread when the index is deleted', () => {
    const [main, thread] = both();
    const slot = main.offer(7)!;
    assert.equal(thread.enter(slot, 7), true);
    main.remove(slot);
    assert.equal(thread.enter(slot, 7), false);
    thread.leave(slot);
  });

  it('show once that they were used', () => {
    const [main, thread] = both();
    const slot = main.offer(7)!;
    assert.equal(main.takeTouched(slot), false);
    assert.equal(thread.enter(slot, 7), true);
    thread.leave(slot);
    assert.equal(main.takeTouched(slot), true);
    assert.equal(main.takeTouched(slot), false);
  });

  it('are offered up to a number', () => {
    const [main] = both();
    let offered = 0;
    while (main.offer(offered + 1) !== null) offered++;
    assert.equal(offered, 1024);
  });
});

import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import type { StateChange } from '../../../src/http/threads/messages.ts';
import { StateReader } from '../../../src/http/threads/state.ts';

describe('the state that an HTTP thread copies', () => {
  const READY: StateChange = { is: 'phase', phase: 'ready' };

  function reader() {
    const { port1, port2 } = new MessageChannel();
    const count = new SharedArrayBuffer(4);
    const taken: StateChange[] = [];
    const state = new StateReader({ port: port2, count }, (change) => taken.push(change));
    const counted = (): void => void Atomics.add(new Int32Array(count), 0, 1);
    return {
      send: () => port1.postMessage(READY),
      counted,
      state,
      taken,
      close: () => port1.close(),
    };
  }

  it('has every change that was counted, without an iteration of the event loop', () => {
    const { send, counted, state, taken, close } = reader();
    for (let n = 0; n < 3; n++) {
      send();
      counted();
    }
    state.catchUp();
    assert.equal(taken.length, 3);
    close();
  });

  it('may have a change that is not counted yet', async () => {
    const { send, counted, state, taken, close } = reader();
    send();
    while (taken.length === 0) await setImmediate();
    state.catchUp();
    counted();
    state.catchUp();
    send();
    counted();
    state.catchUp();
    assert.equal(taken.length, 2);
    close();
  });
});

import assert from 'node:assert/strict';
import { OpenParts, type Part } from '../../../src/parts/part.ts';

describe('The parts of the server', () => {
  it('all end before the first one is closed, and are closed one by one in reverse', async () => {
    const events: string[] = [];
    const part = (name: string): Part => ({
      async end(timeoutMs) {
        events.push(`end ${name} ${timeoutMs}`);
        await null;
        events.push(`${name} ended`);
      },
      async close() {
        events.push(`close ${name}`);
        await null;
        events.push(`${name} closed`);
      },
    });
    const parts = new OpenParts();
    const first = part('a');
    assert.equal(parts.add(first), first);
    parts.add(part('b'));
    parts.add({ close: (timeoutMs) => void events.push(`close c ${timeoutMs}`) });
    await parts.close(5);
    const ends = ['end b 5', 'end a 5', 'b ended', 'a ended'];
    assert.deepEqual(events, [
      ...ends,
      'close c 5',
      ...['close b', 'b closed', 'close a', 'a closed'],
    ]);
  });
});

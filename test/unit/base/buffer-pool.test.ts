import assert from 'node:assert/strict';
import { BufferPool, POOLED_BYTES_MAX } from '../../../src/base/buffer-pool.ts';
import { mulberry } from '../../support/random.ts';

describe('the buffer pool', () => {
  it('uses the memory of what was given back again', () => {
    const pool = new BufferPool();
    const first = pool.take(10);
    const memory = first.buffer;
    pool.giveBack(first);
    assert.equal(pool.free, 1);
    const second = pool.take(POOLED_BYTES_MAX);
    assert.equal(second.buffer, memory);
    assert.equal(second.length, POOLED_BYTES_MAX);
    assert.equal(pool.free, 0);
  });

  it('takes each back once, and nothing of other origin', () => {
    const pool = new BufferPool();
    const taken = pool.take(1);
    for (let n = 0; n < 2; n++) pool.giveBack(taken);
    pool.giveBack(Buffer.from('of other origin'));
    pool.giveBack(new BufferPool().take(1));
    assert.equal(pool.free, 1);
  });

  it('gives large ones memory of their own', () => {
    const pool = new BufferPool();
    const large = pool.take(POOLED_BYTES_MAX + 1);
    assert.equal(large.length, POOLED_BYTES_MAX + 1);
    pool.giveBack(large);
    assert.equal(pool.free, 0);
  });

  it('keeps no more than 4 MiB', () => {
    const pool = new BufferPool();
    const taken = Array.from({ length: 100 }, () => pool.take(POOLED_BYTES_MAX));
    for (const buffer of taken) pool.giveBack(buffer);
    assert.equal(pool.free * POOLED_BYTES_MAX, 4 << 20);
  });

  it('never lets two share memory: contents stay as buffers of their own would', () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    const random = mulberry(seed);
    const pool = new BufferPool();
    /** Each taken buffer, and a copy that no other code can write to. */
    const taken: [Buffer, Buffer][] = [];
    const given: Buffer[] = [];
    for (let step = 0; step < 20_000; step++) {
      if (taken.length > 0 && random() < 0.5) {
        const at = Math.floor(random() * taken.length);
        const [[buffer, copy]] = taken.splice(at, 1) as [[Buffer, Buffer]];
        assert.ok(buffer.equals(copy), `seed ${seed}, step ${step}`);
        if (random() < 0.8) {
          pool.giveBack(buffer);
          given.push(buffer);
        }
        // Again, when others may have its memory.
        if (given.length > 0) pool.giveBack(given[Math.floor(random() * given.length)]!);
      } else {
        const bytes = Math.floor(random() * 100 * (random() < 0.01 ? 1000 : 1));
        const buffer = pool.take(bytes).fill(step & 0xff);
        taken.push([buffer, Buffer.from(buffer)]);
      }
    }
  });
});

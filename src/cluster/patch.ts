/**
 * A patch: what makes one value of another of the same length. Bytes: per run of new bytes, the
 * number of bytes before it that stay, and the new ones as `bytes`.
 */
import { ByteReader, ByteWriter } from './bytes.ts';
import { DamagedError } from './errors.ts';

/** Equal bytes between two runs that cost less than a new run. */
const GAP_BYTES = 3;

/** Returns null when the lengths differ, or when the patch is not much smaller than the value. */
export function patchOf(before: Uint8Array, after: Uint8Array): Buffer | null {
  if (before.length !== after.length) return null;
  const writer = new ByteWriter();
  let size = 0;
  let end = 0;
  for (let at = 0; at < after.length; at++) {
    if (before[at] === after[at]) continue;
    const begin = at;
    let last = at;
    while (++at < after.length && at - last <= GAP_BYTES) if (before[at] !== after[at]) last = at;
    writer.number(begin - end).bytes(after.subarray(begin, last + 1));
    size += last + 1 - begin;
    if (size > after.length / 2) return null;
    end = last + 1;
    at = last;
  }
  const patch = writer.done();
  return patch.length > after.length / 2 ? null : patch;
}

/** Throws `DamagedError` when the patch does not fit. */
export function patched(before: Uint8Array, patch: Buffer): Buffer {
  const value = Buffer.from(before);
  const reader = new ByteReader(patch);
  for (let at = 0; !reader.isDone;) {
    at += reader.number();
    const run = reader.bytes();
    if (at + run.length > value.length) throw new DamagedError('A patch does not fit its value');
    at += run.copy(value, at);
  }
  return value;
}

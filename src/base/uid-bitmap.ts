/**
 * Sets of task uids as stored in dumps: a list of bytes that form a bitmap in the portable format
 * of Roaring (RoaringFormatSpec).
 */

const NO_RUNS = 12_346;
const WITH_RUNS = 12_347;
/** A bitmap with runs and fewer containers has no offsets. */
const OFFSETS_MIN = 4;
/** Larger containers are bits, not numbers. */
const ARRAY_MAX = 4096;
const BITS_BYTES = 8192;

/** @param uids ascending */
export function encodeUids(uids: readonly number[]): number[] {
  const containers = new Map<number, number[]>();
  for (const uid of uids) {
    const key = uid >>> 16;
    const low = containers.get(key);
    if (low === undefined) containers.set(key, [uid & 0xffff]);
    else low.push(uid & 0xffff);
  }
  const bodies = [...containers.values()].map(containerBytes);
  const head = Buffer.alloc(8 + containers.size * 8);
  head.writeUInt32LE(NO_RUNS, 0);
  head.writeUInt32LE(containers.size, 4);
  let offset = head.length;
  [...containers].forEach(([key, low], n) => {
    head.writeUInt16LE(key, 8 + n * 4);
    head.writeUInt16LE(low.length - 1, 10 + n * 4);
    head.writeUInt32LE(offset, 8 + containers.size * 4 + n * 4);
    offset += bodies[n]!.length;
  });
  return [...Buffer.concat([head, ...bodies])];
}

function containerBytes(low: readonly number[]): Buffer {
  if (low.length <= ARRAY_MAX) {
    const bytes = Buffer.alloc(low.length * 2);
    low.forEach((value, n) => bytes.writeUInt16LE(value, n * 2));
    return bytes;
  }
  const bytes = Buffer.alloc(BITS_BYTES);
  for (const value of low) bytes[value >> 3]! |= 1 << (value & 7);
  return bytes;
}

/** Ascending. Null: not a valid bitmap. */
export function decodeUids(list: unknown): number[] | null {
  if (!Array.isArray(list) || !list.every((byte) => Number.isInteger(byte))) return null;
  try {
    return decode(Buffer.from(list as number[]));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Throws `RangeError` where bytes are missing. */
function decode(bytes: Buffer): number[] | null {
  const cookie = bytes.readUInt32LE(0);
  const hasRuns = (cookie & 0xffff) === WITH_RUNS;
  if (!hasRuns && cookie !== NO_RUNS) return null;
  const count = hasRuns ? (cookie >>> 16) + 1 : bytes.readUInt32LE(4);
  if (count > 65_536) return null;
  let at = hasRuns ? 4 : 8;
  const runFlags = at;
  if (hasRuns) at += Math.ceil(count / 8);
  const heads = at;
  at += count * 4;
  if (!hasRuns || count >= OFFSETS_MIN) at += count * 4;
  const uids: number[] = [];
  for (let n = 0; n < count; n++) {
    const high = bytes.readUInt16LE(heads + n * 4) * 65_536;
    const size = bytes.readUInt16LE(heads + n * 4 + 2) + 1;
    if (hasRuns && ((bytes.readUInt8(runFlags + (n >> 3)) >> (n & 7)) & 1) === 1) {
      const runs = bytes.readUInt16LE(at);
      at += 2;
      for (let run = 0; run < runs; run++, at += 4) {
        const first = bytes.readUInt16LE(at);
        const length = bytes.readUInt16LE(at + 2) + 1;
        for (let i = 0; i < length; i++) uids.push(high + first + i);
      }
    } else if (size <= ARRAY_MAX) {
      for (let i = 0; i < size; i++, at += 2) uids.push(high + bytes.readUInt16LE(at));
    } else {
      for (let i = 0; i < 65_536; i++) {
        if (((bytes.readUInt8(at + (i >> 3)) >> (i & 7)) & 1) === 1) uids.push(high + i);
      }
      at += BITS_BYTES;
    }
  }
  return uids;
}

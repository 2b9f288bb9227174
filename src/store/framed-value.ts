/**
 * Reads values with long parts in the form of older versions: the byte 0, the number of parts
 * (u32), the offset and length (u32 each) of every part in the JSON, then the bytes of the JSON.
 */
import { randomUUID } from 'node:crypto';
import { RawJson } from '../base/json.ts';

/** The first byte of such a value. No JSON begins with it. */
export const FRAMED = 0;

export function framedValue(bytes: Buffer): unknown {
  const count = bytes.readUInt32LE(1);
  const json = bytes.subarray(5 + 8 * count);
  // While the rest is parsed, this mark and the number of the part replace a part.
  const mark = randomUUID();
  const parts: RawJson[] = [];
  let text = '';
  let from = 0;
  for (let at = 5; parts.length < count; at += 8) {
    const begin = bytes.readUInt32LE(at);
    const end = begin + bytes.readUInt32LE(at + 4);
    text += `${json.toString('utf8', from, begin)}"${mark}${parts.length}"`;
    parts.push(new RawJson(json.subarray(begin, end)));
    from = end;
  }
  return JSON.parse(text + json.toString('utf8', from), (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark)
      ? parts[Number(value.slice(mark.length))]
      : value,
  );
}

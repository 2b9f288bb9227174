/**
 * How older versions have stored a value with long parts: the byte 0, u32 number of parts, u32 place and length of each in
 * the bytes of the JSON that follows.
 */
import { randomUUID } from 'node:crypto';
import { RawJson } from '../base/json.ts';

/** The first byte of such a value, which no JSON begins with. */
export const FRAMED = 0;

export function framedValue(bytes: Buffer): unknown {
  const count = bytes.readUInt32LE(1);
  const json = bytes.subarray(5 + 8 * count);
  // In the place of a part stands this and its number while the rest is read.
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

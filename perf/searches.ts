/** Searches made from the documents that they find. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** The content of a file, which may be compressed. */
export function bytesOf(path: string): Buffer {
  const file = readFileSync(path);
  return path.endsWith('.gz') ? gunzipSync(file) : file;
}

/** @returns bodies of `count` searches for two neighbouring words of a random field and document */
export function searchBodies(
  ndjson: Buffer,
  fields: readonly string[],
  count: number,
  random: () => number,
): string[] {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const lines = ndjson.toString().trimEnd().split('\n');
  return Array.from({ length: count }, () => {
    const document = JSON.parse(pick(lines)) as Record<string, unknown>;
    const words = String(document[pick(fields)] ?? '').split(/\s+/);
    const from = Math.floor(random() * words.length);
    return JSON.stringify({ q: words.slice(from, from + 2).join(' ') });
  });
}

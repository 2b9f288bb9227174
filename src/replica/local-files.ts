/** Local files that a cluster uploads or has fetched. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import type { BlobSource } from '../cluster/blobs/blobs.ts';

/** The content of a file that no longer changes. Reads it once, for its checksum. */
export async function fileSource(path: string): Promise<BlobSource> {
  const { size, sum } = await digestOf(path);
  return sourceOf(path, size, sum);
}

export function sourceOf(path: string, size: number, sum: Buffer): BlobSource {
  return { size, sha256: sum, open: () => createReadStream(path) };
}

export async function digestOf(path: string): Promise<{ size: number; sum: Buffer }> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return { size: (await stat(path)).size, sum: hash.digest() };
}

/** Writes a file durably, except for its name. It appears under its name once it is complete. */
export async function writeDurably(
  path: string,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const part = `${path}.part`;
  await pipeline(Readable.from(content, { objectMode: false }), createWriteStream(part));
  const file = await open(part, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(part, path);
}

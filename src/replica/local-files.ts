/** Files of this machine as the cluster moves them. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import type { BlobSource } from '../cluster/blobs/blobs.ts';

/** A file that does not change any more. */
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

/** Writes a file durably, its name apart; nobody sees it before it is whole. */
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

/** Loads the documents of a dump into an index, in files of limited size with one commit each. */
import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { linesOf } from '../archive/json-values.ts';
import { newlinesIn } from '../base/newlines.ts';
import type { IndexEntry } from '../engine/registry.ts';
import { replaceStep } from '../tasks/run/documents.ts';
import { DumpError } from './dump-error.ts';

/** Bytes of documents per commit. */
export const COMMIT_BYTES = 64 * 2 ** 20;

const NEWLINE = 10;

export interface DocumentTarget {
  uid: string;
  entry: IndexEntry;
  /** RFC 3339 date that becomes `updatedAt`. */
  now: string;
}

/**
 * Loads JSON lines. The next file is written while one is indexed.
 * @param dir folder for the temporary files, which are deleted
 * @param check checks a file before it is indexed; throws if the file is invalid
 * @returns the number of lines. Throws `DumpError` if the index refuses a document.
 */
export async function loadDocuments(
  target: DocumentTarget,
  source: AsyncIterable<Buffer>,
  dir: string,
  check: (file: string, firstLine: number) => Promise<unknown>,
  commitBytes = COMMIT_BYTES,
): Promise<number> {
  let lines = 0;
  let running: Promise<void> = Promise.resolve();
  let number = 0;
  let piece = await Piece.create(join(dir, `documents-${number}`));
  /** Passes a piece to the index once the previous one is indexed. */
  const commit = async (): Promise<void> => {
    const { file, count } = await piece.close();
    const first = lines + 1;
    lines += count;
    await running;
    if (count > 0) await check(file, first);
    if (count > 0) running = apply(target, file, first);
    else await rm(file, { force: true });
    // The error is reported where `running` is awaited.
    running.catch(() => {});
  };
  try {
    for await (const chunk of source) {
      const end = piece.bytes + chunk.length < commitBytes ? -1 : chunk.lastIndexOf(NEWLINE);
      if (end < 0) {
        await piece.write(chunk);
        continue;
      }
      await piece.write(chunk.subarray(0, end + 1));
      await commit();
      piece = await Piece.create(join(dir, `documents-${++number}`));
      await piece.write(chunk.subarray(end + 1));
    }
    await commit();
    await running;
  } catch (error) {
    await piece.abandon();
    await running.catch(() => {});
    throw error;
  }
  return lines;
}

async function apply(target: DocumentTarget, file: string, first: number): Promise<void> {
  let error = await applied(target, file);
  if (error?.code === 'invalid_vectors_type') {
    await dropForeignVectors(file);
    error = await applied(target, file);
  }
  await rm(file, { force: true });
  if (error !== null) {
    throw new DumpError(
      `documents of the index \`${target.uid}\`, at or after line ${first} of documents.jsonl: ${error.message}`,
    );
  }
}

/** @returns why the index refuses the documents; null: they were added */
async function applied(
  { entry, now }: DocumentTarget,
  file: string,
): Promise<{ code?: string; message: string } | null> {
  try {
    const job = { batchUid: 0, taskUids: [], now, steps: [replaceStep(0, file)] };
    return (await entry.handle.applyBatch(job, [])).results[0]?.error ?? null;
  } catch (error) {
    return error as Error;
  }
}

/** Removes invalid `_vectors`, which older servers accepted in indexes without embedders. */
async function dropForeignVectors(file: string): Promise<void> {
  const clean = `${file}-clean`;
  const output = await open(clean, 'w');
  try {
    for await (const line of linesOf(createReadStream(file), Infinity)) {
      await output.writeFile(line.includes('"_vectors"') ? withoutForeignVectors(line) : line);
      await output.writeFile('\n');
    }
  } finally {
    await output.close();
  }
  await rename(clean, file);
}

function withoutForeignVectors(line: Buffer): Buffer | string {
  const document = JSON.parse(line.toString()) as Record<string, unknown>;
  const vectors = document._vectors;
  if (vectors === undefined || (typeof vectors === 'object' && !Array.isArray(vectors)))
    return line;
  delete document._vectors;
  return JSON.stringify(document);
}

/** A file of documents that is being written. */
class Piece {
  readonly #file: string;
  readonly #handle: Awaited<ReturnType<typeof open>>;
  bytes = 0;
  #lines = 0;
  #open = true;
  #last = NEWLINE;

  private constructor(file: string, handle: Awaited<ReturnType<typeof open>>) {
    this.#file = file;
    this.#handle = handle;
  }

  static async create(file: string): Promise<Piece> {
    return new Piece(file, await open(file, 'w'));
  }

  async write(chunk: Buffer): Promise<void> {
    if (chunk.length === 0) return;
    await this.#handle.writeFile(chunk);
    this.bytes += chunk.length;
    this.#last = chunk[chunk.length - 1]!;
    this.#lines += newlinesIn(chunk);
  }

  async close(): Promise<{ file: string; count: number }> {
    this.#open = false;
    await this.#handle.close();
    return { file: this.#file, count: this.#lines + (this.#last === NEWLINE ? 0 : 1) };
  }

  async abandon(): Promise<void> {
    if (this.#open) await this.#handle.close();
    await rm(this.#file, { force: true });
  }
}

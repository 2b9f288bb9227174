/**
 * Reads a gzip-compressed tar entry by entry, in the memory of a few buffers. If the file is
 * truncated, damaged or not an archive, an `ArchiveError` names the entry and the position in it.
 */
import { createReadStream, type ReadStream } from 'node:fs';
import { Transform, type TransformCallback } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { ArchiveError } from './archive-error.ts';

/** A tar ends with two blocks of zeros, together of this size. */
const END_BYTES = 1024;

export interface ArchiveEntry {
  /** Segments joined by `/`, none of them `.` or `..`. */
  path: string;
  /** Size in bytes. */
  size: number;
  /** Must be read before the next entry is requested. An unread rest is skipped. */
  body: AsyncIterable<Buffer>;
}

/**
 * Yields the files. Skips folders and the metadata files that macOS adds. Throws `ArchiveError`.
 */
export async function* readArchive(file: string): AsyncGenerator<ArchiveEntry, undefined> {
  const source = createReadStream(file, { highWaterMark: 256 * 1024 });
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  const end = new EndOfTar();
  const entries = extract();
  let location = 'at its beginning';
  let failure: unknown;
  const fail = (error: unknown): void => {
    failure ??= error;
    entries.destroy(error as Error);
  };
  source.on('error', fail);
  gunzip.on('error', fail);
  end.on('error', fail);
  entries.on('error', (error: unknown) => (failure ??= error));
  /** The error for a failed read, with its position. */
  const archiveError = (error: unknown): ArchiveError => {
    if (error instanceof ArchiveError) return error;
    const { message } = (failure ?? error) as Error;
    return new ArchiveError(`The archive ${file} is damaged or cut off ${location}: ${message}`);
  };
  source
    .pipe(gunzip)
    .pipe(end)
    .pipe(entries as unknown as NodeJS.WritableStream);
  const files = new Set<string>();
  try {
    for await (const entry of entries) {
      const { name, size, type } = entry.header;
      const path = normalPath(name);
      location = `in the entry \`${name}\``;
      if (path === null) throw new Error('the path leads out of the archive');
      if (type === 'directory' || path.split('/').at(-1)!.startsWith('._')) {
        entry.resume();
        continue;
      }
      checkFile(path, type, files);
      const next = chunksOf(entry as AsyncIterable<Buffer>, archiveError, (read) => {
        location = `in the entry \`${name}\`, at byte ${read} of ${size}`;
      });
      yield { path, size, body: bodyOf(next) };
      while ((await next()) !== undefined);
      location = `after the entry \`${name}\``;
    }
    if (failure !== undefined) throw failure;
    end.check();
  } catch (error) {
    throw archiveError(error);
  } finally {
    close(source);
    gunzip.destroy();
    end.destroy();
    entries.destroy();
  }
}

/**
 * Reads an entry chunk by chunk; undefined at its end. Callers must not stop early, which would
 * close the whole archive.
 * @param archiveError converts a read error to the error to throw
 * @param moved called with the number of bytes read so far
 */
function chunksOf(
  entry: AsyncIterable<Buffer>,
  archiveError: (error: unknown) => ArchiveError,
  moved: (read: number) => void,
): () => Promise<Buffer | undefined> {
  const chunks = entry[Symbol.asyncIterator]();
  let read = 0;
  return async () => {
    const chunk = await chunks.next().catch((error: unknown) => {
      throw archiveError(error);
    });
    if (chunk.done === true) return undefined;
    read += chunk.value.length;
    moved(read);
    return chunk.value;
  };
}

async function* bodyOf(next: () => Promise<Buffer | undefined>): AsyncGenerator<Buffer, undefined> {
  for (let chunk = await next(); chunk !== undefined; chunk = await next()) yield chunk;
}

function close(source: ReadStream): void {
  source.on('error', () => {});
  source.destroy();
}

/** @param before paths of the previous entries; `path` is added to them */
function checkFile(path: string, type: unknown, before: Set<string>): void {
  if (type !== 'file' && type !== 'contiguous-file')
    throw new Error(`it is a ${String(type)}, not a file`);
  if (before.has(path)) throw new Error('an entry before it has the same path');
  before.add(path);
}

/** The path without `.` segments; null: it leads out of the archive. */
function normalPath(name: string): string | null {
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.');
  return name.startsWith('/') || segments.includes('..') ? null : segments.join('/');
}

/** Forwards bytes and checks that they end with the end mark of a tar. */
class EndOfTar extends Transform {
  #zeros = 0;
  #bytes = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length;
    let at = chunk.length;
    while (at > 0 && chunk[at - 1] === 0) at--;
    const zeros = chunk.length - at;
    this.#zeros = at === 0 ? this.#zeros + zeros : zeros;
    done(null, chunk);
  }

  check(): void {
    if (this.#zeros < END_BYTES) {
      throw new Error(`it ends after ${this.#bytes} bytes without the mark of its end`);
    }
  }
}

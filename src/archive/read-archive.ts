/**
 * Reading a gzip-compressed tar, entry by entry, in as much memory as a few buffers take. What is
 * cut off, damaged or no archive ends with an `ArchiveError` that names the entry and the place in
 * it.
 */
import { createReadStream, type ReadStream } from 'node:fs';
import { Transform, type TransformCallback } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { ArchiveError } from './archive-error.ts';

/** A tar ends with two blocks of zeros. */
const END_BYTES = 1024;

export interface ArchiveEntry {
  /** Segments joined by `/`; none of them is `.` or `..`. */
  path: string;
  /** Bytes. */
  size: number;
  /** To be read before the next entry is asked for; the rest is skipped. */
  body: AsyncIterable<Buffer>;
}

/**
 * Yields the files. Folders, and what macOS adds beside files, are left out. Throws `ArchiveError`.
 */
export async function* readArchive(file: string): AsyncGenerator<ArchiveEntry, undefined> {
  const source = createReadStream(file, { highWaterMark: 256 * 1024 });
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  const end = new EndOfTar();
  const entries = extract();
  let place = 'at its beginning';
  let failure: unknown;
  const fail = (error: unknown): void => {
    failure ??= error;
    entries.destroy(error as Error);
  };
  source.on('error', fail);
  gunzip.on('error', fail);
  end.on('error', fail);
  entries.on('error', (error: unknown) => (failure ??= error));
  /** What stopped the reading, and where. */
  const told = (error: unknown): ArchiveError => {
    if (error instanceof ArchiveError) return error;
    const { message } = (failure ?? error) as Error;
    return new ArchiveError(`The archive ${file} is damaged or cut off ${place}: ${message}`);
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
      place = `in the entry \`${name}\``;
      if (path === null) throw new Error('the path leads out of the archive');
      if (type === 'directory' || path.split('/').at(-1)!.startsWith('._')) {
        entry.resume();
        continue;
      }
      checkFile(path, type, files);
      const next = chunksOf(entry as AsyncIterable<Buffer>, told, (read) => {
        place = `in the entry \`${name}\`, at byte ${read} of ${size}`;
      });
      yield { path, size, body: bodyOf(next) };
      while ((await next()) !== undefined);
      place = `behind the entry \`${name}\``;
    }
    if (failure !== undefined) throw failure;
    end.check();
  } catch (error) {
    throw told(error);
  } finally {
    close(source);
    gunzip.destroy();
    end.destroy();
    entries.destroy();
  }
}

/**
 * Reads an entry chunk by chunk; undefined at its end. It is not left early, which would end the
 * whole archive.
 * @param told what is thrown for what stops the reading
 * @param moved called with the bytes read so far
 */
function chunksOf(
  entry: AsyncIterable<Buffer>,
  told: (error: unknown) => ArchiveError,
  moved: (read: number) => void,
): () => Promise<Buffer | undefined> {
  const chunks = entry[Symbol.asyncIterator]();
  let read = 0;
  return async () => {
    const chunk = await chunks.next().catch((error: unknown) => {
      throw told(error);
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

/** @param before paths of the entries before, to which it is added */
function checkFile(path: string, type: unknown, before: Set<string>): void {
  if (type !== 'file' && type !== 'contiguous-file')
    throw new Error(`it is a ${String(type)}, not a file`);
  if (before.has(path)) throw new Error('an entry before it has the same path');
  before.add(path);
}

/** Null: leads out of the archive. */
function normalPath(name: string): string | null {
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.');
  return name.startsWith('/') || segments.includes('..') ? null : segments.join('/');
}

/** Passes bytes on, and knows whether they ended as a tar does. */
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

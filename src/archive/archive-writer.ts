/**
 * Writes a gzip-compressed tar. It is written to a temporary file, which is renamed once everything
 * is on disk. Until then an existing file of that name stays unchanged.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { finished, pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack, type Pack } from 'tar-stream';
import { makeFolder } from '../base/make-folder.ts';
import { syncPath } from '../base/sync-folder.ts';

/** Suffix of a file that is being written. */
const PART_SUFFIX = '.part';

export interface ArchiveOptions {
  /** Compression level, 1 to 9. */
  level: number;
  /**
   * The temporary file, in the same folder. One left by a crash is replaced. Default: the name with
   * a suffix.
   */
  part?: string;
}

export class ArchiveWriter {
  readonly #file: string;
  readonly #part: string;
  readonly #pack: Pack;
  readonly #written: Promise<void>;
  #failure: unknown;

  private constructor(file: string, part: string, { level }: ArchiveOptions) {
    this.#file = file;
    this.#part = part;
    this.#pack = pack();
    const target = createWriteStream(this.#part, { mode: 0o600 });
    this.#written = pipeline(
      this.#pack as unknown as NodeJS.ReadableStream,
      createGzip({ level, chunkSize: 64 * 1024 }),
      target,
    );
    this.#written.catch((error: unknown) => (this.#failure ??= error));
  }

  /** Creates the folder of the file if it does not exist. */
  static async create(file: string, options: ArchiveOptions): Promise<ArchiveWriter> {
    makeFolder(dirname(file), 0o700);
    const { part = file + PART_SUFFIX } = options;
    await rm(part, { force: true });
    return new ArchiveWriter(file, part, options);
  }

  async add(path: string, content: string | Buffer): Promise<void> {
    const bytes = Buffer.from(content);
    const whole = [bytes].filter(({ length }) => length > 0);
    await this.addStream(path, bytes.length, whole);
  }

  /** @param check called between chunks; an error that it throws stops adding the file */
  async addFile(path: string, file: string, check = (): void => {}): Promise<void> {
    const opened = await open(file);
    try {
      const { size } = await opened.stat();
      // A file may grow meanwhile; only its initial size is read.
      const source = size === 0 ? [] : createReadStream(file, { end: size - 1 });
      const checked = async function* (): AsyncGenerator<Buffer, undefined> {
        for await (const chunk of source) {
          check();
          yield chunk as Buffer;
        }
      };
      await this.addStream(path, size, checked());
    } finally {
      await opened.close();
    }
  }

  /**
   * Adds an entry, with backpressure from the disk. Throws if `source` does not have exactly `size`
   * bytes.
   */
  async addStream(
    path: string,
    size: number,
    source: Iterable<Buffer> | AsyncIterable<Buffer>,
  ): Promise<void> {
    this.#check();
    const entry = this.#pack.entry({ name: path, size, mode: 0o644, mtime: new Date(0) });
    // A failure of the file ends the wait for the entry.
    const broken = this.#written.then(
      () => {},
      () => {},
    );
    const closed = finished(entry as unknown as NodeJS.WritableStream).catch((error: unknown) => {
      this.#failure ??= error;
    });
    let written = 0;
    for await (const chunk of source) {
      written += chunk.length;
      if (written > size) break;
      if (!entry.write(chunk)) {
        const drained = new Promise<void>((done) => entry.once('drain', () => done()));
        await Promise.race([drained, broken]);
      }
      this.#check();
    }
    if (written !== size) {
      throw new Error(`${path} has ${written} bytes where ${size} were expected`);
    }
    entry.end(null);
    await Promise.race([closed, broken]);
    this.#check();
  }

  /** Syncs the archive to disk and renames it to its final name. */
  async finish(): Promise<void> {
    this.#pack.finalize();
    await this.#written;
    const part = await open(this.#part, 'r+');
    try {
      await part.sync();
    } finally {
      await part.close();
    }
    await rename(this.#part, this.#file);
    await syncPath(dirname(this.#file));
  }

  /** Deletes the temporary file. */
  async abort(): Promise<void> {
    this.#pack.destroy();
    await this.#written.catch(() => {});
    await rm(this.#part, { force: true });
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}

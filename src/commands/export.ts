/** `gannet export`: writes the documents of an index of a running server to a file. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { createGzip, type Gzip } from 'node:zlib';
import type { Options } from '../base/options.ts';
import { type Command, command, DONE, FAILED, FileError, type Terminal } from './command.ts';
import {
  CONNECTION_OPTIONS,
  connectTo,
  DEFAULT_URL,
  RETRY_OPTIONS,
  serverUrl,
} from './connection.ts';
import { CsvRows } from './csv-rows.ts';
import { documentPages } from './document-pages.ts';
import { counted, type Progress, showProgress } from './progress.ts';

const FORMATS = ['ndjson', 'csv'] as const;

const OPTIONS = {
  index: { kind: 'text', help: 'Uid of the index. Required.' },
  output: {
    kind: 'text',
    shown: 'standard output',
    help: 'File to write; compressed if its name ends in `.gz`.',
  },
  format: {
    kind: 'text',
    oneOf: FORMATS,
    shown: 'by the name of the file, else `ndjson`',
    help: '`ndjson`, one document per line, or `csv`, for spreadsheets: lists and objects become JSON texts.',
  },
  filter: { kind: 'text', help: 'Only documents that match this filter.' },
  vectors: { kind: 'flag', help: 'Include embeddings, as `_vectors`.' },
  ...CONNECTION_OPTIONS,
  ...RETRY_OPTIONS,
  quiet: { kind: 'flag', help: 'Hide progress.' },
} as const satisfies Options;

export const exportCommand: Command = command({
  name: 'export',
  summary: 'Writes the documents of an index to a file, for import or spreadsheets.',
  operands: '',
  notes:
    'The file gets its name only when it is complete. Documents are whole, including attributes that searches do not show\n' +
    '(displayedAttributes). To copy a whole server, use `gannet migrate` or a dump.',
  examples: [
    'export --index books --output books.ndjson.gz',
    "export --index books --filter 'year < 1870' | wc -l",
    'export --index books --output books.csv',
  ],
  options: OPTIONS,
  async run(given, _, terminal) {
    const index = given.required('index', 'the uid of the index to write');
    const url = serverUrl('url', given.text('url') ?? DEFAULT_URL);
    const format = given.values.format ?? formatOf(given.text('output'));
    const connection = connectTo(url, given, terminal);
    try {
      await connection.reach();
      const csv =
        format === 'csv' ? await CsvRows.of(connection, index, given.flag('vectors')) : null;
      const output = await Output.open(given.text('output'), terminal);
      try {
        const wanted = {
          index,
          filter: given.text('filter'),
          withVectors: given.flag('vectors'),
        };
        if (csv !== null) await output.write(csv.header());
        let written = 0;
        let total = 0;
        let progress: Progress | null = null;
        for await (const page of documentPages(connection, wanted)) {
          progress ??= await showProgress(terminal, 'reading', page.total, given.flag('quiet'));
          await output.write(csv === null ? page.lines : csv.rows(page));
          written += page.documents;
          total = page.total;
          progress.update(written, counted(written, 'document'));
        }
        progress?.end();
        await output.finish();
        terminal.complaints.write(`${counted(written, 'document')}\n`);
        if (written === total) return DONE;
        terminal.complaints.write(
          `The index now has ${counted(total, 'document')}: it was changed during the export.\n`,
        );
        return FAILED;
      } finally {
        await output.discard();
      }
    } finally {
      await connection.close();
    }
  },
});

function formatOf(path: string | null): (typeof FORMATS)[number] {
  return path !== null && /\.csv(?:\.gz)?$/i.test(path) ? 'csv' : 'ndjson';
}

/** A file that is renamed to its final name when it is complete, or a stream. */
class Output {
  readonly #path: string | null;
  /**
   * The stream to write to, and the one that reaches the file. Without compression, both are the
   * same.
   */
  readonly #entry: Writable | Gzip;
  readonly #sink: Writable;
  #failure: Error | null = null;
  #isDone = false;

  private constructor(path: string | null, sink: Writable, isCompressed: boolean) {
    this.#path = path;
    this.#sink = sink;
    const entry = isCompressed ? createGzip() : sink;
    this.#entry = entry;
    if (isCompressed) entry.pipe(sink);
    sink.on('error', (error) => {
      this.#failure ??= error;
      entry.destroy();
    });
  }

  /** @param path null: standard output */
  static async open(path: string | null, { output }: Terminal): Promise<Output> {
    if (path === null) return new Output(null, output, false);
    const sink = createWriteStream(partOf(path));
    try {
      await once(sink, 'open');
    } catch (error) {
      throw unwritable(path, error);
    }
    return new Output(path, sink, path.endsWith('.gz'));
  }

  async write(bytes: Buffer): Promise<void> {
    try {
      if (this.#failure === null && !this.#entry.write(bytes)) await this.#drained();
    } catch (error) {
      this.#failure ??= error as Error;
    }
    if (this.#failure !== null) throw unwritable(this.#path ?? 'standard output', this.#failure);
  }

  async finish(): Promise<void> {
    if (this.#path === null) {
      this.#isDone = true;
      return;
    }
    try {
      if (this.#failure !== null) throw this.#failure;
      const finished = once(this.#sink, 'close');
      this.#entry.end();
      await finished;
      if (this.#failure !== null) throw this.#failure as Error;
      const part = await open(partOf(this.#path), 'r');
      try {
        await part.sync();
      } finally {
        await part.close();
      }
      await rename(partOf(this.#path), this.#path);
      this.#isDone = true;
    } catch (error) {
      throw unwritable(this.#path, error);
    }
  }

  /** Deletes an incomplete file. */
  async discard(): Promise<void> {
    if (this.#isDone || this.#path === null) return;
    this.#sink.destroy();
    await rm(partOf(this.#path), { force: true });
  }

  async #drained(): Promise<void> {
    const broken = once(this.#sink, 'close');
    await Promise.race([once(this.#entry, 'drain'), broken]);
  }
}

function partOf(path: string): string {
  return `${path}.part`;
}

function unwritable(path: string, error: unknown): FileError {
  return new FileError(`${path} cannot be written: ${(error as Error).message}.`);
}

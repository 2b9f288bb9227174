/** `gannet import`: sends documents from files to an index of a running server. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { bad, BadOption, type GivenOptions, type Options } from '../base/options.ts';
import type { PeerBody } from '../outbound/api-peer.ts';
import { parseDelimiter } from '../records/csv-records.ts';
import { BadRecords } from './bad-records.ts';
import { BatchSender } from './batch-sender.ts';
import { type Batch, batchesOf } from './batches.ts';
import {
  type Command,
  command,
  DONE,
  FAILED,
  FileError,
  SKIPPED,
  type Terminal,
} from './command.ts';
import {
  authoritiesOf,
  type Connection,
  CONNECTION_OPTIONS,
  connectTo,
  DEFAULT_URL,
  RETRY_OPTIONS,
  serverUrl,
} from './connection.ts';
import { Downloads } from './downloads.ts';
import { Journal } from './journal.ts';
import { counted, type Progress, showProgress, sizeNote } from './progress.ts';
import { bytesOf, type Format, FORMATS, openSource, type Source } from './records.ts';
import { TaskTally } from './task-tally.ts';
import { watchFolder } from './watch.ts';

/** Maximum size of a batch, which is in memory while it is sent. */
const BATCH_MB_MAX = 1000;
const PARALLEL_MAX = 32;
const compressed = promisify(gzip);

const OPTIONS = {
  index: {
    kind: 'text',
    help: 'Uid of the index, which is created if it does not exist. Required.',
  },
  ...CONNECTION_OPTIONS,
  'primary-key': { kind: 'text', help: 'Attribute with the id of a document.' },
  update: {
    kind: 'flag',
    help: 'Update existing documents instead of replacing them.',
  },
  format: {
    kind: 'text',
    oneOf: FORMATS,
    shown: 'by the name of the file, else by its first byte',
    help: '`json` (an array, or documents one after another) or `csv` (also for TSV).',
  },
  'csv-delimiter': {
    kind: 'text',
    shown: 'a comma, or a tab for a file named .tsv',
    help: 'Delimiter of CSV: one character, or `tab`.',
  },
  'batch-mb': {
    kind: 'count',
    initial: '20',
    min: 1,
    max: BATCH_MB_MAX,
    help: 'Megabytes per request.',
  },
  parallel: {
    kind: 'count',
    initial: '1',
    min: 1,
    max: PARALLEL_MAX,
    help: 'Concurrent requests. With more than one, either of two documents with the same id may win.',
  },
  gzip: { kind: 'flag', help: 'Compress requests, for slow networks.' },
  journal: {
    kind: 'text',
    help: 'File that records progress: repeat the command to resume. Deleted at the end.',
  },
  watch: {
    kind: 'text',
    help: 'Import the files of this folder, and those that appear there, until Ctrl-C. Needs `--journal`.',
  },
  'skip-bad': {
    kind: 'text',
    help: 'Write documents that the server refuses to this file; then they do not change the exit status.',
  },
  'no-wait': { kind: 'flag', help: 'Exit when everything is accepted, before it is indexed.' },
  quiet: { kind: 'flag', help: 'Hide progress.' },
  ...RETRY_OPTIONS,
} as const satisfies Options;

type Given = GivenOptions<typeof OPTIONS>;

interface ImportPlan {
  index: string;
  primaryKey: string | null;
  update: boolean;
  format: Format | null;
  /** null: determined by the name of each file. */
  delimiter: string | null;
  batchBytes: number;
  parallel: number;
  gzip: boolean;
  /** null: documents that the server refuses are only named. */
  skipBad: string | null;
  wait: boolean;
  quiet: boolean;
  /** A folder whose files are imported as they appear; null: those that are named. */
  watch: string | null;
}

export const importCommand: Command = command({
  name: 'import',
  summary: 'Sends documents from files, URLs or standard input to an index.',
  operands: '[FILE|URL]...',
  notes:
    'Files are JSON (an array, or one document after another) or CSV, optionally compressed with gzip; `-` or no file means\n' +
    'standard input. The text is UTF-8. The command repeats requests that fail temporarily. A document that the server\n' +
    'refuses is named by file and line, and skipped; the exit status is 4 then.',
  examples: [
    'import books.ndjson --index books',
    'import parts/*.json.gz --index parts --primary-key sku --journal parts.journal',
    'import --index books --format csv < books.csv',
    'import https://example.org/books.ndjson.gz --index books --journal books.journal',
    'import books.tsv --index books --skip-bad refused.csv',
    'import --watch incoming --index books --journal incoming.journal',
  ],
  options: OPTIONS,
  async run(given, operands, terminal) {
    const plan = planOf(given, operands);
    const url = serverUrl('url', given.text('url') ?? DEFAULT_URL);
    const files = operands.length === 0 ? ['-'] : operands;
    const connection = connectTo(url, given, terminal);
    const downloads = new Downloads({
      authorities: authoritiesOf(given),
      retrySeconds: given.values['retry-seconds'],
      signal: terminal.signal,
    });
    let journal: Journal | null = null;
    let badRecords: BadRecords | null = null;
    try {
      const bytesTotal = plan.watch === null ? await bytesOf(files, downloads) : null;
      await connection.reach();
      const path = given.text('journal');
      if (path !== null) journal = await openJournal(path, plan, connection);
      if (plan.skipBad !== null) badRecords = await BadRecords.open(plan.skipBad, path !== null);
      const parts = { journal, badRecords, downloads };
      const importer = (): Importer => new Importer(plan, connection, parts, terminal);
      if (plan.watch !== null && journal !== null) {
        const importFile = (file: string, bytes: number) => importer().run([file], bytes);
        const folder = { folder: plan.watch, takesAll: plan.format !== null };
        await watchFolder({ ...folder, journal, importFile }, terminal);
      }
      const status = await importer().run(files, bytesTotal);
      if (status !== FAILED && plan.wait) await journal?.erase();
      return status;
    } finally {
      await badRecords?.close();
      await journal?.close();
      await downloads.close();
      await connection.close();
    }
  },
});

function planOf(given: Given, operands: readonly string[]): ImportPlan {
  const index = given.required('index', 'the uid of the index to send documents to');
  const format = given.values.format;
  const delimiter = delimiterGiven(given.text('csv-delimiter'));
  const skipBad = given.text('skip-bad');
  if (skipBad !== null && given.flag('no-wait')) {
    throw new BadOption('skip-bad waits for the tasks, so it cannot be combined with no-wait.');
  }
  const watch = given.text('watch');
  if (watch !== null && (given.text('journal') === null || given.flag('no-wait'))) {
    throw new BadOption('watch needs a journal, and waits for the tasks.');
  }
  if (watch !== null && operands.length > 0) {
    throw new BadOption('watch imports the files of its folder; no others can be named.');
  }
  return {
    watch,
    index,
    format,
    delimiter,
    skipBad,
    primaryKey: given.text('primary-key'),
    update: given.flag('update'),
    batchBytes: given.values['batch-mb'] * 1e6,
    parallel: given.values.parallel,
    gzip: given.flag('gzip'),
    wait: !given.flag('no-wait'),
    quiet: given.flag('quiet'),
  };
}

function delimiterGiven(text: string | null): string | null {
  if (text === null) return null;
  return (
    parseDelimiter(text) ??
    bad('csv-delimiter', text, 'one ASCII character that is not a quote, or `tab`')
  );
}

/** Opens the journal. Batches whose tasks are waiting, running or succeeded count as taken. */
async function openJournal(
  path: string,
  { index, primaryKey, update, watch }: ImportPlan,
  connection: Connection,
): Promise<Journal> {
  const way = update ? 'update' : 'replace';
  const journal = await Journal.open(path, {
    server: connection.address,
    index,
    primaryKey,
    way,
    ...(watch === null ? {} : { watch }),
  });
  const tasks = await connection.tasks(journal.taskUids);
  const good = tasks.filter(
    ({ status, indexUid }) => status !== 'failed' && status !== 'canceled' && indexUid === index,
  );
  journal.keep(new Set(good.map(({ uid }) => uid)));
  return journal;
}

interface Parts {
  journal: Journal | null;
  badRecords: BadRecords | null;
  downloads: Downloads;
}

class Importer {
  readonly #plan: ImportPlan;
  readonly #connection: Connection;
  readonly #journal: Journal | null;
  readonly #badRecords: BadRecords | null;
  readonly #downloads: Downloads;
  readonly #terminal: Terminal;
  /** The file and lines of each task. */
  readonly #origins = new Map<number, string>();
  #documents = 0;
  #refused = 0;
  #skipped = 0;
  /** Total bytes of completely read files. */
  #bytesRead = 0;

  constructor(
    plan: ImportPlan,
    connection: Connection,
    { journal, badRecords, downloads }: Parts,
    terminal: Terminal,
  ) {
    this.#plan = plan;
    this.#connection = connection;
    this.#journal = journal;
    this.#badRecords = badRecords;
    this.#downloads = downloads;
    this.#terminal = terminal;
  }

  async run(files: readonly string[], bytesTotal: number | null): Promise<number> {
    const { quiet, wait, index } = this.#plan;
    const begun = performance.now();
    const progress = await showProgress(this.#terminal, 'sending ', bytesTotal, quiet);
    try {
      for (const file of files) await this.#sendFile(file, bytesTotal, progress);
    } catch (error) {
      progress.end();
      this.#tellWhereItStopped();
      throw error;
    }
    progress.end();
    const { output } = this.#terminal;
    const seconds = (): string => ((performance.now() - begun) / 1000).toFixed(1);
    const skipped = this.#skipped === 0 ? '' : `, ${this.#skipped} sent before`;
    output.write(
      `${counted(this.#documents - this.#skipped, 'document')} sent to \`${index}\` in ${counted(this.#origins.size, 'task')} after ${seconds()} s${skipped}\n`,
    );
    const { skipBad } = this.#plan;
    if (this.#refused > 0) {
      const where = skipBad === null ? 'skipped' : `saved to ${skipBad}`;
      output.write(`${counted(this.#refused, 'refused document')} ${where}\n`);
    }
    // With a file for them, they are expected.
    const status = this.#refused > 0 && skipBad === null ? SKIPPED : DONE;
    if (!wait) return status;
    const tally = new TaskTally(this.#terminal, quiet);
    const uids = [...this.#origins.keys()];
    const failed = await tally.waitFor(this.#connection, uids, this.#origins);
    if (failed > 0) return FAILED;
    output.write(`indexed after ${seconds()} s\n`);
    return status;
  }

  #tellWhereItStopped(): void {
    if (this.#plan.watch !== null || (this.#documents === 0 && this.#journal === null)) return;
    const more =
      this.#journal === null
        ? 'With --journal FILE you can resume an import.'
        : 'Repeat the command to resume.';
    this.#terminal.complaints.write(
      `Stopped after ${counted(this.#documents, 'document')}. ${more}\n`,
    );
  }

  async #sendFile(file: string, bytesTotal: number | null, progress: Progress): Promise<void> {
    const source = await openSource(
      file,
      { input: this.#terminal.input, downloads: this.#downloads },
      this.#plan,
    );
    const sender = this.#senderOf(source);
    try {
      await this.#sendAll(source, sender, (done) =>
        progress.update(
          done,
          `${sizeNote(done, bytesTotal)}, ${counted(this.#documents + sender.documents, 'document')}`,
        ),
      );
    } finally {
      this.#documents += sender.documents;
      this.#refused += sender.refused;
    }
    this.#bytesRead += source.bytesRead();
  }

  async #sendAll(
    source: Source,
    sender: BatchSender,
    update: (done: number) => void,
  ): Promise<void> {
    const batches = batchesOf(source.records, source.header, this.#plan.batchBytes);
    const underWay = new Set<Promise<void>>();
    let failure: { error: unknown } | null = null;
    let isEmpty = true;
    for await (const batch of batches) {
      isEmpty = false;
      this.#terminal.signal.throwIfAborted();
      const taken = this.#journal?.take(batch.sha256) ?? null;
      if (taken === null) {
        const sending: Promise<void> = sender
          .send(batch)
          .catch((error: unknown) => {
            failure ??= { error };
          })
          .finally(() => underWay.delete(sending));
        underWay.add(sending);
      } else {
        sender.keep(batch, taken);
        this.#skipped += batch.documents;
      }
      if (underWay.size >= this.#plan.parallel) await Promise.race(underWay);
      if (failure !== null) break;
      if (sender.isFull) {
        await Promise.all(underWay);
        if (failure !== null) break;
        await sender.settle();
      }
      update(this.#bytesRead + source.bytesRead());
    }
    await Promise.all(underWay);
    if (failure !== null) throw (failure as { error: unknown }).error;
    if (isEmpty && source.textBytes() > 0) {
      throw new FileError(`${source.name} holds no documents, although it is not empty.`);
    }
    for (const [taskUid, lines] of await sender.end()) {
      this.#origins.set(taskUid, `${source.name}, lines ${lines.first} to ${lines.last}`);
    }
  }

  #senderOf(source: Source): BatchSender {
    return new BatchSender({
      connection: this.#connection,
      waits: this.#plan.wait,
      register: (batch) => this.#register(batch, source),
      registered: async ({ sha256 }, taskUid) => this.#journal?.add(sha256, taskUid),
      refused: async (batch, fault) => {
        this.#terminal.complaints.write(`${source.name}:${batch.lines.first}: ${fault}\n`);
        await this.#badRecords?.add(source.header, batch.records);
      },
    });
  }

  async #register(batch: Batch, { format, delimiter }: Source): Promise<number> {
    const { index, primaryKey, update } = this.#plan;
    const query = new URLSearchParams({
      ...(primaryKey === null ? {} : { primaryKey }),
      ...(format === 'csv' && delimiter !== ',' ? { csvDelimiter: delimiter } : {}),
    });
    return this.#connection.register({
      method: update ? 'PUT' : 'POST',
      path: `/indexes/${encodeURIComponent(index)}/documents?${query.toString()}`,
      body: await this.#body(batch, format),
    });
  }

  async #body({ bytes }: Batch, format: Format): Promise<PeerBody> {
    const type = format === 'csv' ? 'text/csv' : 'application/x-ndjson';
    if (!this.#plan.gzip) return { bytes, headers: { 'content-type': type } };
    return {
      bytes: await compressed(bytes, { level: 4 }),
      headers: { 'content-type': type, 'content-encoding': 'gzip' },
    };
  }
}

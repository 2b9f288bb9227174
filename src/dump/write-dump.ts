/** Writes all data of a server to one file, from which `import-dump.ts` restores it. */
import { rfc3339 } from '../base/clock.ts';
import { jsonString } from '../base/json.ts';
import { pauser } from '../base/pauser.ts';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ArchiveWriter } from '../archive/archive-writer.ts';
import { type BackupStore, removeOldest } from '../archive/backup-store.ts';
import { objectLines } from '../archive/json-values.ts';
import { newlinesIn } from '../base/newlines.ts';
import { DUMP_NAME } from '../contract/dumps.ts';
import type { FeatureSet } from '../contract/features.ts';
import { isInitial, SETTING_ENTRIES, type SettingsObject } from '../contract/settings.ts';
import { FLAG } from '../contract/task-types/task-type.ts';
import type { TaskView } from '../contract/responses.ts';
import type { IndexEntry } from '../engine/registry.ts';
import { idsOf } from '../tasks/run/documents.ts';
import { type RunContext, type RunResult, succeeded } from '../tasks/run/run.ts';
import { batchView, taskView } from '../tasks/view.ts';
import { type DumpStores, dumpSections } from './sections.ts';
import { batchLine, taskLine } from './write-task.ts';

/** Approximate number of bytes of documents in memory at a time. */
const READ_BYTES = 2 ** 20;
/**
 * Compression level. Higher levels take several times as long for a file that is a tenth smaller.
 */
const COMPRESSION = 4;

function isDump(name: string): boolean {
  return DUMP_NAME.test(name);
}

export interface DumpOptions extends DumpStores {
  backups: BackupStore;
  /** How many dumps remain; null: all. */
  kept: number | null;
  instanceUid: string;
  /** Version of the program. */
  version: string;
}

/** Creates the function that runs a `dumpCreation` task. */
export function dumpRunner(options: DumpOptions): (context: RunContext) => Promise<RunResult> {
  return (context) => new DumpWriter(options, context).run();
}

class DumpWriter {
  readonly #options: DumpOptions;
  readonly #context: RunContext;
  readonly #dumpUid: string;
  readonly #file: string;
  /**
   * The same path for each dump of this server, so that the next dump replaces a file left by a
   * crash.
   */
  readonly #unfinished: string;
  #step = 0;

  constructor(options: DumpOptions, context: RunContext) {
    this.#options = options;
    this.#context = context;
    this.#dumpUid = dumpUidOf(context.now);
    const { folder } = options.backups;
    this.#file = join(folder, `${this.#dumpUid}.dump`);
    this.#unfinished = join(folder, options.instanceUid);
  }

  async run(): Promise<RunResult> {
    this.#enter('start the dump creation');
    const part = `${this.#unfinished}.part`;
    const archive = await ArchiveWriter.create(this.#file, { level: COMPRESSION, part });
    try {
      await this.#write(archive);
      this.#enter('compress the dump');
      await archive.finish();
    } catch (error) {
      await archive.abort();
      throw error;
    }
    await this.#options.backups.keep(`${this.#dumpUid}.dump`);
    // The dump is there, whatever becomes of the old ones.
    await removeOldest(this.#options.backups, isDump, this.#options.kept).catch(() => {});
    const details = { dumpUid: this.#dumpUid };
    return {
      ends: this.#context.batch.uids.map((uid) => ({ ...succeeded(uid, null), details })),
    };
  }

  async #write(archive: ArchiveWriter): Promise<void> {
    const { version, instanceUid } = this.#options;
    const { now, registry } = this.#context;
    const metadata = { dumpVersion: 'V6', dbVersion: version, dumpDate: now };
    await archive.add('metadata.json', `${JSON.stringify(metadata)}\n`);
    await archive.add('instance_uid.uuid', instanceUid);
    for (const section of dumpSections(this.#options)) {
      this.#enter(section.step);
      for (const { path, text } of section.files()) await archive.add(path, text);
    }
    await this.#writeTasks(archive);
    this.#enter('dump the indexes');
    const { progress } = this.#context;
    const indexes = registry.list();
    for (const [n, [uid, entry]] of indexes.entries()) {
      progress.enter(2, 'index', n, indexes.length);
      await this.#writeIndex(archive, uid, entry);
    }
  }

  /** Enters a step. Names are for people; the number of steps is constant within a version. */
  #enter(step: string): void {
    this.#context.cancel.check();
    this.#context.progress.enter(1, step, this.#step++, STEPS);
  }

  // --- Tasks -------------------------------------------------------------------------------------

  /**
   * Writes the tasks registered so far. Lines go to a temporary file first, because a tar entry
   * begins with its size.
   */
  async #writeTasks(archive: ArchiveWriter): Promise<void> {
    const { store, cancel } = this.#context;
    this.#enter('dump the tasks');
    const end = store.table.nextTaskUid;
    const enqueued = new EnqueuedDates(store.table.batches.tasks.length);
    const waiting: number[] = [];
    const pause = pauser();
    const lineOf = (view: TaskView): Promise<unknown> => this.#taskLine(view);
    await this.#addLines(archive, 'tasks/queue.jsonl', async function* () {
      for (let uid = 0; uid < end; uid++) {
        const view = taskView(store, uid);
        if (await pause()) cancel.check();
        if (view === undefined) continue;
        if (view.batchUid !== null) enqueued.add(view.batchUid, Date.parse(view.enqueuedAt));
        if (view.status === 'enqueued' && view.type === 'documentAdditionOrUpdate') {
          waiting.push(uid);
        }
        yield await lineOf(view);
      }
    });
    for (const uid of waiting) await this.#writePayload(archive, uid);
    this.#enter('dump the batches');
    await this.#addLines(archive, 'batches/queue.jsonl', async function* () {
      for (let uid = 0; uid < enqueued.length; uid++) {
        const row = store.batch(uid);
        if (await pause()) cancel.check();
        if (row !== undefined) yield batchLine(batchView(uid, row), enqueued.of(uid));
      }
    });
  }

  async #taskLine(view: TaskView): Promise<unknown> {
    const { store, batch } = this.#context;
    const { uid } = view;
    const record = store.record(uid)!;
    const row = store.row(uid)!;
    const byIds = row.type === 'documentDeletion' && row.by === 'ids';
    const source = {
      row,
      view: batch.uids.includes(uid) ? this.#itself(view) : view,
      mayCreateIndex: (record.flags & FLAG.mayCreateIndex) !== 0,
      ids: byIds && view.status === 'enqueued' ? await idsOf(store, uid) : [],
      nameOf: (index: number) => store.indexName(index),
    };
    return taskLine(source);
  }

  /** Marks the task of this dump as finished; otherwise it would run again after an import. */
  #itself(view: TaskView): TaskView {
    const finishedAt = rfc3339(Math.max(Date.now(), Date.parse(this.#context.now)));
    return {
      ...view,
      batchUid: null,
      status: 'succeeded',
      details: { dumpUid: this.#dumpUid },
      startedAt: this.#context.now,
      finishedAt,
    };
  }

  /** Writes a payload, which is read twice because a tar entry begins with its size. */
  async #writePayload(archive: ArchiveWriter, uid: number): Promise<void> {
    const { store } = this.#context;
    const inFile = (store.record(uid)!.flags & FLAG.payloadFile) !== 0;
    const lines = (): AsyncGenerator<Buffer, undefined> =>
      objectLines(
        inFile ? createReadStream(store.payloadFile(uid)) : [store.payload(uid) ?? Buffer.alloc(0)],
      );
    await archive.addStream(
      `tasks/update_files/${uid}.jsonl`,
      await this.#bytesOf(lines()),
      lines(),
    );
  }

  async #addLines(
    archive: ArchiveWriter,
    path: string,
    lines: () => AsyncIterable<unknown>,
  ): Promise<void> {
    const spool = `${this.#unfinished}.lines`;
    try {
      const texts = async function* (): AsyncGenerator<string, undefined> {
        for await (const line of lines()) yield `${jsonString(line)}\n`;
      };
      await pipeline(texts, createWriteStream(spool));
      await archive.addFile(path, spool);
    } finally {
      await rm(spool, { force: true });
    }
  }

  // --- Indexes -----------------------------------------------------------------------------------

  async #writeIndex(archive: ArchiveWriter, uid: string, entry: IndexEntry): Promise<void> {
    const { cancel, progress } = this.#context;
    const { createdAt, summary, settings } = entry;
    const { primaryKey, updatedAt } = summary;
    const folder = `indexes/${uid}`;
    const metadata = { uid, primaryKey, createdAt, updatedAt };
    await archive.add(`${folder}/metadata.json`, `${JSON.stringify(metadata)}\n`);
    const shown = dumpedSettings(settings, this.#options.features.get());
    await archive.add(`${folder}/settings.json`, `${jsonString(shown)}\n`);
    const documents = await entry.handle.openDocuments(JSON.stringify({ filter: null }));
    try {
      const size = await this.#bytesOf(documents.lines(READ_BYTES));
      const { total } = documents;
      let read = 0;
      const counted = async function* (): AsyncGenerator<Buffer, undefined> {
        for await (const lines of documents.lines(READ_BYTES)) {
          cancel.check();
          yield lines;
          read += newlinesIn(lines);
          progress.enter(3, 'document', read, total);
        }
      };
      await archive.addStream(`${folder}/documents.jsonl`, size, counted());
    } finally {
      documents.close();
    }
  }

  async #bytesOf(source: AsyncIterable<Buffer>): Promise<number> {
    let bytes = 0;
    for await (const chunk of source) {
      bytes += chunk.length;
      this.#context.cancel.check();
    }
    return bytes;
  }
}

/**
 * Settings with secrets in clear. Settings of disabled features are included only if they are set,
 * because other servers may not support them.
 */
function dumpedSettings(settings: SettingsObject, features: FeatureSet): Record<string, unknown> {
  const shown = SETTING_ENTRIES.filter(
    (entry) =>
      (entry.addition !== true && (entry.feature === undefined || features[entry.feature])) ||
      !isInitial(entry, settings[entry.name]),
  );
  return Object.fromEntries(shown.map(({ name }) => [name, settings[name]]));
}

/** The number of steps: start, the sections, tasks, batches, indexes, end. */
const STEPS = 10;

/** The dump uid, from the start of the processing in UTC: `YYYYMMDD-HHMMSSmmm`. */
function dumpUidOf(now: string): string {
  const [date, time] = new Date(now).toISOString().replace('Z', '').split('T');
  return `${date!.replaceAll('-', '')}-${time!.replaceAll(/[:.]/g, '')}`;
}

/** For each batch, the dates at which its first and its last task were registered. */
class EnqueuedDates {
  readonly length: number;
  readonly #first: Float64Array;
  readonly #last: Float64Array;

  constructor(length: number) {
    this.length = length;
    this.#first = new Float64Array(length).fill(Infinity);
    this.#last = new Float64Array(length).fill(-Infinity);
  }

  add(batchUid: number, enqueuedAt: number): void {
    this.#first[batchUid] = Math.min(this.#first[batchUid]!, enqueuedAt);
    this.#last[batchUid] = Math.max(this.#last[batchUid]!, enqueuedAt);
  }

  of(batchUid: number): { first: string; last: string } {
    return { first: rfc3339(this.#first[batchUid]!), last: rfc3339(this.#last[batchUid]!) };
  }
}

/**
 * `gannet verify`: reads everything of a data folder that no server has open, and tells what is
 * damaged.
 *
 * The parts, the task store and every index, are read in another process: LMDB has no checksums,
 * and a damaged page may end the process that follows it. A process that has met damage reads no
 * further part.
 */
import { on } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Call, Isolate } from './base/isolate.ts';
import { loadAddon } from './engine/addon.ts';
import type { IndexReport } from './engine/native.ts';
import { analyticsFolder, verifyAnalytics } from './store/analytics-store.ts';
import { DataFolderError, inspectDataFolder } from './store/data-folder.ts';
import { fromRuns } from './base/uid-runs.ts';
import { type Fault, type StoreReport, verifyStore } from './store/verify-store.ts';

/** Exit status: everything is valid; something is damaged; it could not be checked. */
export const VALID = 0;
export const DAMAGED = 1;
export const UNCHECKED = 2;

/** How a line about something damaged begins. */
const DAMAGED_PREFIX = 'damaged: ';

/** The first argument of the processes that read parts. */
export const VERIFY_PARTS = 'verify-parts';

/** No index has a folder of these names. */
const STORE_PART = 'store';
const ANALYTICS_PART = 'analytics';
/** No further part is read. */
const NO_PART = '';

/** @param version of this program */
export async function verifyFolder(
  path: string,
  version: string,
  print: (line: string) => void,
): Promise<number> {
  let folder: Awaited<ReturnType<typeof inspectDataFolder>>;
  try {
    folder = await inspectDataFolder(path, version);
  } catch (error) {
    if (!(error instanceof DataFolderError)) throw error;
    print(error.message);
    return UNCHECKED;
  }
  const parts = new PartReader(folder.dir);
  try {
    const check = new FolderCheck(folder.dir, parts, print);
    check.tell(folder.faults.map((message) => ({ file: '.', structure: 'folder', message })));
    const faults = await check.run();
    print(
      faults === 0 ? 'Everything is valid.' : `${faults} ${faults === 1 ? 'fault' : 'faults'}.`,
    );
    return faults === 0 ? VALID : DAMAGED;
  } finally {
    parts.close();
    await folder.close();
  }
}

/** Reads part by part and tells of each. */
class FolderCheck {
  readonly #dir: string;
  readonly #parts: PartReader;
  readonly #print: (line: string) => void;
  #faults = 0;

  constructor(dir: string, parts: PartReader, print: (line: string) => void) {
    this.#dir = dir;
    this.#parts = parts;
    this.#print = print;
  }

  /** @returns the number of faults reported */
  async run(): Promise<number> {
    const store = await this.#readStore();
    if (existsSync(analyticsFolder(this.#dir))) await this.#readAnalytics();
    const indexDir = join(this.#dir, 'indexes');
    const entries = new Map(
      store?.indexes.map(([uid, { uuid, summary }]) => [uuid, { uid, summary }]),
    );
    const enqueued = new Set(fromRuns(store?.enqueued ?? []));
    for (const uuid of existsSync(indexDir) ? readdirSync(indexDir).toSorted() : []) {
      const entry = entries.get(uuid);
      if (store !== null && entry === undefined)
        this.#print(`unused: indexes/${uuid}: no index of the store; erased at the next start`);
      else await this.#readIndex(uuid, entry, enqueued);
    }
    return this.#faults;
  }

  tell(faults: readonly Fault[]): void {
    for (const fault of faults)
      this.#print(`${DAMAGED_PREFIX}${fault.file}: ${fault.structure}: ${fault.message}`);
    this.#faults += faults.length;
  }

  async #readStore(): Promise<StoreReport | null> {
    const { report, faults } = await this.#parts.read<StoreReport>(STORE_PART, 'store/data.mdb');
    this.tell(faults);
    if (report === null) return null;
    const { tasks, batches, indexes } = report;
    this.#print(`store: ${tasks} tasks, ${batches} batches, ${indexes.length} indexes`);
    return report;
  }

  async #readAnalytics(): Promise<void> {
    const file = 'analytics/data.mdb';
    const { report, faults } = await this.#parts.read<AnalyticsReport>(ANALYTICS_PART, file);
    this.tell(faults);
    const rows = report?.rows ?? null;
    if (rows !== null) this.#print(`analytics: ${rows} searches and events`);
  }

  /**
   * @param entry what the store says of the index; undefined: it cannot be read
   * @param enqueued uids of tasks
   */
  async #readIndex(
    uuid: string,
    entry: { uid: string; summary: StoreReport['indexes'][number][1]['summary'] } | undefined,
    enqueued: ReadonlySet<number>,
  ): Promise<void> {
    const file = `indexes/${uuid}`;
    const { report, faults } = await this.#parts.read<IndexReport>(uuid, `${file}/index.mdb`);
    this.tell(
      faults.map((fault) => ({
        ...fault,
        file: report === null ? fault.file : `${file}/${fault.file}`,
      })),
    );
    if (report === null) return;
    for (const name of report.unused)
      this.#print(`unused: ${file}/${name}: erased at the next start`);
    // As at a start, when the store learns which waiting tasks the index has applied.
    const { batchUid, taskUids } = report.lastBatch ?? { batchUid: 0, taskUids: [] };
    const unrecorded = taskUids.length > 0 && taskUids.every((uid) => enqueued.has(uid));
    if (unrecorded)
      this.#print(`unrecorded: ${file}: batch ${batchUid}; recorded at the next start`);
    const counted = unrecorded ? undefined : entry?.summary?.numberOfDocuments;
    if (counted !== undefined && counted !== report.documents && faults.length === 0) {
      const message = `\`${entry!.uid}\` is said to have ${counted} documents and has ${report.documents}`;
      this.tell([{ file: 'store/data.mdb', structure: 'indexes', message }]);
    }
    const name = entry === undefined ? '' : ` (\`${entry.uid}\`)`;
    this.#print(
      `${file}${name}: ${report.documents} documents, ${report.segments} segments, ${report.tokens} words, ${report.bytes} bytes`,
    );
  }
}

/** What `verifyFolder` finds damaged in a folder, or why it cannot be read. */
export async function faultsOf(path: string, version: string): Promise<string[]> {
  const lines: string[] = [];
  const status = await verifyFolder(path, version, (line) => lines.push(line));
  if (status === VALID) return [];
  if (status === UNCHECKED) return lines;
  return lines.flatMap((line) =>
    line.startsWith(DAMAGED_PREFIX) ? [line.slice(DAMAGED_PREFIX.length)] : [],
  );
}

interface Part<R> {
  faults: readonly Fault[];
  /** Null when the process that should make it has died. */
  report: R | null;
}

/** Reads parts one by one, in another process. */
class PartReader {
  readonly #dir: string;
  #reader: Isolate<string, unknown> | null = null;
  #call: Call<unknown> | null = null;

  /** @param dir of the data folder */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** @param file what is damaged when the process dies of this part */
  async read<R extends { faults: Fault[] }>(part: string, file: string): Promise<Part<R>> {
    if (this.#reader?.hasEnded !== false) this.#reader = this.#start();
    const call = this.#reader.open<unknown>();
    this.#call = call;
    this.#reader.send(part);
    let report: R;
    try {
      report = (await call.result) as R;
    } catch (error) {
      const message = `reading it has failed: ${(error as Error).message}`;
      return { report: null, faults: [{ file, structure: 'file', message }] };
    }
    if (report.faults.length > 0) this.close();
    return { report, faults: report.faults };
  }

  /** The process closes what it has open. */
  close(): void {
    this.#reader?.send(NO_PART);
    this.#reader = null;
  }

  #start(): Isolate<string, unknown> {
    return new Isolate({
      host: {
        process: process.argv[1]!,
        args: [VERIFY_PARTS, this.#dir],
        options: { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] },
      },
      take: (report) => this.#call?.resolve(report),
      fault: ({ cause }) => new Error(cause),
    });
  }
}

interface AnalyticsReport {
  faults: Fault[];
  /** null: nothing was ever recorded. */
  rows: number | null;
}

async function readAnalytics(dir: string): Promise<AnalyticsReport> {
  const faults: Fault[] = [];
  const rows = await verifyAnalytics(analyticsFolder(dir), (structure, message) =>
    faults.push({ file: 'analytics/data.mdb', structure, message }),
  );
  return { faults, rows };
}

/**
 * What the process that reads parts does: it answers each name of one with a report, until the
 * connection ends.
 */
export async function verifyParts(dir: string): Promise<void> {
  const names: AsyncIterable<unknown[]> = on(process, 'message', { close: ['disconnect'] });
  for await (const [name] of names) {
    if (name === NO_PART) break;
    const report = await verifyPart(dir, String(name));
    await new Promise<void>((done, failed) => {
      process.send!(report, undefined, undefined, (error) =>
        error === null ? done() : failed(error),
      );
    });
  }
}

async function verifyPart(dir: string, part: string): Promise<{ faults: Fault[] }> {
  if (part === STORE_PART) return verifyStore(dir);
  if (part === ANALYTICS_PART) return readAnalytics(dir);
  return JSON.parse(await loadAddon().verifyIndex(join(dir, 'indexes', part))) as IndexReport;
}

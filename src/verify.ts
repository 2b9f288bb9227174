/**
 * `gannet verify`: reads everything of a data folder that no server has open, and tells what is damaged.
 *
 * Each part, the task store and every index, is read in a process of its own: LMDB has no checksums, and a damaged page
 * may end the process that follows it.
 */
import { fork } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { loadAddon } from './engine/addon.ts';
import type { IndexReport } from './engine/native.ts';
import { analyticsFolder, verifyAnalytics } from './store/analytics-store.ts';
import { DataFolderError, inspectDataFolder } from './store/data-folder.ts';
import { fromRuns } from './base/uid-runs.ts';
import { type Fault, type StoreReport, verifyStore } from './store/verify-store.ts';

/** Exit status: all is sound; something is damaged; it could not be checked. */
export const SOUND = 0;
export const DAMAGED = 1;
export const UNCHECKED = 2;

/** The first argument of the processes that read one part. */
export const VERIFY_PART = 'verify-part';

/** No index has a folder of this name. */
const ANALYTICS_PART = 'analytics';

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
  try {
    const faults: Fault[] = folder.faults.map((message) => ({
      file: '.',
      structure: 'folder',
      message,
    }));
    const tell = (more: readonly Fault[]): void => {
      for (const fault of more)
        print(`damaged: ${fault.file}: ${fault.structure}: ${fault.message}`);
      if (more !== faults) faults.push(...more);
    };
    tell(faults);
    const store = await readPart<StoreReport>(folder.dir, 'store', 'store/data.mdb');
    tell(store.faults);
    if (store.report !== null) {
      const { tasks, batches, indexes } = store.report;
      print(`store: ${tasks} tasks, ${batches} batches, ${indexes.length} indexes`);
    }
    const uids = new Map(store.report?.indexes.map(([uid, { uuid }]) => [uuid, uid]));
    const summaries = new Map(
      store.report?.indexes.map(([, { uuid, summary }]) => [uuid, summary]),
    );
    const enqueued = new Set(fromRuns(store.report?.enqueued ?? []));
    if (existsSync(analyticsFolder(folder.dir))) {
      const file = 'analytics/data.mdb';
      const analytics = await readPart<AnalyticsReport>(folder.dir, ANALYTICS_PART, file);
      tell(analytics.faults);
      const rows = analytics.report?.rows ?? null;
      if (rows !== null) print(`analytics: ${rows} searches and events`);
    }
    const indexDir = join(folder.dir, 'indexes');
    for (const uuid of existsSync(indexDir) ? readdirSync(indexDir).toSorted() : []) {
      const file = `indexes/${uuid}`;
      if (store.report !== null && !uids.has(uuid)) {
        print(`unused: ${file}: no index of the store; erased at the next start`);
        continue;
      }
      const { report, faults: found } = await readPart<IndexReport>(
        folder.dir,
        uuid,
        `${file}/index.mdb`,
      );
      tell(
        found.map((fault) => ({
          ...fault,
          file: report === null ? fault.file : `${file}/${fault.file}`,
        })),
      );
      if (report === null) continue;
      for (const name of report.unused) print(`unused: ${file}/${name}: erased at the next start`);
      // As at a start: what the index has of tasks that still wait is told to the store then.
      const { batchUid, taskUids } = report.lastBatch ?? { batchUid: 0, taskUids: [] };
      const unrecorded = taskUids.length > 0 && taskUids.every((uid) => enqueued.has(uid));
      if (unrecorded) print(`unrecorded: ${file}: batch ${batchUid}; recorded at the next start`);
      const counted = unrecorded ? undefined : summaries.get(uuid)?.numberOfDocuments;
      if (counted !== undefined && counted !== report.documents && found.length === 0) {
        tell([
          {
            file: 'store/data.mdb',
            structure: 'indexes',
            message: `\`${uids.get(uuid)}\` is said to have ${counted} documents and has ${report.documents}`,
          },
        ]);
      }
      const name = uids.has(uuid) ? ` (\`${uids.get(uuid)}\`)` : '';
      print(
        `${file}${name}: ${report.documents} documents, ${report.segments} segments, ${report.tokens} words, ${report.bytes} bytes`,
      );
    }
    print(
      faults.length === 0
        ? 'All is sound.'
        : `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}.`,
    );
    return faults.length === 0 ? SOUND : DAMAGED;
  } finally {
    await folder.close();
  }
}

interface Part<R> {
  faults: readonly Fault[];
  /** Null when the process that should make it has died. */
  report: R | null;
}

/** Reads one part in a process of its own. */
function readPart<R extends { faults: Fault[] }>(
  dir: string,
  part: string,
  file: string,
): Promise<Part<R>> {
  const child = fork(process.argv[1]!, [VERIFY_PART, dir, part], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let printed = '';
  child.stderr!.on('data', (bytes: Buffer) => (printed += bytes.toString()));
  return new Promise((done) => {
    let report: R | null = null;
    child.once('message', (message) => (report = message as R));
    child.once('close', (status, signal) => {
      if (report !== null) return done({ report, faults: report.faults });
      const why =
        signal === null ? printed.trim().split('\n').at(-1) || `status ${status}` : signal;
      done({
        report: null,
        faults: [{ file, structure: 'file', message: `reading it has failed: ${why}` }],
      });
    });
  });
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

/** What the process of one part does. */
export async function verifyPart(dir: string, part: string): Promise<void> {
  const report =
    part === 'store'
      ? await verifyStore(dir)
      : part === ANALYTICS_PART
        ? await readAnalytics(dir)
        : (JSON.parse(await loadAddon().verifyIndex(join(dir, 'indexes', part))) as IndexReport);
  await new Promise<void>((done, failed) => {
    process.send!(report, undefined, undefined, (error) =>
      error === null ? done() : failed(error),
    );
  });
  process.disconnect();
}

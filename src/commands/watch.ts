/** Imports the files of a folder, and those that appear there, one after another. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CommandFailure, FAILED, FileError, type Terminal } from './command.ts';
import type { Journal } from './journal.ts';

const POLL_MS = 500;
/** A file whose size and time of change stay the same for so long is complete. */
const REST_MS = 2_000;
/** Names that programs give to files that they are still writing. */
const UNFINISHED = /^\.|\.(?:part|tmp|crdownload|swp)$|~$/i;
const KNOWN = /\.(?:json|ndjson|jsonl|csv|tsv)(?:\.gz)?$/i;

export interface Watch {
  readonly folder: string;
  /** Whether the names of files need not tell their format. */
  readonly takesAll: boolean;
  readonly journal: Journal;
  /** Imports a file. Throws as a command does. @returns its exit status */
  readonly importFile: (path: string, bytes: number) => Promise<number>;
}

interface Found {
  name: string;
  bytes: number;
  /** What changes when the file does. */
  stamp: string;
}

/** The files that may be imported, by name. Throws `FileError`. */
export async function filesOf({ folder, takesAll }: Omit<Watch, 'journal' | 'importFile'>) {
  const names = await readdir(folder).catch((error: Error) => {
    throw new FileError(`${folder} cannot be read: ${error.message}.`);
  });
  const found: Found[] = [];
  for (const name of names.sort()) {
    if (UNFINISHED.test(name) || !(takesAll || KNOWN.test(name))) continue;
    const file = await foundFile(folder, name);
    if (file !== null) found.push(file);
  }
  return found;
}

/** null: there is no such file. */
async function foundFile(folder: string, name: string): Promise<Found | null> {
  const status = await stat(join(folder, name)).catch(() => null);
  if (status?.isFile() !== true) return null;
  return { name, bytes: status.size, stamp: `${status.size} ${status.mtimeMs}` };
}

/** Returns only by an error: of the signal, of the connection, of the folder or the journal. */
export async function watchFolder(watch: Watch, terminal: Terminal): Promise<never> {
  let seen = new Map<string, { stamp: string; since: number }>();
  for (;;) {
    const { files, begun } = watch.journal;
    const now = performance.now();
    const found = (await filesOf(watch)).filter(({ name, stamp }) => files.get(name) !== stamp);
    seen = new Map(
      found.map(({ name, stamp }) => {
        const earlier = seen.get(name);
        return [name, earlier?.stamp === stamp ? earlier : { stamp, since: now }];
      }),
    );
    const complete = found.filter(({ name }) => now - seen.get(name)!.since >= REST_MS);
    // What a kill interrupted goes on first: its batches were the last.
    const next = complete.find(({ name }) => name === begun?.file) ?? complete[0];
    if (next === undefined) await pause(POLL_MS, undefined, { signal: terminal.signal });
    else await importOne(next, watch, terminal);
  }
}

async function importOne(
  { name, bytes, stamp }: Found,
  { folder, journal, importFile }: Watch,
  { output, complaints }: Terminal,
): Promise<void> {
  const path = join(folder, name);
  await journal.begin(name, stamp);
  let fault: string | null = null;
  try {
    if ((await importFile(path, bytes)) === FAILED) fault = 'a task failed';
  } catch (error) {
    if (!(error instanceof FileError || error instanceof CommandFailure)) throw error;
    fault = error.message;
  }
  // What changed meanwhile is imported again, once it rests.
  if ((await foundFile(folder, name))?.stamp !== stamp) return;
  await journal.end(name, stamp);
  if (fault === null) output.write(`${path} is imported\n`);
  else complaints.write(`${path} is not imported until it changes: ${fault}\n`);
}

/** Creates a database from a snapshot, completely or not at all (`importDatabase`). */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ArchiveError } from '../archive/archive-error.ts';
import { readArchive } from '../archive/read-archive.ts';
import { syncFolder } from '../base/sync-folder.ts';
import { importDatabase, isVersionOf } from '../store/data-folder.ts';
import { Store, STORE_FILE } from '../store/store.ts';

/** The paths of the files in a database. */
const PATHS =
  /^(?:VERSION|instance-uid|store\/data\.mdb|payloads\/\d+|indexes\/[0-9a-f-]{36}\/(?:index\.mdb|segments\/\d+))$/;

export interface SnapshotImport {
  /** Path of the snapshot. */
  file: string;
  dbPath: string;
  /** Version of the program. */
  version: string;
  /** Verifies a database folder. Returns one line per damaged part. */
  verify: (dir: string) => Promise<string[]>;
}

/** Throws `ArchiveError` or `DataFolderError`; then no database is created. */
export async function importSnapshot(options: SnapshotImport): Promise<void> {
  const { file, dbPath } = options;
  // Reads the whole archive, so that a damaged one is refused before anything is created.
  for await (const { path } of readArchive(file)) {
    if (!PATHS.test(path)) {
      throw new ArchiveError(`${file} is not a snapshot: it has an entry \`${path}\`.`);
    }
  }
  await importDatabase(dbPath, (dir) => unpack(dir, options));
}

async function unpack(dir: string, { file, version, verify }: SnapshotImport): Promise<void> {
  const folders = new Set([dir]);
  for (const name of ['store', 'payloads', 'indexes']) {
    folders.add(join(dir, name));
    await mkdir(join(dir, name));
  }
  for await (const { path, body } of readArchive(file)) {
    const target = join(dir, path);
    for (let above = dirname(target); above !== dir; above = dirname(above)) folders.add(above);
    await mkdir(dirname(target), { recursive: true });
    const opened = await open(target, 'wx');
    try {
      for await (const chunk of body) await opened.writeFile(chunk);
      await opened.sync();
    } finally {
      await opened.close();
    }
  }
  const found = textOf(join(dir, 'VERSION'));
  if (found === null || textOf(join(dir, 'instance-uid')) === null) {
    throw new ArchiveError(`${file} is not a snapshot: it has no VERSION, or no instance-uid.`);
  }
  if (!isVersionOf(found, version)) {
    throw new ArchiveError(
      `The snapshot ${file} was made by version ${found}, this program is ${version}. Import it with that version, ` +
        'and take the data over by a dump.',
    );
  }
  await checkIndexes(dir, file);
  const [fault, ...others] = await verify(dir);
  if (fault !== undefined) {
    const more = others.length === 0 ? '' : ` (${others.length} more)`;
    throw new ArchiveError(
      `The snapshot ${file} holds a database that is damaged: ${fault}${more}.`,
    );
  }
  for (const folder of folders) syncFolder(folder);
}

/** Checks that the list of indexes can be read and that each index exists. */
async function checkIndexes(dir: string, file: string): Promise<void> {
  const stored = statSync(join(dir, 'store', STORE_FILE), { throwIfNoEntry: false });
  if (stored === undefined || stored.size === 0) {
    throw new ArchiveError(
      `${file} is not a snapshot: it has no store/${STORE_FILE}, or an empty one.`,
    );
  }
  const store = new Store(join(dir, 'store'), { readOnly: true });
  try {
    for (const { key, value } of store.indexes.getRange()) {
      if (!existsSync(join(dir, 'indexes', value.uuid, 'index.mdb'))) {
        throw new ArchiveError(`${file} is not a whole snapshot: the index \`${key}\` is missing.`);
      }
    }
  } finally {
    await store.close();
  }
}

function textOf(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
}

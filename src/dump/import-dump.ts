/**
 * Creates a database from a dump, in a folder that becomes valid only once it is complete
 * (`importDatabase`).
 *
 * The archive is read twice. The first pass reads it to its end, so that a damaged archive is
 * refused before anything is created, and collects the small files, which may come after the large
 * ones. The second pass loads documents and tasks directly into the database.
 */
import { createWriteStream, writeFileSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { objectLines } from '../archive/json-values.ts';
import { type ArchiveEntry, readArchive } from '../archive/read-archive.ts';
import { syncFolder } from '../base/sync-folder.ts';
import { knownSettings, mergeSettings, parseSettings } from '../contract/settings.ts';
import { EMBEDDER_STATES } from '../engine/embedder-states.ts';
import type { NativeAddon } from '../engine/native.ts';
import { IndexRegistry } from '../engine/registry.ts';
import { importDatabase, openDataFolder } from '../store/data-folder.ts';
import { AliasStore } from '../store/alias-store.ts';
import { ChatStore } from '../store/chat-store.ts';
import { FeatureStore } from '../store/feature-store.ts';
import { KeyStore } from '../store/key-store.ts';
import { NetworkStore } from '../store/network-store.ts';
import { RuleStore } from '../store/rule-store.ts';
import { Store } from '../store/store.ts';
import { WebhookStore } from '../store/webhook-store.ts';
import { loadDocuments, type DocumentTarget } from './document-loader.ts';
import { type DumpContents, type DumpedIndex, readContents } from './dump-contents.ts';
import { type Dimensions, dimensionsIn, statesOf } from './embedder-dimensions.ts';
import { DumpError } from './dump-error.ts';
import { partOf } from './dump-layout.ts';
import { dumpSections } from './sections.ts';
import { loadTasks, type SpooledPayload, type SpooledTasks } from './task-loader.ts';

/** Maximum size of files that are read as a whole: settings, keys, lists. */
export const SMALL_FILE_BYTES_MAX = 64 * 2 ** 20;

export interface DumpImport {
  /** Path of the dump. */
  file: string;
  dbPath: string;
  /** Version of the program. */
  version: string;
  native: NativeAddon;
  storeBytesMax: number;
  log: (message: string) => void;
}

/** Throws `ArchiveError`, `DumpError` or `DataFolderError`; then no database is created. */
export async function importDump({ file, dbPath, ...options }: DumpImport): Promise<void> {
  try {
    const contents = await readSmallFiles(file);
    const { version, dbVersion, indexes } = contents;
    options.log(
      `importing ${file}: format ${version} of version ${dbVersion}, ${indexes.length} indexes`,
    );
    await importDatabase(dbPath, (dir) => new Import(dir, file, contents, options).run());
  } catch (error) {
    if (!(error instanceof DumpError)) throw error;
    throw new DumpError(`The dump ${file} cannot be imported: ${error.message}.`);
  }
}

/** Bytes of documents that are searched for the dimensions of embedders. */
const SAMPLE_BYTES = 2 ** 20;

/** Reads the archive to its end and returns the contents of the small files. */
async function readSmallFiles(file: string): Promise<DumpContents & { samples: Samples }> {
  const small = new Map<string, Buffer>();
  const samples: Samples = new Map();
  for await (const { path, size, body } of readArchive(file)) {
    const part = partOf(path);
    if (part.kind === 'documents') samples.set(part.folder, await sampleOf(body));
    if (part.kind !== 'small') continue;
    if (size > SMALL_FILE_BYTES_MAX) {
      throw new DumpError(`${path} has ${size} bytes, more than ${SMALL_FILE_BYTES_MAX}`);
    }
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    small.set(path, Buffer.concat(chunks));
  }
  return { ...readContents(small), samples };
}

/** Dimensions by folder of the index in the archive. */
type Samples = Map<string, Dimensions>;

async function sampleOf(body: AsyncIterable<Buffer>): Promise<Dimensions> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= SAMPLE_BYTES) break;
  }
  return dimensionsIn(Buffer.concat(chunks).toString());
}

class Import {
  readonly #dir: string;
  /** Folder for temporary files. */
  readonly #spoolDir: string;
  readonly #file: string;
  readonly #contents: DumpContents & { samples: Samples };
  readonly #options: Omit<DumpImport, 'file' | 'dbPath'>;
  /** Indexes by folder in the archive. */
  readonly #targets = new Map<string, DocumentTarget>();
  readonly #tasks: SpooledTasks['tasks'] = [];
  readonly #payloads = new Map<string, SpooledPayload>();
  #batches: string | null = null;
  #spooled = 0;

  constructor(
    dir: string,
    file: string,
    contents: DumpContents & { samples: Samples },
    options: Omit<DumpImport, 'file' | 'dbPath'>,
  ) {
    this.#dir = dir;
    this.#spoolDir = join(dir, 'spool');
    this.#file = file;
    this.#contents = contents;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { version, native, storeBytesMax, log } = this.#options;
    const { instanceUid } = this.#contents;
    await mkdir(this.#spoolDir);
    if (instanceUid !== null) {
      writeFileSync(join(this.#dir, 'instance-uid'), `${instanceUid}\n`, { flush: true });
    }
    const folder = await openDataFolder(this.#dir, { version, upgrade: false });
    const store = new Store(folder.storeDir, storeBytesMax);
    const registry = new IndexRegistry(native, folder.indexDir, []);
    try {
      const sections = dumpSections({
        keys: new KeyStore(store),
        chats: new ChatStore(store),
        rules: new RuleStore(store),
        aliases: new AliasStore(store),
        network: new NetworkStore(store),
        features: new FeatureStore(store),
        webhooks: new WebhookStore(store, null),
      });
      for (const section of sections) await section.load(this.#contents);
      for (const index of this.#contents.indexes) await this.#createIndex(registry, index);
      for await (const entry of readArchive(this.#file)) await this.#load(entry, folder.payloadDir);
      await store.commit((tx) => {
        for (const { uid, entry } of this.#targets.values()) {
          entry.refresh();
          tx.put(store.indexes, uid, entry.record);
        }
      });
      const spooled = { tasks: this.#tasks, batches: this.#batches, payloads: this.#payloads };
      const { loaded, unknown } = await loadTasks(
        store,
        folder.payloadDir,
        this.#contents,
        spooled,
      );
      const left = unknown === 0 ? '' : `; ${unknown} of types unknown here are left out`;
      log(`imported ${loaded} tasks${left}`);
    } finally {
      await registry.closeAll();
      await store.close();
      await folder.close();
    }
    await rm(this.#spoolDir, { recursive: true });
    for (const part of [folder.storeDir, folder.payloadDir, folder.indexDir]) syncFolder(part);
  }

  async #createIndex(registry: IndexRegistry, index: DumpedIndex): Promise<void> {
    const { uid, folder, primaryKey } = index;
    const known = new Date().toISOString();
    const createdAt = index.createdAt ?? index.updatedAt ?? this.#contents.date ?? known;
    const now = index.updatedAt ?? createdAt;
    const entry = registry.create(createdAt);
    const settings = settingsOf(index, this.#contents.samples.get(folder) ?? {});
    const job = {
      batchUid: 0,
      taskUids: [],
      now,
      steps: [
        ...(primaryKey === null ? [] : [{ task: 0, kind: 'primaryKey' as const, primaryKey }]),
        { task: 0, kind: 'settings' as const, settings },
      ],
    };
    const { results } = await entry.handle.applyBatch(job, []);
    const fault = results.find(({ error }) => error !== undefined)?.error;
    if (fault !== undefined) throw new DumpError(`the index \`${uid}\`: ${fault.message}`);
    this.#targets.set(folder, { uid, entry, now });
  }

  async #load({ path, body }: ArchiveEntry, payloadDir: string): Promise<void> {
    const part = partOf(path);
    switch (part.kind) {
      case 'documents': {
        const target = this.#targets.get(part.folder);
        if (target === undefined) throw new DumpError(`${path} belongs to no index`);
        const count = await loadDocuments(target, body, this.#spoolDir, (file, first) =>
          this.#documentsIn(file, first === 1 ? path : `${path}, counted from line ${first}`),
        );
        this.#options.log(`imported ${count} documents of the index ${target.uid}`);
        return;
      }
      case 'tasks':
        this.#tasks.push({ file: await this.#spool(body), path, folder: part.folder });
        return;
      case 'batches':
        this.#batches = await this.#spool(body);
        return;
      case 'payload':
        this.#payloads.set(
          part.name,
          await this.#spoolPayload(body, path, join(payloadDir, `in-${part.name}`)),
        );
        return;
      case 'small':
      case 'unknown':
    }
  }

  async #spoolPayload(
    body: AsyncIterable<Buffer>,
    path: string,
    file: string,
  ): Promise<SpooledPayload> {
    const handle = await open(file, 'w');
    let bytes = 0;
    try {
      for await (const lines of objectLines(body)) {
        bytes += lines.length;
        await handle.writeFile(lines);
      }
      await handle.sync();
    } catch (error) {
      throw new DumpError(`${path}: ${(error as Error).message}`);
    } finally {
      await handle.close();
    }
    return { file, bytes, documents: await this.#documentsIn(file, path) };
  }

  /** Counts the documents in a file of lines. Throws `DumpError` if one of them is invalid. */
  async #documentsIn(file: string, path: string): Promise<number> {
    try {
      return (await this.#options.native.checkPayload(file, 'ndjson', '', '')).documents;
    } catch (error) {
      throw new DumpError(`${path}: ${(error as Error).message.replace(/\.$/, '')}`);
    }
  }

  async #spool(body: AsyncIterable<Buffer>): Promise<string> {
    const file = join(this.#spoolDir, `lines-${this.#spooled++}`);
    await pipeline(body, createWriteStream(file));
    return file;
  }
}

function settingsOf(
  { uid, settings }: DumpedIndex,
  dimensions: Dimensions,
): Record<string, unknown> {
  const partial = parseSettings(knownSettings(settings));
  const merged = partial.ok ? mergeSettings(null, partial.value) : partial;
  if (merged.ok) {
    const states = statesOf(merged.value.embedders, dimensions);
    return { ...merged.value, [EMBEDDER_STATES]: states };
  }
  throw new DumpError(`the settings of the index \`${uid}\`: ${merged.error.message}`);
}

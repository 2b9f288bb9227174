/**
 * The contents of a dump of any format, converted to the newest one, without documents and tasks.
 */
import { excessIn } from '../base/json.ts';
import { INDEX_UID_RULE, isIndexUid } from '../contract/formats.ts';
import { DumpError } from './dump-error.ts';
import type { DumpVersion } from './dump-layout.ts';
import { textOf } from '../contract/task-types/dump-form.ts';
import { firstIndexSettings, legacySettings } from './legacy-settings.ts';

/** The oldest and newest format that can be read. */
const VERSIONS = [1, 6] as const;

export interface DumpedIndex {
  uid: string;
  /** Its folder in the archive, or its name in tasks of older formats. */
  folder: string;
  /** RFC 3339; null: unknown. */
  createdAt: string | null;
  updatedAt: string | null;
  primaryKey: string | null;
  /** Settings in the newest format. */
  settings: Record<string, unknown>;
}

export interface DumpContents {
  version: DumpVersion;
  /** Version of the program that wrote the dump. */
  dbVersion: string;
  /** RFC 3339; null: unknown. */
  date: string | null;
  instanceUid: string | null;
  indexes: DumpedIndex[];
  keys: Record<string, unknown>[];
  features: Record<string, unknown>;
  /** The network; null: absent. */
  network: Record<string, unknown> | null;
  webhooks: Record<string, unknown>;
  chats: Map<string, Record<string, unknown>>;
  /** Dynamic search rules. Only dumps of this server contain them. */
  rules: unknown[];
  /** Aliases, likewise. */
  aliases: unknown[];
}

/** @param files the small files, by path. Throws `DumpError`. */
export function readContents(files: ReadonlyMap<string, Buffer>): DumpContents {
  const small = new SmallFiles(files);
  const metadata = small.object('metadata.json');
  if (metadata === null) throw new DumpError('it has no metadata.json, so it is not a dump');
  const version = versionOf(metadata.dumpVersion);
  const instanceUid =
    small.text('instance_uid.uuid')?.trim() ?? small.text('instance-uid')?.trim() ?? null;
  return {
    version,
    dbVersion: String(metadata.dbVersion),
    date: textOf(metadata.dumpDate),
    instanceUid: instanceUid === null || !UUID.test(instanceUid) ? null : instanceUid,
    indexes: checked(indexesOf(version, metadata, small)),
    keys: [...small.lines('keys.jsonl'), ...small.lines('keys')],
    features: small.object('experimental-features.json') ?? {},
    network: small.object('network.json'),
    webhooks: (small.object('webhooks.json')?.webhooks ?? {}) as Record<string, unknown>,
    rules: (small.object('dynamic-search-rules.json')?.rules ?? []) as unknown[],
    aliases: listOf(small.object('aliases.json')?.aliases),
    chats: new Map(
      small
        .matching(/^chat-completions-settings\/(.+)\.json$/)
        .map(([path, name]) => [name, small.object(path)!]),
    ),
  };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function versionOf(name: unknown): DumpVersion {
  const number = typeof name === 'string' ? Number(/^V(\d+)$/.exec(name)?.[1]) : NaN;
  if (number >= VERSIONS[0] && number <= VERSIONS[1]) return number as DumpVersion;
  throw new DumpError(
    `metadata.json names the format ${JSON.stringify(name)}; V${VERSIONS[0]} to V${VERSIONS[1]} can be read`,
  );
}

function indexesOf(
  version: DumpVersion,
  metadata: Record<string, unknown>,
  small: SmallFiles,
): DumpedIndex[] {
  if (version === 6) {
    return small.matching(/^indexes\/([^/]+)\/metadata\.json$/).map(([path, folder]) => {
      const index = small.object(path)!;
      return {
        uid: typeof index.uid === 'string' ? index.uid : folder,
        folder,
        createdAt: textOf(index.createdAt),
        updatedAt: textOf(index.updatedAt),
        primaryKey: textOf(index.primaryKey),
        settings: small.object(`indexes/${folder}/settings.json`) ?? {},
      };
    });
  }
  if (version === 1) {
    const listed = Array.isArray(metadata.indexes) ? metadata.indexes : [];
    return listed.map((item) => {
      const index = item as Record<string, unknown>;
      const uid = String(index.uid);
      return {
        uid,
        folder: uid,
        createdAt: textOf(index.createdAt),
        updatedAt: textOf(index.updatedAt),
        primaryKey: textOf(index.primaryKey),
        settings: firstIndexSettings(small.object(`${uid}/settings.json`) ?? {}),
      };
    });
  }
  return small.lines('index_uuids/data.jsonl').map((line) => {
    const meta = line.index_meta as { uuid?: unknown } | undefined;
    const uuid = String(meta?.uuid ?? line.uuid);
    const folder = version === 2 ? `index-${uuid}` : uuid;
    const index = small.object(`indexes/${folder}/meta.json`);
    if (index === null) throw new DumpError(`indexes/${folder}/meta.json is missing`);
    return {
      uid: String(line.uid),
      folder,
      createdAt: null,
      updatedAt: null,
      primaryKey: textOf(index.primary_key),
      settings: legacySettings((index.settings ?? {}) as Record<string, unknown>),
    };
  });
}

/** Throws if a uid is invalid or two indexes have the same uid. */
function checked(indexes: DumpedIndex[]): DumpedIndex[] {
  const seen = new Set<string>();
  for (const { uid } of indexes) {
    if (!isIndexUid(uid))
      throw new DumpError(`\`${uid}\` is not the uid of an index; ${INDEX_UID_RULE}`);
    if (seen.has(uid)) throw new DumpError(`two indexes have the uid \`${uid}\``);
    seen.add(uid);
  }
  return indexes;
}

const NEWLINE = 10;

/** The small files, parsed on demand. Errors name the file and the line. */
class SmallFiles {
  readonly #files: ReadonlyMap<string, Buffer>;

  constructor(files: ReadonlyMap<string, Buffer>) {
    this.#files = files;
  }

  text(path: string): string | null {
    return this.#files.get(path)?.toString() ?? null;
  }

  object(path: string): Record<string, unknown> | null {
    const bytes = this.#files.get(path);
    return bytes === undefined ? null : parseObject(bytes, path);
  }

  lines(path: string): Record<string, unknown>[] {
    const bytes = this.#files.get(path) ?? Buffer.alloc(0);
    refuseExcess(bytes, path);
    const objects: Record<string, unknown>[] = [];
    for (let begin = 0, number = 1; begin < bytes.length; number++) {
      const newline = bytes.indexOf(NEWLINE, begin);
      const end = newline < 0 ? bytes.length : newline;
      const line = bytes.subarray(begin, end);
      begin = end + 1;
      if (line.toString().trim() !== '') {
        objects.push(parseObject(line, `${path}, line ${number}`));
      }
    }
    return objects;
  }

  /** Matching paths with the text of the first group, ascending. */
  matching(pattern: RegExp): [path: string, group: string][] {
    return [...this.#files.keys()]
      .map((path) => [path, pattern.exec(path)?.[1]] as const)
      .filter((found): found is [string, string] => found[1] !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
  }
}

/** Throws `DumpError`. */
export function parseObject(bytes: Buffer, location: string): Record<string, unknown> {
  refuseExcess(bytes, location);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch (error) {
    throw new DumpError(`${location} is not JSON: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DumpError(`${location} is not a JSON object`);
  }
  return value as Record<string, unknown>;
}

function refuseExcess(bytes: Buffer, location: string): void {
  const excess = excessIn(bytes);
  if (excess !== null) throw new DumpError(`${location} cannot be read: ${excess}`);
}

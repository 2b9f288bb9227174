/** `gannet migrate` from servers with another API. */
import { membersAt } from '../base/json-spans.ts';
import { bad } from '../base/options.ts';
import { RefusedRequest } from '../outbound/api-peer.ts';
import { CommandFailure } from './command.ts';
import type { Connection } from './connection.ts';
import type { MigrationTarget } from './migration-target.ts';
import { counted } from './progress.ts';

/** Makes a connection to the source that sends these headers. */
export type Connect = (headers: Record<string, string>) => Connection;

export interface ForeignIndex {
  /** Its name in the source. */
  name: string;
  primaryKey: string;
  /** The number of documents that the source reports. */
  documents: number;
  settings: Record<string, unknown>;
  /** What the source has and the target cannot be given, as clauses that tell what to do. */
  notCopied: string[];
}

export interface ForeignSource {
  readonly address: string;
  reach(): Promise<void>;
  close(): Promise<void>;
  indexes(): Promise<ForeignIndex[]>;
  /** Documents as the target takes them, one per line. */
  documents(index: ForeignIndex): AsyncGenerator<{ lines: Buffer; documents: number }, undefined>;
  /** Names of aliases with the names of their indexes. */
  aliases(): Promise<{ alias: string; name: string }[]>;
}

/** Target size of a request in bytes. */
const BATCH_BYTES = 8 * 2 ** 20;
/** Maximum size of a document, more than the target accepts. */
const DOCUMENT_BYTES_MAX = 256 * 2 ** 20;
const UID_MAX = 400;

/**
 * Copies indexes with their settings, and compares the counts of documents.
 * @param named names separated by commas; null: all
 */
export async function copyForeign(
  source: ForeignSource,
  target: MigrationTarget,
  named: string | null,
): Promise<void> {
  const indexes = chosen(source, await source.indexes(), named);
  const uids = uidsOf(indexes);
  await target.makeRoom([...uids.values()]);
  for (const index of indexes) {
    const uid = uids.get(index.name)!;
    if (uid !== index.name) target.say(`\`${index.name}\` becomes \`${uid}\``);
    for (const clause of index.notCopied) target.fail(`\`${uid}\`: ${clause}`);
    const { primaryKey, settings, documents } = index;
    const created = { uid, primaryKey };
    const tasks = await target.createIndex(created);
    tasks.push(...(await target.copySettings(uid, settings)));
    const sent = await target.sendDocuments(created, source.documents(index), documents);
    tasks.push(...sent.tasks);
    await target.waitFor(tasks);
    const found = (await target.counts(uid))?.numberOfDocuments ?? 0;
    const isSame = found === documents - sent.skipped;
    const says = `\`${uid}\`: ${counted(found, 'document')}`;
    if (isSame) target.say(says);
    else target.fail(`${says}, but the source has ${documents}`);
  }
  for (const { alias, name } of await source.aliases()) {
    const indexUid = uids.get(name);
    if (indexUid !== undefined) await target.setAlias(alias, indexUid);
  }
}

function chosen(
  { address }: ForeignSource,
  all: ForeignIndex[],
  named: string | null,
): ForeignIndex[] {
  if (named === null) return all;
  return named
    .split(',')
    .map(
      (name) =>
        all.find((index) => index.name === name.trim()) ??
        bad('indexes', name, `indexes of ${address}`),
    );
}

/** The uid of each index: its name without the characters that uids do not have. */
function uidsOf(indexes: readonly ForeignIndex[]): Map<string, string> {
  const uids = new Map<string, string>();
  const names = new Map<string, string>();
  for (const { name } of indexes) {
    const uid = name.replace(/[^\w-]/g, '_').slice(0, UID_MAX);
    const other = names.get(uid);
    if (other !== undefined) {
      throw new CommandFailure(
        `\`${other}\` and \`${name}\` would both become \`${uid}\`: copy them one by one with --indexes.`,
      );
    }
    names.set(uid, name);
    uids.set(name, uid);
  }
  return uids;
}

/** The members of a JSON object as they are written, which may be renamed and replaced. */
export type RawMembers = Map<string, string>;

/** Throws `RefusedRequest` unless the text is a JSON object. */
export function rawMembers(text: string): RawMembers {
  try {
    JSON.parse(text);
  } catch {
    throw notUnderstood('a document is not JSON');
  }
  if (!text.startsWith('{')) throw notUnderstood('a document is not an object');
  return new Map(membersAt(text, 0).map(({ name, begin, end }) => [name, text.slice(begin, end)]));
}

export function writtenDocument(members: RawMembers): string {
  const parts = [...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`);
  return `{${parts.join(',')}}\n`;
}

export function notUnderstood(message: string): RefusedRequest {
  return new RefusedRequest(200, { message: `the response is not understood: ${message}` }, null);
}

/** Groups documents into requests. */
export async function* batched(
  documents: AsyncIterable<string>,
): AsyncGenerator<{ lines: Buffer; documents: number }, undefined> {
  let held: string[] = [];
  let size = 0;
  for await (const document of documents) {
    held.push(document);
    size += document.length;
    if (size < BATCH_BYTES) continue;
    yield { lines: Buffer.from(held.join('')), documents: held.length };
    held = [];
    size = 0;
  }
  if (held.length > 0) yield { lines: Buffer.from(held.join('')), documents: held.length };
}

/** The lines of a stream. Throws `RefusedRequest` if one is too long. */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    let begin = 0;
    for (let end; (end = chunk.indexOf(10, begin)) >= 0; begin = end + 1) {
      yield Buffer.concat([...parts, chunk.subarray(begin, end)]).toString();
      parts = [];
      size = 0;
    }
    if (begin === chunk.length) continue;
    parts.push(chunk.subarray(begin));
    size += chunk.length - begin;
    if (size > DOCUMENT_BYTES_MAX) throw notUnderstood('a document is too large');
  }
  if (parts.length > 0) yield Buffer.concat(parts).toString();
}

/** A list of a response. Throws `RefusedRequest` if it is something else. */
export function listOf(value: unknown, name: string): Record<string, unknown>[] {
  if (Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null)) {
    return value as Record<string, unknown>[];
  }
  throw notUnderstood(`${name} is not a list`);
}

/** The texts in a value that should be a list of texts. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}

/** Synonyms of groups, in which each word stands for all others. */
export function addGroup(synonyms: Record<string, string[]>, words: readonly string[]): void {
  for (const word of words) {
    addSynonyms(
      synonyms,
      word,
      words.filter((other) => other !== word),
    );
  }
}

export function addSynonyms(
  synonyms: Record<string, string[]>,
  word: string,
  others: readonly string[],
): void {
  const known = Object.hasOwn(synonyms, word) ? synonyms[word]! : [];
  synonyms[word] = [...new Set([...known, ...others])];
}

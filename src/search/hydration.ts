/**
 * Foreign keys in hits: ids in the fields that the setting names are replaced by the documents of
 * other indexes that they identify. One pass collects the ids of a page, one request per foreign
 * index fetches them. Hits and documents stay text; only ids are located, so nothing else of a
 * response changes.
 */
import { elementsAt, type Member, membersAt, type Span, stringAt } from '../base/json-spans.ts';
import { pauser } from '../base/pauser.ts';
import { indexNotFound } from '../contract/errors.ts';
import { responseTooLarge, type RequestLimits } from '../contract/limits.ts';
import type { ForeignKey } from './foreign-filter.ts';

/** Maximum number of ids fetched for one page and foreign index. */
const IDS_MAX = 10_000;

export interface Hydrator {
  /** The foreign keys of an index; empty when it has none. */
  keysOf(indexUid: string): readonly ForeignKey[];
  /**
   * The documents with these ids as displayed, by id, each as JSON text. undefined: the index does
   * not exist. null: the caller may not search it.
   */
  documents(indexUid: string, ids: string[]): Promise<Map<string, string> | null | undefined>;
  limits: RequestLimits;
}

/** A body, and the positions of its hits. */
export interface UnhydratedBody {
  bytes: Buffer;
  hits: readonly LocatedHit[];
}

/** A hit in the bytes of a response. */
export interface LocatedHit extends Span {
  indexUid: string;
}

/** The finished bodies. Yields to other work of the thread from time to time. */
export async function hydrated(
  responses: readonly UnhydratedBody[],
  hydrator: Hydrator,
): Promise<Buffer[]> {
  const pause = pauser();
  const references = new Map<string, Reference[]>();
  const all: HitText[][] = [];
  for (const { bytes, hits } of responses) {
    const texts: HitText[] = [];
    all.push(texts);
    for (const { indexUid, begin, end } of hits) {
      const text = bytes.toString('utf8', begin, end);
      const hit: HitText = { begin, end, text, replacements: new Map() };
      collect(hit, hydrator.keysOf(indexUid), references);
      texts.push(hit);
      await pause();
    }
  }
  for (const [uid, replacements] of references) {
    const ids = [...new Set(replacements.map(({ id }) => id))];
    if (ids.length > IDS_MAX) throw responseTooLarge(hydrator.limits);
    const documents = await hydrator.documents(uid, ids);
    if (documents === undefined) throw indexNotFound(uid);
    if (documents === null) continue;
    for (const { id, begin, end, hit } of replacements) {
      hit.replacements.set(begin, { begin, end, document: documents.get(id) ?? '{}' });
    }
  }
  const bodies: Buffer[] = [];
  let bytesLeft = hydrator.limits.responseBytes;
  for (const [n, { bytes }] of responses.entries()) {
    const parts: Buffer[] = [];
    for await (const part of replaced(bytes, all[n]!)) {
      bytesLeft -= part.length;
      if (bytesLeft < 0) throw responseTooLarge(hydrator.limits);
      parts.push(part);
    }
    bodies.push(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
  }
  return bodies;
}

/** The text of a hit. */
interface HitText extends Span {
  text: string;
  /** By start: if two keys name the same position, the last one counts. */
  replacements: Map<number, Replacement>;
}

/** An id in the text of a hit. */
interface Reference extends Span {
  hit: HitText;
  id: string;
}

interface Replacement extends Span {
  document: string;
}

/** The pieces of a body, with documents instead of their ids. */
async function* replaced(
  bytes: Buffer,
  hits: readonly HitText[],
): AsyncGenerator<Buffer, undefined> {
  const pause = pauser();
  let at = 0;
  for (const { begin, end, text, replacements } of hits) {
    if (replacements.size === 0) continue;
    yield bytes.subarray(at, begin);
    at = end;
    yield Buffer.from(withDocuments(text, [...replacements.values()]));
    await pause();
  }
  yield bytes.subarray(at);
}

function withDocuments(text: string, replacements: Replacement[]): string {
  replacements.sort((a, b) => a.begin - b.begin);
  let whole = '';
  let at = 0;
  for (const { begin, end, document } of replacements) {
    whole += text.slice(at, begin) + document;
    at = end;
  }
  return whole + text.slice(at);
}

function member(members: readonly Member[], wanted: string): Member | undefined {
  return members.find(({ name }) => name === wanted);
}

/** Collects references by foreign index; an index is included even if no hit refers to it. */
function collect(
  hit: HitText,
  keys: readonly ForeignKey[],
  references: Map<string, Reference[]>,
): void {
  if (keys.length === 0) return;
  const { text } = hit;
  const members = membersAt(text, 0);
  const formatted = member(members, '_formatted');
  const formattedMembers = formatted === undefined ? null : membersAt(text, formatted.begin);
  for (const { foreignIndexUid, fieldName } of keys) {
    const found = references.get(foreignIndexUid) ?? [];
    references.set(foreignIndexUid, found);
    const add = (id: string, { begin, end }: Span): void => {
      found.push({ hit, id, begin, end });
    };
    collectIn(text, members, fieldName, add);
    if (formattedMembers !== null) collectIn(text, formattedMembers, fieldName, add);
  }
}

type AddReference = (id: string, span: Span) => void;

/** The ids at a path below an object: dots lead into objects, lists are searched. */
function collectIn(
  text: string,
  members: readonly Member[],
  path: string,
  add: AddReference,
): void {
  const own = member(members, path);
  if (own !== undefined) {
    collectIds(text, own, add);
    return;
  }
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const inner = member(members, path.slice(0, dot));
    if (inner !== undefined) collectBelow(text, inner, path.slice(dot + 1), add);
  }
}

function collectBelow(text: string, { begin }: Span, path: string, add: AddReference): void {
  if (text[begin] === '{') collectIn(text, membersAt(text, begin), path, add);
  else if (text[begin] === '[')
    for (const item of elementsAt(text, begin)) collectBelow(text, item, path, add);
}

const INTEGER = /^-?\d+$/;

/** Texts and integers are ids; lists are searched. */
function collectIds(text: string, value: Span, add: AddReference): void {
  const { begin, end } = value;
  const first = text[begin]!;
  if (first === '[') {
    for (const item of elementsAt(text, begin)) collectIds(text, item, add);
  } else if (first === '"') {
    add(stringAt(text, value), value);
  } else if (first !== '{') {
    const written = text.slice(begin, end);
    if (INTEGER.test(written)) add(String(BigInt(written)), value);
  }
}

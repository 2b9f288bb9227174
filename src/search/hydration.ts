/**
 * Foreign keys in hits: values at the fields that the setting names are replaced by the documents of other indexes that
 * they are ids of. One pass collects the ids of a page, one request per foreign index fetches them. Hits and documents stay
 * text; only the places of ids are looked for, so nothing else of an answer changes.
 */
import { elementsAt, type Member, membersAt, type Span, stringAt } from '../base/json-spans.ts';
import { pauser } from '../base/pauser.ts';
import { type ApiError, indexNotFound } from '../contract/errors.ts';
import type { ForeignKey } from './foreign-filter.ts';

/** Ids that are fetched for one page and foreign index. */
const IDS_MAX = 10_000;

export interface Hydrator {
  /** The foreign keys of an index; empty when it has none. */
  keysOf(indexUid: string): readonly ForeignKey[];
  /**
   * The documents with these ids, as they are displayed, by id, each as JSON text. undefined: the index does not exist.
   * null: the caller may not search it.
   */
  documents(indexUid: string, ids: string[]): Promise<Map<string, string> | null | undefined>;
  /** Bytes of the answer. */
  bytesMax: number;
  /** What to reject with when the answer would be larger, or needs too many documents. */
  tooLarge(): ApiError;
}

/**
 * Lets other work of the thread go on from time to time.
 * @param indexUid of the hits, where a hit does not say it itself. Resolves to the finished answer
 */
export async function hydrated(
  answer: Buffer,
  indexUid: string | null,
  hydrator: Hydrator,
): Promise<Buffer> {
  const text = answer.toString();
  const pause = pauser();
  const references = new Map<string, Reference[]>();
  for (const [uid, hits] of hitLists(text, indexUid)) {
    const keys = hydrator.keysOf(uid);
    for (const hit of hits) {
      collect(text, hit, keys, references);
      await pause();
    }
  }
  const replacements = new Map<number, Replacement>();
  for (const [uid, places] of references) {
    const ids = [...new Set(places.map(({ id }) => id))];
    if (ids.length > IDS_MAX) throw hydrator.tooLarge();
    const documents = await hydrator.documents(uid, ids);
    if (documents === undefined) throw indexNotFound(uid);
    if (documents === null) continue;
    for (const { id, begin, end } of places) {
      replacements.set(begin, { begin, end, document: documents.get(id) ?? '{}' });
    }
  }
  if (replacements.size === 0) return answer;
  return replaced(text, [...replacements.values()], hydrator);
}

/** An id in a hit. */
interface Reference extends Span {
  id: string;
}

interface Replacement extends Span {
  document: string;
}

async function replaced(
  text: string,
  replacements: Replacement[],
  { bytesMax, tooLarge }: Hydrator,
): Promise<Buffer> {
  replacements.sort((a, b) => a.begin - b.begin);
  const pause = pauser();
  const parts: Buffer[] = [];
  let bytes = 0;
  let piece = '';
  const flush = (): void => {
    const part = Buffer.from(piece);
    bytes += part.length;
    if (bytes > bytesMax) throw tooLarge();
    parts.push(part);
    piece = '';
  };
  let at = 0;
  for (const { begin, end, document } of replacements) {
    piece += text.slice(at, begin) + document;
    at = end;
    if (piece.length < PIECE_LENGTH) continue;
    flush();
    await pause();
  }
  piece += text.slice(at);
  flush();
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

const PIECE_LENGTH = 256 * 1024;

/** The hits of one search, or of several. */
function* hitLists(text: string, indexUid: string | null): Generator<[string, Span[]]> {
  const body = membersAt(text, 0);
  const results = member(body, 'results');
  if (results !== undefined) {
    for (const result of elementsAt(text, results.begin)) {
      const single = membersAt(text, result.begin);
      const uid = stringAt(text, member(single, 'indexUid')!);
      yield [uid, elementsAt(text, member(single, 'hits')!.begin)];
    }
    return;
  }
  const hits = elementsAt(text, member(body, 'hits')!.begin);
  if (indexUid !== null) {
    yield [indexUid, hits];
    return;
  }
  for (const hit of hits) {
    const federation = member(membersAt(text, hit.begin), '_federation')!;
    yield [stringAt(text, member(membersAt(text, federation.begin), 'indexUid')!), [hit]];
  }
}

function member(members: readonly Member[], wanted: string): Member | undefined {
  return members.find(({ name }) => name === wanted);
}

/** References by foreign index; an index is there as well when no hit refers to it. */
function collect(
  text: string,
  hit: Span,
  keys: readonly ForeignKey[],
  references: Map<string, Reference[]>,
): void {
  if (keys.length === 0) return;
  const members = membersAt(text, hit.begin);
  const formatted = member(members, '_formatted');
  const formattedMembers = formatted === undefined ? null : membersAt(text, formatted.begin);
  for (const { foreignIndexUid, fieldName } of keys) {
    const found = references.get(foreignIndexUid) ?? [];
    references.set(foreignIndexUid, found);
    collectIn(text, members, fieldName, found);
    if (formattedMembers !== null) collectIn(text, formattedMembers, fieldName, found);
  }
}

/** The ids at a path below an object: dots lead into objects, lists are followed. */
function collectIn(
  text: string,
  members: readonly Member[],
  path: string,
  found: Reference[],
): void {
  const own = member(members, path);
  if (own !== undefined) {
    collectIds(text, own, found);
    return;
  }
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const inner = member(members, path.slice(0, dot));
    if (inner !== undefined) collectBelow(text, inner, path.slice(dot + 1), found);
  }
}

function collectBelow(text: string, { begin }: Span, path: string, found: Reference[]): void {
  if (text[begin] === '{') collectIn(text, membersAt(text, begin), path, found);
  else if (text[begin] === '[')
    for (const item of elementsAt(text, begin)) collectBelow(text, item, path, found);
}

const INTEGER = /^-?\d+$/;

/** Texts and integers are ids; lists are followed. */
function collectIds(text: string, value: Span, found: Reference[]): void {
  const { begin, end } = value;
  const first = text[begin]!;
  if (first === '[') {
    for (const item of elementsAt(text, begin)) collectIds(text, item, found);
  } else if (first === '"') {
    found.push({ begin, end, id: stringAt(text, value) });
  } else if (first !== '{') {
    const written = text.slice(begin, end);
    if (INTEGER.test(written)) found.push({ begin, end, id: String(BigInt(written)) });
  }
}

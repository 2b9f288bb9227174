/**
 * Foreign keys in hits: values at the fields that the setting names are replaced by the documents of other indexes that
 * they are ids of. One pass collects the ids of a page, one request per foreign index fetches them.
 */
import { indexNotFound } from '../contract/errors.ts';
import { readJson } from '../rhai/json.ts';
import { jsonText } from '../rhai/builtins.ts';
import { ObjectMap, type Value } from '../rhai/values.ts';
import type { ForeignKey } from './foreign-filter.ts';

/** Ids that are fetched for one page and foreign index. */
const IDS_MAX = 10_000;

export interface Hydrator {
  /** The foreign keys of an index; empty when it has none. */
  keysOf(indexUid: string): readonly ForeignKey[];
  /**
   * The documents with these ids, as they are displayed, by id. undefined: the index does not exist. null: the caller may
   * not search it.
   */
  documents(indexUid: string, ids: string[]): Promise<Map<string, Value> | null | undefined>;
}

/** @param indexUid of the hits, where a hit does not say it itself. Resolves to the finished answer */
export async function hydrated(
  answer: Buffer,
  indexUid: string | null,
  hydrator: Hydrator,
): Promise<Buffer> {
  const body = readJson(answer.toString()) as ObjectMap;
  const places = new Places(hydrator);
  for (const [uid, hits] of hitLists(body, indexUid)) {
    for (const hit of hits) places.collect(hit as ObjectMap, uid);
  }
  if (!(await places.fetch())) return answer;
  return Buffer.from(jsonText(body));
}

/** The hits of one search, or of several. */
function* hitLists(body: ObjectMap, indexUid: string | null): Generator<[string, Value[]]> {
  const results = body.get('results');
  if (Array.isArray(results)) {
    for (const result of results) {
      const single = result as ObjectMap;
      yield [single.get('indexUid') as string, single.get('hits') as Value[]];
    }
    return;
  }
  const hits = body.get('hits') as Value[];
  if (indexUid !== null) {
    yield [indexUid, hits];
    return;
  }
  for (const hit of hits) {
    const federation = (hit as ObjectMap).get('_federation') as ObjectMap;
    yield [federation.get('indexUid') as string, [hit]];
  }
}

interface Place {
  id: string;
  replace(document: Value): void;
}

class Places {
  readonly #hydrator: Hydrator;
  /** By foreign index; also those of which no hit holds an id. */
  readonly #places = new Map<string, Place[]>();

  constructor(hydrator: Hydrator) {
    this.#hydrator = hydrator;
  }

  collect(hit: ObjectMap, indexUid: string): void {
    const formatted = hit.get('_formatted');
    for (const { foreignIndexUid, fieldName } of this.#hydrator.keysOf(indexUid)) {
      const places = this.#places.get(foreignIndexUid) ?? [];
      this.#places.set(foreignIndexUid, places);
      collectAt(hit, fieldName, places);
      if (formatted instanceof ObjectMap) collectAt(formatted, fieldName, places);
    }
  }

  /** @returns whether anything was replaced. Rejects with `index_not_found` */
  async fetch(): Promise<boolean> {
    let changed = false;
    for (const [uid, places] of this.#places) {
      const ids = [...new Set(places.map(({ id }) => id))].slice(0, IDS_MAX);
      const documents = await this.#hydrator.documents(uid, ids);
      if (documents === undefined) throw indexNotFound(uid);
      if (documents === null) continue;
      for (const { id, replace } of places) replace(documents.get(id) ?? new ObjectMap());
      changed ||= places.length > 0;
    }
    return changed;
  }
}

/** The values at a path: dots lead into objects, lists are followed. */
function collectAt(value: Value, path: string, places: Place[]): void {
  if (Array.isArray(value)) {
    for (const item of value) collectAt(item, path, places);
    return;
  }
  if (!(value instanceof ObjectMap)) return;
  const own = value.get(path);
  if (own !== undefined) {
    collectIds(own, (document) => value.set(path, document), places);
    return;
  }
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const inner = value.get(path.slice(0, dot));
    if (inner !== undefined) collectAt(inner, path.slice(dot + 1), places);
  }
}

function collectIds(value: Value, replace: (document: Value) => void, places: Place[]): void {
  if (typeof value === 'string' || typeof value === 'bigint') {
    places.push({ id: String(value), replace });
  } else if (Array.isArray(value)) {
    value.forEach((item, n) => collectIds(item, (document) => (value[n] = document), places));
  }
}

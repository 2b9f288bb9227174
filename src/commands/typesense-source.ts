/** Reads a server of Typesense by its documented API. */
import { elementsAt } from '../base/json-spans.ts';
import { RefusedRequest } from '../outbound/api-peer.ts';
import type { Connection } from './connection.ts';
import { DEFAULT_RANKING_RULES } from '../contract/settings/ranking-rules.ts';
import {
  addGroup,
  addSynonyms,
  batched,
  type Connect,
  type ForeignIndex,
  type ForeignSource,
  linesOf,
  listOf,
  notUnderstood,
  rawMembers,
  textsOf,
  writtenDocument,
} from './foreign-source.ts';

interface Field {
  name: string;
  type: string;
  index: boolean;
  sort: boolean | null;
  dimensions: number | null;
}

const NUMBERS = new Set(['int32', 'int64', 'float', 'bool']);
const TEXTS = new Set(['string', 'string[]', 'string*']);

export function typesense(connect: Connect, key: string): ForeignSource {
  const connection = connect({ 'x-typesense-api-key': key });
  const schemas = new Map<string, Field[]>();
  return {
    address: connection.address,
    reach: () => connection.reach(),
    close: () => connection.close(),
    async indexes() {
      const found: ForeignIndex[] = [];
      for (const collection of listOf(await connection.get('/collections'), 'the collections')) {
        const { name, num_documents: documents } = collection;
        if (typeof name !== 'string' || typeof documents !== 'number') {
          throw notUnderstood('a collection without name or num_documents');
        }
        const fields = listOf(collection.fields, 'fields').map(fieldOf);
        schemas.set(name, fields);
        const synonyms = await synonymsOf(connection, name);
        const settings = settingsOf(collection, fields);
        found.push({
          name,
          documents,
          primaryKey: 'id',
          settings: synonyms === null ? settings : { ...settings, synonyms },
          notCopied: [
            ...(synonyms === null ? ['its synonyms are in a form that is not copied'] : []),
            ...(await overridesOf(connection, name)),
          ],
        });
      }
      return found;
    },
    documents: ({ name }) => batched(documentsOf(connection, name, schemas.get(name)!)),
    async aliases() {
      const { aliases } = await connection.get<{ aliases: unknown }>('/aliases');
      return listOf(aliases, 'aliases').map(({ name, collection_name: collection }) => ({
        alias: String(name),
        name: String(collection),
      }));
    },
  };
}

function fieldOf(field: Record<string, unknown>): Field {
  const { name, type, index, sort, num_dim: dimensions } = field;
  if (typeof name !== 'string' || typeof type !== 'string') {
    throw notUnderstood('a field without name or type');
  }
  return {
    name,
    type,
    index: index !== false,
    sort: typeof sort === 'boolean' ? sort : null,
    dimensions: typeof dimensions === 'number' && dimensions > 0 ? dimensions : null,
  };
}

function settingsOf(
  collection: Record<string, unknown>,
  fields: readonly Field[],
): Record<string, unknown> {
  const indexed = fields.filter(({ index }) => index);
  // A name such as `.*` stands for all fields.
  const isOpen = indexed.some(({ name, type }) => name.includes('*') || type === 'auto');
  const named = indexed.filter(
    ({ name, dimensions }) => !name.includes('*') && dimensions === null,
  );
  const searchable = named.filter(({ type }) => TEXTS.has(type)).map(({ name }) => name);
  const geo = geoOf(fields) === null ? [] : ['_geo'];
  const plain = named.filter(({ type }) => !type.startsWith('geo'));
  const sortable = plain.filter(({ type, sort }) => sort ?? NUMBERS.has(type));
  const embedders = indexed.filter(({ dimensions }) => dimensions !== null);
  const order = collection.default_sorting_field;
  return {
    searchableAttributes: isOpen || searchable.length === 0 ? ['*'] : searchable,
    filterableAttributes: isOpen ? ['*'] : [...plain.map(({ name }) => name), ...geo],
    sortableAttributes: [...sortable.map(({ name }) => name), ...geo],
    ...(typeof order === 'string' && order !== ''
      ? { rankingRules: [...DEFAULT_RANKING_RULES, `${order}:desc`] }
      : {}),
    ...(embedders.length > 0
      ? {
          embedders: Object.fromEntries(
            embedders.map(({ name, dimensions }) => [name, { source: 'userProvided', dimensions }]),
          ),
        }
      : {}),
    separatorTokens: textsOf(collection.token_separators),
    nonSeparatorTokens: textsOf(collection.symbols_to_index),
  };
}

function isVector(value: string | undefined): boolean {
  return value !== undefined && value !== 'null' && !/^\[\s*\]$/.test(value);
}

/** The field with the place of a document; null: none. */
function geoOf(fields: readonly Field[]): string | null {
  return fields.find(({ type }) => type === 'geopoint')?.name ?? null;
}

/** null: this version of the server has them elsewhere. */
async function synonymsOf(
  connection: Connection,
  name: string,
): Promise<Record<string, string[]> | null> {
  const response = await unlessMissing<{ synonyms: unknown }>(
    connection,
    `/collections/${encodeURIComponent(name)}/synonyms`,
  );
  if (response === null) return null;
  const synonyms: Record<string, string[]> = {};
  for (const { root, synonyms: words } of listOf(response.synonyms, 'synonyms')) {
    if (typeof root === 'string' && root !== '') addSynonyms(synonyms, root, textsOf(words));
    else addGroup(synonyms, textsOf(words));
  }
  return synonyms;
}

async function overridesOf(connection: Connection, name: string): Promise<string[]> {
  const path = `/collections/${encodeURIComponent(name)}/overrides`;
  const response = await unlessMissing<{ overrides: unknown }>(connection, path);
  if (response === null) return ['its curations are in a form that is not copied'];
  const count = listOf(response.overrides, 'overrides').length;
  return count === 0 ? [] : [`${count} of its curations: write them as search rules`];
}

async function unlessMissing<T>(connection: Connection, path: string): Promise<T | null> {
  try {
    return await connection.get<T>(path);
  } catch (error) {
    if (error instanceof RefusedRequest && error.status === 404) return null;
    throw error;
  }
}

async function* documentsOf(
  connection: Connection,
  name: string,
  fields: readonly Field[],
): AsyncGenerator<string, undefined> {
  const path = `/collections/${encodeURIComponent(name)}/documents/export`;
  const geo = geoOf(fields);
  const vectors = fields.filter(({ dimensions }) => dimensions !== null);
  for await (const line of linesOf(connection.stream(path))) {
    if (line.trim() === '') continue;
    const members = rawMembers(line.trim());
    const point = geo === null ? undefined : members.get(geo);
    if (point?.startsWith('[') === true) {
      const [lat, lng] = elementsAt(point, 0).map(({ begin, end }) => point.slice(begin, end));
      members.set('_geo', `{"lat":${lat ?? 'null'},"lng":${lng ?? 'null'}}`);
    }
    const own: string[] = [];
    for (const { name: field } of vectors) {
      const value = members.get(field);
      // A field may be optional; without this, the document would lack a vector.
      own.push(`${JSON.stringify(field)}:${isVector(value) ? value : 'null'}`);
      members.delete(field);
    }
    if (own.length > 0) members.set('_vectors', `{${own.join(',')}}`);
    yield writtenDocument(members);
  }
}

/**
 * The tools of an assistant (Model Context Protocol). Each is one or a few requests to the routes
 * of a server, which check the rights of the caller and the arguments.
 */

import { JsonNumber, losslessText, parseJson, plainNumbers } from '../base/json.ts';
import { declared } from '../contract/declare.ts';
import { validator, type Validator } from '../contract/validator.ts';
import type { Schema } from '../contract/schema.ts';

/** The server that the tools use. */
export interface Peer {
  /**
   * Rejects with `ToolError` when there is no usable response. `json` has been parsed with `exact`.
   */
  send(request: PeerRequest): Promise<{ status: number; json: unknown }>;
}

export interface PeerRequest {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: unknown;
}

/** A message for the model. */
export class ToolError extends Error {}

/** Arguments that the tool does not take. */
class ArgumentsError extends Error {}

type Json = Record<string, unknown>;

interface InputSchema extends Schema {
  type: 'object';
  [keyword: string]: unknown;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of the arguments, with keywords of our own. */
  readonly inputSchema: InputSchema;
  /** It changes documents: offered only where writes are allowed. */
  readonly writes?: true;
  run(given: Json, peer: Peer): Promise<unknown>;
}

/** Hits, facet values and examples: models read few. */
const HITS_DEFAULT = 10;
const HITS_MAX = 100;
const FACET_VALUES = 10;
const EXAMPLES = 3;
const DOCUMENTS_MAX = 1_000;
const INDEXES_MAX = 1_000;
/** Indexes whose documents are counted by searches. */
const COUNTED_MAX = 50;

const INDEX = { indexUid: { type: 'string', description: 'Uid or alias of an index.' } } as const;
const ID: Schema = { type: ['string', 'integer'], 'x-exact': true };
const TEXT: Schema = { type: 'string' };
const TEXTS: Schema = { type: 'array', items: TEXT };
const FILTER: Schema = {
  description:
    'A filter expression, such as `genres = "Crime" AND year > 1990`, or a list of such expressions that must all hold. Only filterable attributes can be used.',
};
const LIMIT: Schema = { type: 'integer', minimum: 1, maximum: HITS_MAX, default: HITS_DEFAULT };

/** The parameters of a search that are passed on. */
const SEARCH_PARAMETERS: Record<string, Schema> = {
  q: { type: 'string', description: 'Words to search for; empty for all documents.' },
  filter: FILTER,
  sort: { ...TEXTS, description: 'Such as `price:asc`. Only sortable attributes can be used.' },
  facets: { ...TEXTS, description: 'Attributes whose values are to be counted.' },
  attributesToRetrieve: TEXTS,
  hybrid: {
    type: 'object',
    description: 'Search by meaning too: the name of an embedder, and its share from 0 to 1.',
    properties: {
      embedder: TEXT,
      semanticRatio: { type: 'number', minimum: 0, maximum: 1 },
      fusion: { type: 'string', enum: ['score', 'rrf'] },
    },
    required: ['embedder'],
    additionalProperties: false,
  },
  matchingStrategy: { type: 'string', enum: ['last', 'all', 'frequency', 'natural'] },
  offset: { type: 'integer', minimum: 0 },
  limit: LIMIT,
};

function argumentsOf(properties: Record<string, Schema>, ...required: string[]): InputSchema {
  return { type: 'object', properties, required, additionalProperties: false };
}

const TOOLS: readonly Tool[] = [
  {
    name: 'list_indexes',
    description:
      'Lists the indexes that the key may read or search, with their number of documents.',
    inputSchema: argumentsOf({}),
    run: listIndexes,
  },
  {
    name: 'describe_index',
    description:
      'Describes an index: its number of documents, its attributes, what can be filtered and sorted, the most frequent values of its facets, and some documents.',
    inputSchema: argumentsOf(INDEX, 'indexUid'),
    run: describeIndex,
  },
  {
    name: 'search',
    description: 'Searches the documents of an index.',
    inputSchema: argumentsOf({ ...INDEX, ...SEARCH_PARAMETERS }, 'indexUid'),
    run: (given, peer) =>
      sent(peer, {
        method: 'POST',
        path: `${indexPath(given)}/search`,
        body: { ...chosen(given, SEARCH_PARAMETERS), limit: given.limit ?? HITS_DEFAULT },
      }),
  },
  {
    name: 'passages',
    description:
      'Finds passages of the documents of an index that answer a question, without repetitions. Cite them by `id`, `attribute` (in a list, with `indices`) and the bytes from `start` on.',
    inputSchema: argumentsOf(
      {
        ...INDEX,
        q: { type: 'string', description: 'A question, or words.' },
        filter: FILTER,
        maxTokens: {
          type: 'integer',
          minimum: 1,
          maximum: 32_000,
          default: 2_000,
          description: 'Maximum tokens of all passages.',
        },
      },
      'indexUid',
      'q',
    ),
    run: (given, peer) =>
      sent(peer, {
        method: 'POST',
        path: `${indexPath(given)}/passages`,
        body: chosen(given, { q: 0, filter: 0, maxTokens: 0 }),
      }),
  },
  {
    name: 'get_document',
    description: 'Reads one document.',
    inputSchema: argumentsOf({ ...INDEX, id: ID }, 'indexUid', 'id'),
    run: (given, peer) =>
      sent(peer, {
        method: 'GET',
        path: `${indexPath(given)}/documents/${segment(given.id)}`,
      }),
  },
  {
    name: 'similar',
    description: 'Finds documents that are similar to one, by an embedder of the index.',
    inputSchema: argumentsOf(
      {
        ...INDEX,
        id: ID,
        embedder: TEXT,
        filter: FILTER,
        attributesToRetrieve: TEXTS,
        limit: LIMIT,
      },
      'indexUid',
      'id',
      'embedder',
    ),
    run: (given, peer) =>
      sent(peer, {
        method: 'POST',
        path: `${indexPath(given)}/similar`,
        body: {
          ...chosen(given, { id: 0, embedder: 0, filter: 0, attributesToRetrieve: 0 }),
          limit: given.limit ?? HITS_DEFAULT,
        },
      }),
  },
  {
    name: 'add_documents',
    description: 'Adds documents, or replaces those with the same id. Returns a task.',
    writes: true,
    inputSchema: argumentsOf(
      {
        ...INDEX,
        documents: {
          type: 'array',
          items: { type: 'object', additionalProperties: true },
          maxItems: DOCUMENTS_MAX,
          'x-lossless': true,
        },
      },
      'indexUid',
      'documents',
    ),
    run: (given, peer) =>
      sent(peer, {
        method: 'POST',
        path: `${indexPath(given)}/documents`,
        body: given.documents,
      }),
  },
  {
    name: 'delete_documents',
    description: 'Deletes documents by their ids. Returns a task.',
    writes: true,
    inputSchema: argumentsOf(
      {
        ...INDEX,
        ids: { type: 'array', items: ID, maxItems: DOCUMENTS_MAX, 'x-exact': true },
      },
      'indexUid',
      'ids',
    ),
    run: (given, peer) =>
      sent(peer, {
        method: 'POST',
        path: `${indexPath(given)}/documents/delete-batch`,
        body: given.ids,
      }),
  },
];

type Outcome = { result: unknown } | { error: string } | { fault: string };

/** What an assistant may use. */
export interface Assistant {
  readonly tools: readonly Tool[];
  /** Uses a tool. `error` is a message for the model; `fault`: the call itself is wrong. */
  call(name: string, given: Json): Promise<Outcome>;
  /**
   * Parses a message, or several: numbers in the arguments of tools keep the text that was sent.
   * Throws `SyntaxError`.
   */
  read(json: Buffer): unknown;
  /** The JSON of a message: numbers of the server as the server wrote them. */
  write(message: unknown): string;
  readonly version: string;
}

/**
 * @param allowsWrites offer tools that change documents
 * @param version of the program
 */
export function assistantOf(peer: Peer, allowsWrites: boolean, version: string): Assistant {
  const tools = TOOLS.filter(({ writes }) => allowsWrites || writes !== true);
  return {
    tools,
    version,
    read: readMessages,
    write: losslessText,
    async call(name, given) {
      const tool = tools.find((one) => one.name === name);
      if (tool === undefined) return { fault: `There is no tool \`${name}\`.` };
      // Models send null for what they leave out.
      const present = Object.entries(given)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => [name, wholeNumber(value)]);
      const checked = validatorOf(tool).validate(Object.fromEntries(present));
      if (!checked.ok) return { fault: checked.error.message };
      try {
        return { result: await tool.run(checked.value, peer) };
      } catch (error) {
        if (error instanceof ArgumentsError) return { fault: error.message };
        if (error instanceof ToolError) return { error: error.message };
        throw error;
      }
    },
  };
}

/** Some clients write whole numbers with a fraction, which JSON Schema calls integers. */
function wholeNumber(value: unknown): unknown {
  return value instanceof JsonNumber && Number.isSafeInteger(value.value) ? value.value : value;
}

function readMessages(json: Buffer): unknown {
  const parsed = parseJson(json, { exact: true });
  if (!parsed.ok) throw new SyntaxError(parsed.error);
  const { value } = parsed;
  for (const message of Array.isArray(value) ? value : [value]) {
    const { params } = (message ?? {}) as { params?: Json | null };
    const given = params?.arguments;
    if (given !== undefined) delete params!.arguments;
    plainNumbers(message);
    if (given !== undefined) params!.arguments = given;
  }
  return value;
}

const VALIDATORS = new Map<Tool, Validator<Json>>();

function validatorOf(tool: Tool): Validator<Json> {
  let known = VALIDATORS.get(tool);
  if (known === undefined)
    VALIDATORS.set(tool, (known = validator(declared<Json>(tool.inputSchema))));
  return known;
}

/** What a key may list, and what else it may search. */
async function listIndexes(_: Json, peer: Peer): Promise<unknown> {
  const listed = await peer.send({ method: 'GET', path: `/indexes?limit=${INDEXES_MAX}` });
  const access = await peer.send({ method: 'GET', path: '/access' });
  // Another server with the same API has no route of that name.
  if (listed.status !== 200 && access.status !== 200) throw refusalOf(listed);
  const { results, total } =
    listed.status === 200
      ? (listed.json as { results: Json[]; total: number })
      : { results: [], total: 0 };
  const names = access.status === 200 ? (access.json as { indexes: string[] }).indexes : [];
  const known = new Set(results.map(({ uid }) => uid));
  const further = names.filter((name) => !known.has(name)).map((uid) => ({ uid }));
  const indexes: Json[] = [...results, ...further].slice(0, INDEXES_MAX);
  const counts = await documentCounts(
    indexes.map(({ uid }) => uid as string),
    peer,
  );
  return {
    indexes: indexes.map((index) => {
      const numberOfDocuments = counts.get(index.uid as string);
      return numberOfDocuments === undefined ? index : { ...index, numberOfDocuments };
    }),
    total: Math.max(total, indexes.length),
  };
}

/**
 * The numbers of documents; for a key without statistics, what a search finds, of the first indexes
 * only, because each of these searches counts.
 */
async function documentCounts(
  uids: readonly string[],
  peer: Peer,
): Promise<ReadonlyMap<string, number>> {
  const stats = await peer.send({ method: 'GET', path: '/stats' });
  if (stats.status === 200) {
    const all = Object.entries((stats.json as { indexes: Record<string, Json> }).indexes);
    const known = new Map(all.map(([uid, one]) => [uid, one.numberOfDocuments as number]));
    if (uids.every((uid) => known.has(uid))) return known;
  }
  const queries = uids.slice(0, COUNTED_MAX).map((indexUid) => ({ indexUid, q: '', limit: 0 }));
  if (queries.length === 0) return new Map();
  const found = await peer.send({ method: 'POST', path: '/multi-search', body: { queries } });
  if (found.status !== 200) return new Map();
  const { results } = found.json as { results: { indexUid: string; estimatedTotalHits: number }[] };
  return new Map(results.map((one) => [one.indexUid, one.estimatedTotalHits]));
}

/**
 * What a search tells, which every caller may do, and the settings as far as the key may read
 * them: so the rules of a tenant token apply.
 */
async function describeIndex(given: Json, peer: Peer): Promise<unknown> {
  const path = indexPath(given);
  const examples = { q: '', limit: EXAMPLES };
  const ask = (body: object): ReturnType<Peer['send']> =>
    peer.send({ method: 'POST', path: `${path}/search`, body });
  let response = await ask({ ...examples, facets: ['*'] });
  // An index without filterable attributes has no facets to count.
  if (codeOf(response) === 'invalid_search_facets') response = await ask(examples);
  if (response.status !== 200) throw refusalOf(response);
  const found = response.json as Json;
  const { hits, estimatedTotalHits, facetDistribution, facetStats } = found;
  const facets = Object.entries((facetDistribution ?? {}) as Record<string, Json>).map(
    ([name, counts]) => [name, top(counts as Record<string, number>)] as const,
  );
  const settings = await peer.send({ method: 'GET', path: `${path}/settings` });
  const stats = await peer.send({ method: 'GET', path: `${path}/stats` });
  const shown =
    settings.status !== 200
      ? {}
      : chosen(settings.json as Json, {
          filterableAttributes: 0,
          sortableAttributes: 0,
          searchableAttributes: 0,
        });
  const embedders = settings.status !== 200 ? {} : (settings.json as Json).embedders;
  const { numberOfDocuments, fieldDistribution: fields } =
    stats.status === 200 ? (stats.json as Json) : { numberOfDocuments: estimatedTotalHits };
  return {
    indexUid: given.indexUid,
    numberOfDocuments,
    attributes:
      fields === undefined
        ? [...new Set((hits as Json[]).flatMap((hit) => Object.keys(hit)))]
        : Object.keys(fields as Json),
    ...shown,
    embedders: Object.keys((embedders ?? {}) as Json),
    facets: Object.fromEntries(facets),
    facetStats,
    examples: hits,
  };
}

/** The most frequent values. */
function top(counts: Record<string, number>): Record<string, number> {
  const sorted = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return Object.fromEntries(sorted.slice(0, FACET_VALUES));
}

async function sent(peer: Peer, request: PeerRequest): Promise<Json> {
  const { status, json } = await peer.send(request);
  if (status >= 200 && status < 300) return json as Json;
  throw refusalOf({ status, json });
}

function refusalOf({ status, json }: { status: number; json: unknown }): ToolError {
  const { code, message } = (json ?? {}) as { code?: unknown; message?: unknown };
  return new ToolError(`${String(message ?? `Status ${status}`)} (${String(code ?? status)})`);
}

function indexPath({ indexUid }: Json): string {
  return `/indexes/${segment(indexUid)}`;
}

/** A value as one segment of a path. Throws `ArgumentsError` for what could be another route. */
function segment(value: unknown): string {
  if (typeof value !== 'string' || !/^[\w-]{1,512}$/.test(value)) {
    throw new ArgumentsError(
      'An index uid or a document id has only letters, digits, `-` and `_`.',
    );
  }
  return value;
}

function codeOf({ json }: { json: unknown }): unknown {
  return (json as { code?: unknown } | null)?.code;
}

function chosen(given: Json, names: object): Json {
  const kept = Object.entries(given).filter(
    ([name, value]) => Object.hasOwn(names, name) && value !== undefined && value !== null,
  );
  return Object.fromEntries(kept);
}

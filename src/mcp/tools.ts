/**
 * The tools of an assistant (Model Context Protocol). Each is one or a few requests to the routes
 * of a server, which check the rights of the caller and the arguments.
 */

/** The server that the tools use. */
export interface Peer {
  /** Rejects with `ToolError` when there is no usable response. */
  send(request: PeerRequest): Promise<{ status: number; json: unknown }>;
}

export interface PeerRequest {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: unknown;
}

/** A message for the model. */
export class ToolError extends Error {}

type Json = Record<string, unknown>;

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of the arguments. */
  readonly inputSchema: { type: 'object'; properties: Json; required?: string[] };
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

const INDEX = { indexUid: { type: 'string', description: 'Uid or alias of an index.' } };
const TEXT = { type: 'string' };
const TEXTS = { type: 'array', items: { type: 'string' } };
const FILTER = {
  description:
    'A filter expression, such as `genres = "Crime" AND year > 1990`, or a list of such expressions that must all hold. Only filterable attributes can be used.',
};
const LIMIT = { type: 'integer', minimum: 1, maximum: HITS_MAX, default: HITS_DEFAULT };

/** The parameters of a search that are passed on. */
const SEARCH_PARAMETERS = {
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
  },
  matchingStrategy: { type: 'string', enum: ['last', 'all', 'frequency', 'natural'] },
  offset: { type: 'integer', minimum: 0 },
  limit: LIMIT,
};

const TOOLS: readonly Tool[] = [
  {
    name: 'list_indexes',
    description: 'Lists the indexes that the key may read, with their number of documents.',
    inputSchema: { type: 'object', properties: {} },
    async run(_, peer) {
      const path = '/indexes';
      const { results, total } = await sent(peer, {
        ...{ method: 'GET', path: `${path}?limit=${INDEXES_MAX}` },
      });
      return { indexes: results, total };
    },
  },
  {
    name: 'describe_index',
    description:
      'Describes an index: its number of documents, its attributes, what can be filtered and sorted, the most frequent values of its facets, and some documents.',
    inputSchema: { type: 'object', properties: INDEX, required: ['indexUid'] },
    run: describeIndex,
  },
  {
    name: 'search',
    description: 'Searches the documents of an index.',
    inputSchema: {
      type: 'object',
      properties: { ...INDEX, ...SEARCH_PARAMETERS },
      required: ['indexUid'],
    },
    run: (given, peer) =>
      sent(peer, {
        ...{ method: 'POST', path: `${indexPath(given)}/search` },
        body: { ...chosen(given, SEARCH_PARAMETERS), limit: limitOf(given) },
      }),
  },
  {
    name: 'get_document',
    description: 'Reads one document.',
    inputSchema: {
      type: 'object',
      properties: { ...INDEX, id: { type: ['string', 'integer'] } },
      required: ['indexUid', 'id'],
    },
    run: (given, peer) =>
      sent(peer, {
        ...{ method: 'GET', path: `${indexPath(given)}/documents/${segment(given.id)}` },
      }),
  },
  {
    name: 'similar',
    description: 'Finds documents that are similar to one, by an embedder of the index.',
    inputSchema: {
      type: 'object',
      properties: {
        ...INDEX,
        id: { type: ['string', 'integer'] },
        embedder: TEXT,
        filter: FILTER,
        attributesToRetrieve: TEXTS,
        limit: LIMIT,
      },
      required: ['indexUid', 'id', 'embedder'],
    },
    run: (given, peer) =>
      sent(peer, {
        ...{ method: 'POST', path: `${indexPath(given)}/similar` },
        body: {
          ...chosen(given, { id: 0, embedder: 0, filter: 0, attributesToRetrieve: 0 }),
          limit: limitOf(given),
        },
      }),
  },
  {
    name: 'add_documents',
    description: 'Adds documents, or replaces those with the same id. Returns a task.',
    writes: true,
    inputSchema: {
      type: 'object',
      properties: {
        ...INDEX,
        documents: { type: 'array', items: { type: 'object' }, maxItems: DOCUMENTS_MAX },
      },
      required: ['indexUid', 'documents'],
    },
    run: (given, peer) =>
      sent(peer, {
        ...{ method: 'POST', path: `${indexPath(given)}/documents` },
        body: bounded(given.documents),
      }),
  },
  {
    name: 'delete_documents',
    description: 'Deletes documents by their ids. Returns a task.',
    writes: true,
    inputSchema: {
      type: 'object',
      properties: {
        ...INDEX,
        ids: { type: 'array', items: { type: ['string', 'integer'] }, maxItems: DOCUMENTS_MAX },
      },
      required: ['indexUid', 'ids'],
    },
    run: (given, peer) =>
      sent(peer, {
        ...{ method: 'POST', path: `${indexPath(given)}/documents/delete-batch` },
        body: bounded(given.ids),
      }),
  },
];

/** What an assistant may use. */
export interface Assistant {
  readonly tools: readonly Tool[];
  /** Uses a tool; the error is a message for the model. */
  call(name: string, given: Json): Promise<{ result: unknown } | { error: string }>;
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
    async call(name, given) {
      const tool = tools.find((one) => one.name === name);
      if (tool === undefined) return { error: `There is no tool \`${name}\`.` };
      try {
        return { result: await tool.run(given, peer) };
      } catch (error) {
        if (error instanceof ToolError) return { error: error.message };
        throw error;
      }
    },
  };
}

/**
 * What a search tells, which every caller may do, and the settings as far as the key may read
 * them: so the rules of a tenant token apply.
 */
async function describeIndex(given: Json, peer: Peer): Promise<unknown> {
  const path = indexPath(given);
  const found = await sent(peer, {
    ...{ method: 'POST', path: `${path}/search` },
    body: { q: '', limit: EXAMPLES, facets: ['*'] },
  });
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
          ...{ filterableAttributes: 0, sortableAttributes: 0, searchableAttributes: 0 },
        });
  const embedders = settings.status !== 200 ? {} : (settings.json as Json).embedders;
  const fields = stats.status === 200 ? (stats.json as Json).fieldDistribution : undefined;
  return {
    indexUid: given.indexUid,
    numberOfDocuments: estimatedTotalHits,
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
  const { code, message } = (json ?? {}) as { code?: unknown; message?: unknown };
  throw new ToolError(`${String(message ?? `Status ${status}`)} (${String(code ?? status)})`);
}

function indexPath({ indexUid }: Json): string {
  return `/indexes/${segment(indexUid)}`;
}

/** A value as one segment of a path. Throws `ToolError` for what could be another route. */
function segment(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^[\w-]{1,512}$/.test(text)) {
    throw new ToolError('An index uid or a document id has only letters, digits, `-` and `_`.');
  }
  return text;
}

function chosen(given: Json, names: object): Json {
  const kept = Object.entries(given).filter(
    ([name, value]) => Object.hasOwn(names, name) && value !== undefined && value !== null,
  );
  return Object.fromEntries(kept);
}

function limitOf({ limit }: Json): unknown {
  if (limit === undefined || limit === null) return HITS_DEFAULT;
  return typeof limit === 'number' ? Math.min(limit, HITS_MAX) : limit;
}

function bounded(list: unknown): unknown[] {
  if (Array.isArray(list) && list.length <= DOCUMENTS_MAX) return list as unknown[];
  throw new ToolError(`A list of at most ${DOCUMENTS_MAX} elements is expected.`);
}

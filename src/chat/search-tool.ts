/** The one tool of the model: what it is told of the indexes, and a search that it asks for. */
import type { CancelSignal } from '../base/cancel-signal.ts';
import type { SearchAccess } from '../search/caller.ts';
import { ApiError } from '../contract/errors.ts';
import type { ChatPrompts } from '../contract/chats.ts';
import type { SearchRequest } from '../contract/search.ts';
import type { SettingsObject } from '../contract/settings.ts';
import { RenderStopped } from '../embedding/render-thread.ts';
import type { ConcurrencyLimit } from '../outbound/concurrency-limit.ts';
import type { Hits, RequestOutcome, TextsRequest } from '../embedding/render-request.ts';

export const SEARCH_TOOL = '_meiliSearchInIndex';

/** Values of an attribute that the model is shown. */
const FACET_VALUES_MAX = 10;
/** Indexes whose facet values the model is shown; further ones are named only. */
const DESCRIBED_INDEXES_MAX = 50;
/** Characters of a facet value that are shown. */
const FACET_VALUE_LENGTH_MAX = 100;
/** Of the answer that facet values are read from, on the event loop. */
const FACETS_BYTES_MAX = 2 ** 20;
/** Of the answer of a search, and of the documents that it finds. */
const ANSWER_BYTES_MAX = 32 * 2 ** 20;

/** Who asks: what a search may see. */
export interface ChatCaller {
  /** Of the request, for the log. */
  requestId: string;
  /** Whose turn it is to render. */
  requester: string;
  /** Uids of all indexes that may be searched, ascending. */
  accessible(): string[];
  /** Throws `ApiError` when the caller may not search the index. */
  accessTo(uid: string): SearchAccess;
  /** A search that the model asks for begins. @returns to be called when it has ended */
  countSearch(): () => void;
  signal: CancelSignal;
}

/** What chat needs of the rest of the server. */
export interface ChatServices {
  /** Lets few conversations at a time read what their model is told of the indexes. */
  readonly describing: ConcurrencyLimit;
  settings(uid: string): SettingsObject | undefined;
  primaryKey(uid: string): string | null;
  /** The finished answer of a search, as JSON. */
  search(
    uid: string,
    request: SearchRequest,
    access: SearchAccess,
    caller: ChatCaller,
  ): Promise<Buffer>;
  /** Whole documents by id, in any order, as JSON `{results: [...]}`. */
  documents(uid: string, ids: string[], signal: CancelSignal): Promise<Buffer>;
  /** What an answer lists, read beside the event loop. */
  hits(caller: ChatCaller, answer: Uint8Array, primaryKey: string | null): Promise<Hits>;
  /** Renders documents, beside the event loop. */
  texts(caller: ChatCaller, request: TextsRequest): Promise<RequestOutcome<string>>;
  /** Throws `ApiError` when the filter does not parse. */
  checkFilter(filter: string): void;
}

type Json = Record<string, unknown>;

/** The tool as the provider gets it. */
export async function searchTool(
  services: ChatServices,
  caller: ChatCaller,
  prompts: ChatPrompts,
): Promise<Json> {
  const uids = caller.accessible();
  const described = uids.map(
    (uid) => ` - ${uid}: ${services.settings(uid)?.chat.description ?? ''}`,
  );
  const filters: string[] = [];
  for (const uid of uids.slice(0, DESCRIBED_INDEXES_MAX)) {
    filters.push(`## ${uid}`, ...(await facetLines(services, caller, uid)));
  }
  const parameters = {
    type: 'object',
    properties: {
      index_uid: { type: 'string', enum: uids, description: prompts.searchIndexUidParam },
      q: { type: 'string', description: prompts.searchQParam },
      filter: { type: 'string', description: [prompts.searchFilterParam, ...filters].join('\n') },
    },
    required: ['index_uid', 'q', 'filter'],
    additionalProperties: false,
  };
  const description = [prompts.searchDescription, ...described].join('\n');
  return {
    type: 'function',
    function: { name: SEARCH_TOOL, description, parameters, strict: true },
  };
}

/** One line per filterable attribute, of the documents that the caller may see. */
async function facetLines(
  services: ChatServices,
  caller: ChatCaller,
  uid: string,
): Promise<string[]> {
  try {
    const request: SearchRequest = { limit: 0, facets: ['*'] };
    const answer = await services.search(uid, request, caller.accessTo(uid), caller);
    if (answer.length > FACETS_BYTES_MAX) return [];
    const { facetDistribution = {} } = JSON.parse(answer.toString()) as {
      facetDistribution?: Record<string, Record<string, number>>;
    };
    return Object.entries(facetDistribution).flatMap(([facet, counts]) => {
      const values = Object.entries(counts)
        .sort(([, a], [, b]) => b - a)
        .slice(0, FACET_VALUES_MAX)
        .map(([value]) => oneLine(value));
      return values.length === 0 ? [] : [`${oneLine(facet)}: ${values.join(', ')}.`];
    });
  } catch (error) {
    // An index that may not be searched, or is gone by now, is described by its name.
    if (error instanceof ApiError) return [];
    throw error;
  }
}

/** A value is data: it neither begins a line nor a heading. */
function oneLine(value: string): string {
  const text = value.replace(/\s+/g, ' ');
  return text.length <= FACET_VALUE_LENGTH_MAX ? text : `${text.slice(0, FACET_VALUE_LENGTH_MAX)}…`;
}

/** What a search came to. */
export interface ToolResult {
  /** The text for the model. */
  text: string;
  /** The documents as the client may see them, the JSON of each; null when nothing was searched. */
  sources: string[] | null;
  indexUid: string | null;
  /** An error that the client is told too. */
  failure: ApiError | null;
}

/** Runs the search of a call. Never rejects but for faults of the server. */
export async function runSearch(
  services: ChatServices,
  caller: ChatCaller,
  argumentText: string,
): Promise<ToolResult> {
  const given = parseArguments(argumentText);
  if (typeof given === 'string')
    return { text: given, sources: null, indexUid: null, failure: null };
  const { indexUid, q, filter } = given;
  let request: SearchRequest;
  let access: SearchAccess;
  try {
    access = caller.accessTo(indexUid);
    request = requestOf(services, indexUid, q, filter);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { text: error.message, sources: null, indexUid, failure: error };
  }
  try {
    const answer = await services.search(indexUid, request, access, caller);
    const bytes = ownBytes(answer);
    const hits = await services.hits(caller, bytes, services.primaryKey(indexUid));
    const text = await textOfHits(services, caller, indexUid, bytes, hits);
    return { text, sources: hits.documents, indexUid, failure: null };
  } catch (thrown) {
    const error =
      thrown instanceof RenderStopped ? new ApiError('bad_request', thrown.message) : thrown;
    if (!(error instanceof ApiError)) throw error;
    // The model can correct a call; what it cannot is told to the client.
    const correctable = error.status === 400 && error.code.startsWith('invalid_search_');
    return {
      text: error.message,
      sources: correctable ? [] : null,
      indexUid,
      failure: correctable ? null : error,
    };
  }
}

interface SearchArguments {
  indexUid: string;
  q: string;
  filter: string;
}

/** @returns why the arguments cannot be used, as a text */
function parseArguments(text: string): SearchArguments | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `The arguments are not JSON: ${(error as Error).message}`;
  }
  if (typeof value !== 'object' || value === null) return 'The arguments are no JSON object.';
  const { index_uid: indexUid, q, filter } = value as Json;
  if (typeof indexUid !== 'string') return 'The argument `index_uid` is missing.';
  for (const [name, given] of Object.entries({ q, filter })) {
    if (given !== undefined && given !== null && typeof given !== 'string') {
      return `The argument \`${name}\` is no string.`;
    }
  }
  return {
    indexUid,
    q: (q as string | null | undefined) ?? '',
    filter: (filter as string | null | undefined) ?? '',
  };
}

function requestOf(services: ChatServices, uid: string, q: string, filter: string): SearchRequest {
  const settings = services.settings(uid);
  if (settings === undefined) {
    throw new ApiError('index_not_found', `The index \`${uid}\` does not exist.`);
  }
  services.checkFilter(filter);
  const own = filter.trim() === '' ? null : filter;
  const request: SearchRequest = { ...(settings.chat.searchParameters as SearchRequest), q };
  // Without words there is nothing to embed.
  if (q.trim() === '' && request.hybrid !== undefined) delete request.hybrid;
  if (own !== null) request.filter = own;
  return request;
}

/** @param answer the one that the hits stand in */
async function textOfHits(
  services: ChatServices,
  caller: ChatCaller,
  uid: string,
  answer: Uint8Array,
  hits: Hits,
): Promise<string> {
  const settings = services.settings(uid);
  if (settings === undefined || hits.documents.length === 0) return '';
  const { documentTemplate, documentTemplateMaxBytes } = settings.chat;
  const text = await services.texts(caller, {
    template: documentTemplate,
    bytesMax: documentTemplateMaxBytes,
    searchable: settings.searchableAttributes,
    ...(await wholeDocuments(services, caller, uid, settings, answer, hits)),
  });
  if (text.kind === 'rendered') return text.value;
  throw new ApiError(
    'invalid_chat_setting_document_template',
    `The chat template of the index fails: ${text.reason}.`,
  );
}

/** Where the documents of hits stand with all their attributes, as templates see them. */
async function wholeDocuments(
  services: ChatServices,
  caller: ChatCaller,
  uid: string,
  { displayedAttributes }: SettingsObject,
  answer: Uint8Array,
  { ids }: Hits,
): Promise<Pick<TextsRequest, 'answer' | 'member' | 'order'>> {
  const primaryKey = services.primaryKey(uid);
  const complete = displayedAttributes === null || displayedAttributes.includes('*');
  if (complete || primaryKey === null || ids === null) {
    return { answer, member: 'hits', order: null };
  }
  const documents = await services.documents(uid, ids, caller.signal);
  return { answer: ownBytes(documents), member: 'results', order: { primaryKey, ids } };
}

/**
 * To be handed to a thread: the memory of an answer is larger, and is used again. Throws `ApiError`
 * when there is too much of it.
 */
function ownBytes(answer: Buffer): Uint8Array {
  if (answer.length <= ANSWER_BYTES_MAX) return new Uint8Array(answer);
  throw new ApiError(
    'bad_request',
    `The documents found have more than ${ANSWER_BYTES_MAX} bytes; lower the \`limit\` of the index (\`searchParameters\` of the setting \`chat\`).`,
  );
}

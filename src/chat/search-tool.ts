/** The search tool of the model: its description of the indexes, and the searches it runs. */
import { attributeNames } from '../contract/settings/searchable-attributes.ts';
import { halfCharacterAt } from '../base/json.ts';
import type { CancelSignal } from '../base/cancel-signal.ts';
import type { SearchAccess } from '../search/caller.ts';
import { ownBytes } from '../search/own-bytes.ts';
import { cutsPassages, passageSearch } from '../search/passage-search.ts';
import type { SearchMeter } from '../search/search-meter.ts';
import { ApiError } from '../contract/errors.ts';
import type { ChatPrompts } from '../contract/chats.ts';
import type { SearchRequest } from '../contract/search.ts';
import type { SettingsObject } from '../contract/settings.ts';
import { isGiven } from '../contract/settings/setting.ts';
import { RenderStopped } from '../embedding/render-thread.ts';
import type { ConcurrencyLimit } from '../outbound/concurrency-limit.ts';
import type { Hits, RequestOutcome, TextsRequest } from '../embedding/render-request.ts';

export const SEARCH_TOOL = '_meiliSearchInIndex';

/** Maximum values of an attribute in the description. */
const FACET_VALUES_MAX = 10;
/** Maximum number of indexes described with facet values. Others are only named. */
const DESCRIBED_INDEXES_MAX = 50;
/** Maximum characters shown of a facet value. */
const FACET_VALUE_LENGTH_MAX = 100;
/** Maximum bytes of a result from which facet values are read, on the event loop. */
const FACETS_BYTES_MAX = 2 ** 20;
const LOWER_LIMIT = 'lower the `limit` of the index (`searchParameters` of the setting `chat`)';
/** Maximum tokens of the passages that a search returns to the model. */
const PASSAGE_TOKENS_MAX = 4_000;

/** The caller of a chat, with its access rights. */
export interface ChatCaller {
  /** Id of the request, for the log. */
  requestId: string;
  /** The requester in whose name render threads are used. */
  requester: string;
  /** Whose permits its searches take. */
  share: Pick<SearchAccess, 'holder' | 'weight'>;
  /** Uids of all indexes that may be searched, ascending. */
  accessible(): string[];
  /** Throws `ApiError` when the caller may not search the index. */
  accessTo(uid: string): SearchAccess;
  /** Counts its searches. */
  meter?: SearchMeter | undefined;
  signal: CancelSignal;
}

/** The parts of the server that chat uses. */
export interface ChatServices {
  /** Limits how many conversations build the description of the indexes at a time. */
  readonly describing: ConcurrencyLimit;
  settings(uid: string): SettingsObject | undefined;
  primaryKey(uid: string): string | null;
  /** Runs a search. Resolves with its result as JSON. */
  search(
    uid: string,
    request: SearchRequest,
    access: SearchAccess,
    caller: ChatCaller,
  ): Promise<Buffer>;
  /** Complete documents by id, in any order, as JSON `{results: [...]}`. */
  documents(uid: string, ids: string[], caller: ChatCaller): Promise<Buffer>;
  /** Reads the hits of a result on a thread. */
  hits(
    caller: ChatCaller,
    result: Uint8Array,
    primaryKey: string | null,
    hidden: readonly string[],
  ): Promise<Hits>;
  /** Renders documents on a thread. */
  texts(caller: ChatCaller, request: TextsRequest): Promise<RequestOutcome<string>>;
  /** Throws `ApiError` if the filter does not parse. */
  checkFilter(filter: string): void;
}

type Json = Record<string, unknown>;

/** The definition of the tool, as sent to the provider. */
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

/** One line per filterable attribute, with values of documents that the caller may see. */
async function facetLines(
  services: ChatServices,
  caller: ChatCaller,
  uid: string,
): Promise<string[]> {
  try {
    const request: SearchRequest = { limit: 0, facets: ['*'] };
    const result = await services.search(uid, request, caller.accessTo(uid), caller);
    if (result.length > FACETS_BYTES_MAX) return [];
    const { facetDistribution = {} } = JSON.parse(result.toString()) as {
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
    // An index that may not be searched, or was deleted meanwhile, is only named.
    if (error instanceof ApiError) return [];
    throw error;
  }
}

/** Puts a value on one line, so that it cannot begin a line or heading of the prompt. */
function oneLine(value: string): string {
  const text = value.replace(/\s+/g, ' ');
  return text.length <= FACET_VALUE_LENGTH_MAX ? text : `${text.slice(0, FACET_VALUE_LENGTH_MAX)}…`;
}

/** The outcome of a search. */
export interface ToolResult {
  /** The text for the model. */
  text: string;
  /** The JSON text of each document, as the client may see it; null if no search was run. */
  sources: string[] | null;
  indexUid: string | null;
  /** An error that is also reported to the client. */
  failure: ApiError | null;
}

/** Runs the search of a call. Rejects only for faults of the server. */
export async function runSearch(
  services: ChatServices,
  caller: ChatCaller,
  argumentText: string,
): Promise<ToolResult> {
  const given = parseArguments(argumentText);
  if (typeof given === 'string')
    return { text: given, sources: null, indexUid: null, failure: null };
  const { indexUid, q, filter } = given;
  let params: SearchRequest;
  let access: SearchAccess;
  try {
    access = caller.accessTo(indexUid);
    params = requestOf(services, indexUid, q, filter);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { text: error.message, sources: null, indexUid, failure: error };
  }
  try {
    const result = await services.search(indexUid, params, access, caller);
    const bytes = ownBytes(result, LOWER_LIMIT);
    const isPassages = isGiven(params.showPassages);
    const hidden = isPassages ? ['_passages', '_matchesPosition'] : [];
    const hits = await services.hits(caller, bytes, services.primaryKey(indexUid), hidden);
    const text = await textOfHits(services, caller, isPassages, indexUid, bytes, hits);
    return { text, sources: hits.documents, indexUid, failure: null };
  } catch (thrown) {
    const error =
      thrown instanceof RenderStopped ? new ApiError('bad_request', thrown.message) : thrown;
    if (!(error instanceof ApiError)) throw error;
    // The model can correct invalid arguments; other errors are reported to the client.
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

/** @returns the arguments, or a text that says why they are invalid */
function parseArguments(text: string): SearchArguments | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `The arguments are not JSON: ${(error as Error).message}`;
  }
  if (halfCharacterAt(text) >= 0) return 'The arguments have half a character.';
  if (typeof value !== 'object' || value === null) return 'The arguments are no JSON object.';
  const { index_uid: indexUid, q, filter } = value as Json;
  if (typeof indexUid !== 'string') return 'The argument `index_uid` is missing.';
  for (const [name, given] of Object.entries({ q, filter })) {
    if (given !== undefined && given !== null && typeof given !== 'string') {
      return `The argument \`${name}\` is not a string.`;
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
  // An empty query cannot be embedded.
  if (q.trim() === '' && request.hybrid !== undefined) delete request.hybrid;
  if (own !== null) request.filter = own;
  const { embedders } = settings;
  return cutsPassages(embedders, request.hybrid?.embedder)
    ? passageSearch(request, embedders)
    : request;
}

/**
 * @param isPassages the model gets passages instead of whole documents
 * @param result the search result with the hits
 */
async function textOfHits(
  services: ChatServices,
  caller: ChatCaller,
  isPassages: boolean,
  uid: string,
  result: Uint8Array,
  hits: Hits,
): Promise<string> {
  const settings = services.settings(uid);
  if (settings === undefined || hits.documents.length === 0) return '';
  const { documentTemplate, documentTemplateMaxBytes } = settings.chat;
  const text = await services.texts(caller, {
    template: documentTemplate,
    bytesMax: documentTemplateMaxBytes,
    searchable: attributeNames(settings.searchableAttributes),
    passages: isPassages ? { hits: result, maxTokens: PASSAGE_TOKENS_MAX } : null,
    ...(await wholeDocuments(services, caller, uid, settings, result, hits)),
  });
  if (text.kind === 'rendered') return text.value;
  throw new ApiError(
    'invalid_chat_setting_document_template',
    `The chat template of the index fails: ${text.reason}.`,
  );
}

/** The JSON with the complete documents of the hits, for templates. */
async function wholeDocuments(
  services: ChatServices,
  caller: ChatCaller,
  uid: string,
  { displayedAttributes }: SettingsObject,
  result: Uint8Array,
  { ids }: Hits,
): Promise<Pick<TextsRequest, 'result' | 'member' | 'order'>> {
  const primaryKey = services.primaryKey(uid);
  const complete = displayedAttributes === null || displayedAttributes.includes('*');
  if (complete || primaryKey === null || ids === null) {
    return { result, member: 'hits', order: null };
  }
  const documents = await services.documents(uid, ids, caller);
  return {
    result: ownBytes(documents, LOWER_LIMIT),
    member: 'results',
    order: { primaryKey, ids },
  };
}

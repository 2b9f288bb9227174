/** Chat workspaces, and conversations about the documents. */
import { WORKSPACE, WORKSPACES } from '../../contract/responses.ts';
import { Conversation, reportsOf, type ChatSink } from '../../chat/conversation.ts';
import type { Chunk, ErrorEvent } from '../../chat/chunks.ts';
import { errorEvent } from '../../chat/provider.ts';
import type { ChatCaller, ChatServices } from '../../chat/search-tool.ts';
import { WholeAnswer } from '../../chat/whole-answer.ts';
import {
  CHAT_COMPLETION,
  CHAT_WORKSPACES_MAX,
  changedWorkspace,
  type ChatCompletionRequest,
  type ChatSettingsChange,
  type ChatWorkspace,
  newWorkspace,
  PATCH_CHAT_SETTINGS,
  WORKSPACE_SETTINGS,
  workspaceView,
} from '../../contract/chats.ts';
import { ApiError } from '../../contract/errors.ts';
import { INDEX_UID_RULE, isIndexUid } from '../../contract/formats.ts';
import { LIST_INDEXES_QUERY } from '../../contract/indexes.ts';
import type { Pagination } from '../../contract/pages.ts';
import { queryParser } from '../../contract/query.ts';
import type { SearchCaller } from '../../search/caller.ts';
import { wholeListing } from '../../search/index-service.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Connection, ResponseStream } from '../connection.ts';
import { filterCheck } from '../filter-check.ts';
import { needFeature } from '../need-feature.ts';
import {
  bodyOf,
  json,
  NO_CONTENT,
  requesterOf,
  route,
  STREAMED,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';
import { page } from './indexes.ts';

/** Concurrent conversations. */
const CONVERSATIONS_MAX = 500;

/**
 * After this long without an event a comment is sent, so that no proxy takes the connection for
 * dead.
 */
const KEEP_ALIVE_MS = 15_000;

const STREAM_HEADERS = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-cache'],
  ['x-accel-buffering', 'no'],
] as const;

export const CHAT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/chats',
    action: 'chats.get',
    summary: 'Lists the chat workspaces.',
    query: queryParser(LIST_INDEXES_QUERY),
    success: 200,
    response: WORKSPACES,
    handle: listWorkspaces,
  }),
  route({
    method: 'GET',
    path: '/chats/:workspace',
    action: 'chats.get',
    summary: 'Shows a chat workspace.',
    success: 200,
    response: WORKSPACE,
    handle: showWorkspace,
  }),
  route({
    method: 'DELETE',
    path: '/chats/:workspace',
    action: 'chats.delete',
    summary: 'Deletes a chat workspace.',
    success: 204,
    handle: deleteWorkspace,
  }),
  route({
    method: 'GET',
    path: '/chats/:workspace/settings',
    action: 'chatsSettings.get',
    summary: 'Shows the settings of a chat workspace.',
    success: 200,
    response: WORKSPACE_SETTINGS,
    handle: showSettings,
  }),
  route({
    method: 'PATCH',
    path: '/chats/:workspace/settings',
    action: 'chatsSettings.update',
    summary: 'Changes the settings of a chat workspace, which is created when it is missing.',
    body: bodyOf(PATCH_CHAT_SETTINGS),
    success: 200,
    response: WORKSPACE_SETTINGS,
    handle: changeSettings,
  }),
  route({
    method: 'DELETE',
    path: '/chats/:workspace/settings',
    action: 'chatsSettings.update',
    summary: 'Resets the settings of a chat workspace.',
    success: 200,
    response: WORKSPACE_SETTINGS,
    handle: resetSettings,
  }),
  route({
    method: 'POST',
    path: '/chats/:workspace/chat/completions',
    action: 'chatCompletions',
    errorBody: openAiError,
    summary: 'Answers a conversation from the documents, as a stream of events.',
    body: bodyOf(CHAT_COMPLETION),
    success: 200,
    errors: [
      'unimplemented_external_function_calling',
      'unimplemented_multi_choice_chat_completions',
      'unimplemented_non_streaming_chat_completions',
    ],
    handle: converse,
  }),
];

const FEATURE = 'chatCompletions';

/** The error, with the member that OpenAI clients read. */
function openAiError(error: ApiError): object {
  const body = error.toJSON();
  const { message, type, code } = body;
  return { ...body, error: { message, type, param: null, code } };
}

function listWorkspaces(
  { query }: RequestContext<Pagination>,
  server: Dependencies,
): RouteResponse {
  needFeature(server, FEATURE, 'Listing the chat workspaces');
  const all = server.chats.list().map(({ uid }) => ({ uid }));
  return json(200, page(all, query));
}

function showWorkspace({ params }: RequestContext, server: Dependencies): RouteResponse {
  needFeature(server, FEATURE, 'Reading a chat workspace');
  return json(200, { uid: existing(params.workspace!, server).uid });
}

async function deleteWorkspace(
  { params }: RequestContext,
  server: Dependencies,
): Promise<RouteResponse> {
  needFeature(server, FEATURE, 'Deleting a chat workspace');
  await server.chats.remove(existing(params.workspace!, server).uid);
  return NO_CONTENT;
}

function showSettings({ params }: RequestContext, server: Dependencies): RouteResponse {
  needFeature(server, FEATURE, 'Reading the settings of a chat workspace');
  return json(200, workspaceView(existing(params.workspace!, server)));
}

async function changeSettings(
  { params, body }: RequestContext<unknown, ChatSettingsChange>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { chats } = server;
  needFeature(server, FEATURE, 'Changing the settings of a chat workspace');
  const uid = uidOf(params.workspace!);
  const changed = changedWorkspace(chats.get(uid) ?? newWorkspace(uid), body);
  if (!changed.ok) throw changed.error;
  if (chats.get(uid) === undefined && chats.size >= CHAT_WORKSPACES_MAX) {
    throw new ApiError(
      'bad_request',
      `There are ${CHAT_WORKSPACES_MAX} chat workspaces already; delete one first.`,
    );
  }
  await chats.put(changed.value);
  return json(200, workspaceView(changed.value));
}

async function resetSettings(
  { params }: RequestContext,
  server: Dependencies,
): Promise<RouteResponse> {
  needFeature(server, FEATURE, 'Resetting the settings of a chat workspace');
  const workspace = newWorkspace(existing(params.workspace!, server).uid);
  await server.chats.put(workspace);
  return json(200, workspaceView(workspace));
}

function existing(segment: string, { chats }: Dependencies): ChatWorkspace {
  const uid = uidOf(segment);
  const workspace = chats.get(uid);
  if (workspace !== undefined) return workspace;
  throw new ApiError('chat_not_found', `The chat workspace \`${uid}\` does not exist.`);
}

function uidOf(segment: string): string {
  if (isIndexUid(segment)) return segment;
  throw new ApiError(
    'invalid_index_uid',
    `\`${segment}\` is not a uid of a workspace: ${INDEX_UID_RULE}.`,
  );
}

async function converse(
  context: RequestContext<unknown, ChatCompletionRequest>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { body, connection } = context;
  const { chatLoad, chatTotals } = server;
  const workspace = workspaceFor(context, server);
  const whole = isWhole(body, server);
  const ending = new AbortController();
  connection.onAbort(() => ending.abort());
  const collected = whole ? new WholeAnswer() : null;
  const stream = whole ? null : new EventStream(connection, context.requestId, ending.signal);
  const conversation = new Conversation(
    server.outbound,
    chatServicesOf(server),
    workspace,
    body,
    callerOf(context, server),
    (stream ?? collected)!,
    ending.signal,
  );
  chatLoad.conversations++;
  try {
    await conversation.run();
  } catch (error) {
    if (stream === null) throw error;
    server.logs.of('chat').error({ err: error }, 'a conversation failed');
    // The client gets no further detail.
    await stream.send(errorEvent('internal', 'The server failed.', 'internal'));
  } finally {
    chatLoad.conversations--;
    chatTotals.add(conversation.usage, { workspace: workspace.uid, model: body.model });
  }
  if (collected !== null) return json(200, collected.body(body.model, conversation.usage));
  stream!.end();
  return STREAMED;
}

/** Clients of OpenAI that want no stream leave out `stream`. */
function isWhole(
  { stream }: ChatCompletionRequest,
  { chatAllowNonStreaming }: Dependencies,
): boolean {
  return !(stream ?? !chatAllowNonStreaming);
}

/** The workspace of a conversation, after all checks have passed. */
function workspaceFor(
  { body, params }: RequestContext<unknown, ChatCompletionRequest>,
  server: Dependencies,
): ChatWorkspace {
  needFeature(server, FEATURE, 'Chatting with the documents');
  if (isWhole(body, server) && !server.chatAllowNonStreaming) {
    throw new ApiError(
      'unimplemented_non_streaming_chat_completions',
      'Responses can only be streamed: set `stream` to true.',
    );
  }
  if (body.n !== undefined && body.n !== null && body.n !== 1) {
    throw new ApiError(
      'unimplemented_multi_choice_chat_completions',
      'Only one choice is available: set `n` to 1.',
    );
  }
  const workspace = existing(params.workspace!, server);
  reportsOf(body);
  if (server.chatLoad.conversations >= CONVERSATIONS_MAX) {
    throw new ApiError(
      'too_many_search_requests',
      'Too many conversations are in progress. Try again later.',
    );
  }
  return workspace;
}

function chatServicesOf(server: Dependencies): ChatServices {
  const { services } = server;
  const { indexes } = services;
  const checkFilter = filterCheck(server);
  return {
    describing: server.chatLoad.describing,
    settings: (uid) => indexes.settings(uid),
    primaryKey: (uid) => indexes.get(uid)?.primaryKey ?? null,
    search: async (uid, request, access, { requestId, meter, signal }) => {
      const caller: SearchCaller = {
        // Models see the ids of foreign documents, not the documents.
        access: {
          holder: access.holder,
          weight: access.weight,
          mayAccess: (other) => other === uid && access.mayAccess(uid),
          tenantFilter: (other) => access.tenantFilter(other),
          refusal: (other) => access.refusal(other),
        },
        requestId,
        meter,
        signal,
        includeMetadata: false,
        proxied: false,
      };
      const asked = { kind: 'search', uid, params: request, hidesOrigin: true } as const;
      const [{ bytes }] = await services.search.execute(asked, caller);
      return bytes;
    },
    documents: async (uid, ids, { share, signal }) => {
      const all = { offset: 0, limit: ids.length, fields: null, filter: null, sort: null };
      const request = { ...all, ids, retrieveVectors: false };
      const reader = { access: share, signal };
      return wholeListing(await indexes.documents.fetch(uid, request, reader), server.limits);
    },
    hits: ({ requester, signal }, ...of) => server.renders.hits(requester, ...of, signal),
    texts: ({ requester, signal }, request) => server.renders.texts(requester, request, signal),
    checkFilter: (filter) => checkFilter(filter, 'invalid_search_filter'),
  };
}

/** What the caller of a conversation may search, determined again for each search. */
function callerOf(
  context: RequestContext,
  { services, authorizer, aliases }: Dependencies,
): ChatCaller {
  const { requestId, access, meter, connection } = context;
  const { authorization, legacyKey } = connection.headers;
  return {
    requestId,
    requester: requesterOf(context),
    share: access,
    accessible: () =>
      services.indexes
        .list()
        .flatMap(({ uid }) => aliases.usable(uid, (name) => access.mayAccess(name)).slice(0, 1)),
    accessTo(uid) {
      const allowed = authorizer.authorize({ authorization, legacyKey }, 'search', uid);
      if (!allowed.ok) throw allowed.error;
      return allowed.value;
    },
    meter,
    signal: connection,
  };
}

/** Sends events to a client, no faster than the client reads them. */
class EventStream implements ChatSink {
  readonly #stream: ResponseStream;
  readonly #signal: AbortSignal;
  #drained: (() => void) | null = null;
  readonly #keepAlive: NodeJS.Timeout;

  constructor(connection: Connection, requestId: string, signal: AbortSignal) {
    this.#signal = signal;
    this.#stream = connection.stream(200, [...STREAM_HEADERS, ['x-request-id', requestId]]);
    this.#stream.onDrain(() => this.#drained?.());
    this.#keepAlive = setInterval(() => {
      if (this.#drained === null) this.#stream.write(':\n\n');
    }, KEEP_ALIVE_MS);
    signal.addEventListener('abort', () => {
      clearInterval(this.#keepAlive);
      this.#drained?.();
    });
  }

  async send(event: Chunk | ErrorEvent): Promise<void> {
    if (this.#signal.aborted || this.#stream.write(`data: ${JSON.stringify(event)}\n\n`)) return;
    await new Promise<void>((resolve) => (this.#drained = resolve));
    this.#drained = null;
  }

  end(): void {
    clearInterval(this.#keepAlive);
    if (this.#signal.aborted) return;
    this.#stream.write('data: [DONE]\n\n');
    this.#stream.end();
  }
}

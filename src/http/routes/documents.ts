import { DOCUMENT, DOCUMENTS, TASK_SUMMARY } from '../../contract/responses.ts';
import { writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { jsonInSlices } from '../../base/json-slices.ts';
import {
  ADD_DOCUMENTS_QUERY,
  CUSTOM_METADATA_QUERY,
  DELETE_BATCH,
  DELETE_BY_FILTER,
  EDIT_DOCUMENTS,
  EDIT_DOCUMENTS_QUERY,
  FETCH_DOCUMENTS,
  GET_DOCUMENT_QUERY,
  LIST_DOCUMENTS_QUERY,
  type AddDocumentsQuery,
  type CustomMetadataQuery,
  type DeleteByFilterBody,
  type EditDocumentsBody,
  type FetchBody,
  type FetchRequest,
  type GetDocumentQuery,
  type ListDocumentsQuery,
  type PayloadFormatName,
} from '../../contract/documents.ts';
import {
  ApiError,
  documentNotFound,
  type ErrorCode,
  indexNotFound,
  toApiError,
} from '../../contract/errors.ts';
import { filterKindFault, isEmptyFilter } from '../../contract/filters.ts';
import { isDocumentId } from '../../contract/formats.ts';
import { pageOf } from '../../contract/pages.ts';
import { queryParser, splitSort } from '../../contract/query.ts';
import { SORT_CRITERIA_MAX } from '../../contract/search.ts';
import { sortFault } from '../../contract/sort.ts';
import type {
  DocumentMethod,
  TaskNetwork,
  TaskPayload,
  TaskRequest,
} from '../../contract/tasks.ts';
import { receiveUpload, UPLOAD_MEMORY_BYTES_MAX, type Upload } from '../body.ts';
import { foreignNotEnabled, hasForeign } from '../../search/foreign-filter.ts';
import { originOf } from '../../network/origin.ts';
import { PayloadReader } from '../../network/payload-reader.ts';
import type { ReplicatedWrite } from '../../network/replication.ts';
import type { Dependencies, ReadDependencies } from '../dependencies.ts';
import type { Connection } from '../connection.ts';
import { anyFilterCheck, underCode } from '../filter-check.ts';
import { needFeature } from '../need-feature.ts';
import { invalidContentType, mediaType, missingContentType } from '../stages/input.ts';
import {
  bodyOf,
  bytes,
  json,
  route,
  type RouteResponse,
  type ReadRoute,
  type RequestContext,
  type Route,
} from '../route.ts';
import type { Services } from '../services.ts';

const FORMATS: Readonly<Record<string, PayloadFormatName>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
};

const ACCEPTED_TYPES = '`application/json`, `application/x-ndjson`, `text/csv`';

const PREFIX = '/indexes/:index_uid/documents';
const METADATA = queryParser(CUSTOM_METADATA_QUERY);
const ADDITION = queryParser(ADD_DOCUMENTS_QUERY);

/** Served by every HTTP thread. */
export const DOCUMENT_READ_ROUTES: readonly ReadRoute[] = [
  route({
    method: 'GET',
    path: PREFIX,
    action: 'documents.get',
    summary: 'Lists documents.',
    query: queryParser(LIST_DOCUMENTS_QUERY),
    success: 200,
    response: DOCUMENTS,
    handle: listDocuments,
  }),
  route({
    method: 'POST',
    path: `${PREFIX}/fetch`,
    action: 'documents.get',
    summary: 'Lists documents.',
    body: bodyOf(FETCH_DOCUMENTS, { kind: 'search' }),
    success: 200,
    response: DOCUMENTS,
    handle: fetchDocuments,
  }),
  route({
    method: 'GET',
    path: `${PREFIX}/:document_id`,
    action: 'documents.get',
    summary: 'Shows a document.',
    query: queryParser(GET_DOCUMENT_QUERY),
    success: 200,
    response: DOCUMENT,
    handle: showDocument,
  }),
];

export const DOCUMENT_ROUTES: readonly Route[] = [
  ...DOCUMENT_READ_ROUTES,
  route({
    method: 'POST',
    path: PREFIX,
    action: 'documents.add',
    summary: 'Adds documents, or replaces those whose id exists.',
    query: ADDITION,
    body: 'upload',
    success: 202,
    response: TASK_SUMMARY,
    handle: replaceDocuments,
  }),
  route({
    method: 'PUT',
    path: PREFIX,
    action: 'documents.add',
    summary: 'Adds documents, or merges them into those whose id exists.',
    query: ADDITION,
    body: 'upload',
    success: 202,
    response: TASK_SUMMARY,
    handle: updateDocuments,
  }),
  route({
    method: 'DELETE',
    path: PREFIX,
    action: 'documents.delete',
    summary: 'Deletes all documents of an index.',
    query: METADATA,
    success: 202,
    response: TASK_SUMMARY,
    handle: deleteAll,
  }),
  route({
    method: 'DELETE',
    path: `${PREFIX}/:document_id`,
    action: 'documents.delete',
    summary: 'Deletes a document.',
    query: METADATA,
    success: 202,
    response: TASK_SUMMARY,
    handle: deleteOne,
  }),
  route({
    method: 'POST',
    path: `${PREFIX}/delete-batch`,
    action: 'documents.delete',
    summary: 'Deletes the documents with the given ids.',
    query: METADATA,
    body: bodyOf(DELETE_BATCH, { kind: 'payload' }),
    bodyFirst: true,
    success: 202,
    response: TASK_SUMMARY,
    handle: deleteBatch,
  }),
  route({
    method: 'POST',
    path: `${PREFIX}/delete`,
    action: 'documents.delete',
    summary: 'Deletes the documents that a filter selects.',
    query: METADATA,
    body: bodyOf(DELETE_BY_FILTER),
    success: 202,
    response: TASK_SUMMARY,
    handle: deleteByFilter,
  }),
  route({
    method: 'POST',
    path: `${PREFIX}/edit`,
    action: 'documents.*',
    summary: 'Edits documents by a function.',
    query: queryParser(EDIT_DOCUMENTS_QUERY),
    body: bodyOf(EDIT_DOCUMENTS, { optional: true }),
    success: 202,
    response: TASK_SUMMARY,
    handle: editDocuments,
  }),
];

function listDocuments(
  context: RequestContext<ListDocumentsQuery>,
  server: ReadDependencies,
): Promise<RouteResponse> {
  const { query } = context;
  const request: FetchRequest = {
    ...pageOf(query),
    fields: fieldList(query.fields),
    filter: query.filter ?? null,
    sort: query.sort ?? null,
    ids: query.ids ?? null,
    retrieveVectors: query.retrieveVectors ?? false,
  };
  return fetch(context, request, query.useNetwork === true, server);
}

async function fetchDocuments(
  context: RequestContext<unknown, FetchBody>,
  server: ReadDependencies,
): Promise<RouteResponse> {
  const { body } = context;
  const request: FetchRequest = {
    ...pageOf(body),
    fields: fieldList(body.fields),
    filter: body.filter ?? null,
    sort: typeof body.sort === 'string' ? sortText(body.sort) : (body.sort ?? null),
    ids: body.ids ?? null,
    retrieveVectors: body.retrieveVectors ?? false,
  };
  return fetch(context, request, body.useNetwork === true, server);
}

async function showDocument(
  { params, query, connection }: RequestContext<GetDocumentQuery>,
  server: ReadDependencies,
): Promise<RouteResponse> {
  const { indexes, networkDocuments } = server.services;
  const uid = params.index_uid!;
  const id = params.document_id!;
  const useNetwork = query.useNetwork === true;
  needNetwork(useNetwork, server);
  if (indexes.get(uid) === undefined) throw indexNotFound(uid);
  const shown = {
    fields: fieldList(query.fields),
    retrieveVectors: query.retrieveVectors ?? false,
  };
  const document = await (useNetwork && isDocumentId(id)
    ? networkDocuments.getDocument(uid, id, shown, connection)
    : indexes.documents.getDocument(uid, id, shown));
  if (document === null) throw documentNotFound(id);
  return bytes(document);
}

function replaceDocuments(
  context: RequestContext<AddDocumentsQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  return add('replace', context, server);
}

function updateDocuments(
  context: RequestContext<AddDocumentsQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  return add('update', context, server);
}

function deleteAll(
  context: RequestContext<CustomMetadataQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  return remove(context, { all: true }, server);
}

function deleteOne(
  context: RequestContext<CustomMetadataQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  return remove(context, { ids: [context.params.document_id!] }, server);
}

async function deleteBatch(
  context: RequestContext<CustomMetadataQuery, string[]>,
  server: Dependencies,
): Promise<RouteResponse> {
  originOfWrite(context.connection, server);
  const text = await jsonInSlices(context.body);
  const payload = await stored(text, server.services);
  return remove(context, { idsInPayload: context.body.length }, server, { payload, text });
}

async function deleteByFilter(
  context: RequestContext<CustomMetadataQuery, DeleteByFilterBody>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { filter } = context.body;
  await checkTaskFilter(filter, server);
  return remove(context, { filter }, server, { text: await jsonInSlices(context.body) });
}

async function editDocuments(
  {
    params,
    query,
    body,
    connection,
  }: RequestContext<EditDocumentsBody & CustomMetadataQuery, EditDocumentsBody | undefined>,
  server: Dependencies,
): Promise<RouteResponse> {
  const edit: EditDocumentsBody = { ...query, ...body };
  if (edit.function === undefined) {
    throw new ApiError('missing_document_edition_function', 'Missing field `function`.');
  }
  const context = edit.context ?? null;
  if (typeof context !== 'object' || Array.isArray(context)) {
    throw new ApiError(
      'invalid_document_edition_context',
      'Invalid value in parameter `context`: expected an object.',
    );
  }
  needFeature(server, 'editDocumentsByFunction', 'Editing documents by a function');
  const fault = await server.checkFunction(edit.function, context !== null);
  if (fault !== null) {
    throw new ApiError('bad_request', `The function does not compile: ${fault}.`);
  }
  if (edit.filter !== undefined && edit.filter !== null) await checkTaskFilter(edit.filter, server);
  const request: TaskRequest = {
    type: 'documentEdition',
    indexUid: params.index_uid!,
    function: edit.function,
    context,
    filter: edit.filter ?? null,
    ...metadata(query),
  };
  const passedOn = body === undefined ? null : jsonBody(await jsonInSlices(body));
  return enqueue({ connection }, request, passedOn, server);
}

async function checkTaskFilter(filter: unknown, server: Dependencies): Promise<void> {
  const code = 'invalid_document_filter';
  if (filterKindFault(filter, code) === null && hasForeignAs(filter, code)) {
    if (!server.services.features.get().foreignKeys) throw foreignNotEnabled();
    throw new ApiError(
      code,
      'Invalid filter: `_foreign` is not available where documents are changed.',
    );
  }
  await anyFilterCheck(server)(filter, code);
  if (!isEmptyFilter(filter)) return;
  throw new ApiError(
    code,
    'Invalid value at `.filter`: an empty filter would select every document.',
  );
}

function needNetwork(useNetwork: boolean, server: ReadDependencies): void {
  if (useNetwork) needFeature(server, 'network', 'Using `useNetwork`');
}

async function fetch(
  context: Pick<RequestContext, 'params' | 'connection' | 'access' | 'meter'>,
  request: FetchRequest,
  useNetwork: boolean,
  server: ReadDependencies,
): Promise<RouteResponse> {
  const { params, connection, access, meter } = context;
  const { indexes, foreign, networkDocuments } = server.services;
  const uid = params.index_uid!;
  needNetwork(useNetwork, server);
  const fault = request.sort === null ? null : sortFault(request.sort, 'invalid_document_sort');
  if (fault !== null) throw fault;
  if (indexes.get(uid) === undefined) throw indexNotFound(uid);
  const kind = filterKindFault(request.filter, 'invalid_document_filter');
  if (kind !== null) throw kind;
  const reader = { access, signal: connection };
  const filter = await foreign.filter(uid, request.filter, { ...reader, meter });
  await anyFilterCheck(server)(filter, 'invalid_document_filter');
  const { documents } = indexes;
  return bytes(
    await (useNetwork ? networkDocuments : documents).fetch(uid, { ...request, filter }, reader),
  );
}

/**
 * Registers a write. A client's write is then sent to the other servers of the network, and the
 * response waits until they have accepted it or failed; a write that another server sent is not
 * sent on.
 * @param body of the request, as sent to the other servers
 */
async function enqueue(
  { connection }: Pick<RequestContext, 'connection'>,
  request: TaskRequest,
  body: { type: string; open: NonNullable<ReplicatedWrite['body']> } | null,
  server: Dependencies,
): Promise<RouteResponse> {
  const { replication, knownWrites, logs } = server;
  const { tasks } = server.services;
  const origin = originOfWrite(connection, server);
  const { writeId } = connection.headers;
  if (origin !== null) {
    const known = writeId === undefined ? undefined : knownWrites.get(writeId);
    if (known !== undefined) {
      const payload = 'payload' in request ? request.payload : null;
      if (payload !== null && 'file' in payload) tasks.removePayloadFile(payload.file);
      return json(202, await known);
    }
    const registered = tasks.register({ ...request, network: origin });
    if (writeId !== undefined) knownWrites.add(writeId, registered);
    return json(202, await registered);
  }
  if (!replication.isActive) return json(202, await tasks.register(request));
  const summary = await tasks.register(request);
  const { method, path, query } = connection;
  const sent = await replication.send(
    {
      method: method as ReplicatedWrite['method'],
      path,
      query: withoutDelimiter(query),
      contentType: body?.type ?? null,
      body: body?.open ?? null,
    },
    summary.taskUid,
  );
  // The write stays registered here and there: the client learns of it even if the result cannot be
  // recorded.
  if (sent !== null) {
    await tasks.setNetwork(summary.taskUid, sent).catch((error: unknown) => {
      logs.of('network').error({ err: error }, 'a task cannot tell of its remotes');
    });
  }
  return json(202, summary);
}

/** Throws `ApiError`. */
function originOfWrite(connection: Connection, server: Dependencies): TaskNetwork | null {
  const origin = originOf(connection.headers);
  if (origin !== null) needFeature(server, 'network', 'Taking writes of other servers');
  return origin;
}

type Selection = Extract<TaskRequest, { type: 'documentDeletion' }>['by'];

/** Registers a deletion. */
function remove(
  context: Pick<RequestContext<CustomMetadataQuery>, 'connection' | 'params' | 'query'>,
  by: Selection,
  server: Dependencies,
  { payload = null, text = null }: { payload?: TaskPayload | null; text?: Buffer | null } = {},
): Promise<RouteResponse> {
  const indexUid = context.params.index_uid!;
  return enqueue(
    context,
    { type: 'documentDeletion', indexUid, by, payload, ...metadata(context.query) },
    text === null ? null : jsonBody(text),
    server,
  );
}

/** Stores a payload of any size, in a file if it is long. */
async function stored(bytes: Buffer, { tasks }: Services): Promise<TaskPayload> {
  if (bytes.length <= UPLOAD_MEMORY_BYTES_MAX) return { bytes };
  const { path } = tasks.newPayloadFile();
  try {
    await writeFile(path, bytes);
  } catch (error) {
    tasks.removePayloadFile(path);
    throw toApiError(error);
  }
  return { file: path };
}

async function add(
  method: DocumentMethod,
  { connection, access, params, query }: RequestContext<AddDocumentsQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { replication, limits } = server;
  const { tasks } = server.services;
  const uid = params.index_uid!;
  const format = payloadFormat(connection.headers.contentType);
  const delimiter = csvDelimiter(query.csvDelimiter, format);
  const isPassedOn = originOfWrite(connection, server) !== null;
  const upload = await receiveUpload(connection, limits.payloadBytes, tasks);
  const payload = await checked(upload, { format, delimiter, mayBeEmpty: isPassedOn }, server);
  const request: TaskRequest = {
    type: 'documentAdditionOrUpdate',
    indexUid: uid,
    method,
    ...payload,
    primaryKey: query.primaryKey ?? null,
    skipCreation: query.skipCreation ?? false,
    allowIndexCreation: access.mayCreate(uid),
    ...metadata(query),
  };
  if (isPassedOn || !replication.isActive) return enqueue({ connection }, request, null, server);
  const documents = opened(payload.payload, payload.format, server.services);
  try {
    const body = { type: 'application/x-ndjson', open: () => documents.lines() };
    return await enqueue({ connection }, request, body, server);
  } finally {
    documents.close();
  }
}

/** Throws when the file cannot be opened, after removing it. */
function opened(
  payload: TaskPayload,
  format: 'json' | 'ndjson',
  { tasks }: Services,
): PayloadReader {
  try {
    return new PayloadReader(payload, format);
  } catch (error) {
    if ('file' in payload) tasks.removePayloadFile(payload.file);
    throw error;
  }
}

interface PayloadForm {
  format: PayloadFormatName;
  delimiter: string;
  mayBeEmpty: boolean;
}

/**
 * Counts the documents of a payload and rewrites CSV as NDJSON. Removes the files of an invalid
 * one.
 */
async function checked(
  upload: Upload,
  { format, delimiter, mayBeEmpty }: PayloadForm,
  { services, checkPayload }: Dependencies,
): Promise<{ payload: TaskPayload; format: 'json' | 'ndjson'; documents: number }> {
  if ('bytes' in upload) {
    if (upload.bytes.length === 0 && mayBeEmpty) {
      return { payload: upload, format: 'ndjson', documents: 0 };
    }
    if (upload.bytes.length === 0) {
      throw new ApiError(
        'missing_payload',
        `The body is missing; a ${format} payload is expected.`,
      );
    }
    const summary = await checkPayload(upload.bytes, format, delimiter, '');
    return {
      // Column names, repeated for each line, may make a short text long.
      payload:
        format === 'csv' ? await stored(summary.ndjson ?? Buffer.alloc(0), services) : upload,
      format: format === 'json' ? 'json' : 'ndjson',
      documents: summary.documents,
    };
  }
  let output: string | null = null;
  try {
    if (format === 'csv') output = services.tasks.newPayloadFile().path;
    const summary = await checkPayload(upload.file, format, delimiter, output ?? '');
    if (output !== null) services.tasks.removePayloadFile(upload.file);
    return {
      payload: { file: output ?? upload.file },
      format: format === 'json' ? 'json' : 'ndjson',
      documents: summary.documents,
    };
  } catch (error) {
    services.tasks.removePayloadFile(upload.file);
    if (output !== null) services.tasks.removePayloadFile(output);
    throw error;
  }
}

function jsonBody(text: Buffer): { type: string; open: () => AsyncIterable<Buffer> } {
  return { type: 'application/json', open: () => Readable.from([text]) };
}

/** Documents are sent on as lines, whatever their original format. */
function withoutDelimiter(query: string): string {
  return query
    .split('&')
    .filter((part) => !part.startsWith('csvDelimiter='))
    .join('&');
}

/** The custom metadata of a task. */
export function metadata({ customMetadata }: CustomMetadataQuery): { customMetadata?: string } {
  return customMetadata === undefined ? {} : { customMetadata };
}

function payloadFormat(header: string | undefined): PayloadFormatName {
  if (header === undefined) throw missingContentType(ACCEPTED_TYPES);
  const type = mediaType(header);
  const format = type === null ? undefined : FORMATS[type];
  if (format === undefined) throw invalidContentType(header, ACCEPTED_TYPES);
  return format;
}

function csvDelimiter(text: string | undefined, format: PayloadFormatName): string {
  if (text === undefined) return ',';
  if (format === 'csv') return text;
  throw new ApiError(
    'invalid_content_type',
    'The parameter `csvDelimiter` is for the content type `text/csv` only.',
  );
}

/** `*` stands for all fields. */
function fieldList(fields: string[] | null | undefined): string[] | null {
  return fields === undefined || fields === null || fields.includes('*') ? null : fields;
}

function sortText(text: string): string[] {
  const criteria = splitSort(text);
  if (criteria.length <= SORT_CRITERIA_MAX) return criteria;
  throw new ApiError(
    'invalid_document_sort',
    `Invalid value at \`.sort\`: it has ${criteria.length} criteria, at most ${SORT_CRITERIA_MAX} are accepted.`,
  );
}

/** Throws what is wrong with a condition, under `code`. */
function hasForeignAs(filter: unknown, code: ErrorCode): boolean {
  try {
    return hasForeign(filter);
  } catch (thrown) {
    throw underCode(thrown, code);
  }
}

import { DOCUMENT, DOCUMENTS, TASK_SUMMARY } from '../../contract/answers.ts';
import { writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { jsonInTurns } from '../../base/json-turns.ts';
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
  featureNotEnabled,
  indexNotFound,
  toApiError,
} from '../../contract/errors.ts';
import { filterKindFault, isEmptyFilter } from '../../contract/filters.ts';
import { isDocumentId } from '../../contract/formats.ts';
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
import { KnownWrites, originOf } from '../../network/origin.ts';
import { PayloadReader } from '../../network/payload-reader.ts';
import type { ReplicatedWrite } from '../../network/replication.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Exchange } from '../exchange.ts';
import { anyFilterCheck, underCode } from '../filter-check.ts';
import { invalidContentType, mediaType, missingContentType } from '../lifecycle.ts';
import {
  bodyOf,
  bytes,
  json,
  route,
  type Reply,
  type RequestContext,
  type Route,
} from '../route.ts';

const FORMATS: Readonly<Record<string, PayloadFormatName>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
};

const ACCEPTED_TYPES = '`application/json`, `application/x-ndjson`, `text/csv`';

export function documentRoutes(dependencies: Dependencies): Route[] {
  const { services, replication, checkFunction } = dependencies;
  const { indexes, tasks, features, foreign, networkDocuments } = services;
  const checkFilter = anyFilterCheck(dependencies);
  const prefix = '/indexes/:index_uid/documents';

  async function checkTaskFilter(filter: unknown): Promise<void> {
    const code = 'invalid_document_filter';
    if (filterKindFault(filter, code) === null && hasForeignAs(filter, code)) {
      if (!features.get().foreignKeys) throw foreignNotEnabled();
      throw new ApiError(
        code,
        'Invalid filter: `_foreign` is not available where documents are changed.',
      );
    }
    await checkFilter(filter, code);
    if (!isEmptyFilter(filter)) return;
    throw new ApiError(
      code,
      'Invalid value at `.filter`: an empty filter would select every document.',
    );
  }

  function needNetwork(useNetwork: boolean): void {
    if (useNetwork && !features.get().network) {
      throw featureNotEnabled('Using `useNetwork`', 'network');
    }
  }

  async function fetch(
    { params, exchange, access }: Pick<RequestContext, 'params' | 'exchange' | 'access'>,
    request: FetchRequest,
    useNetwork: boolean,
  ): Promise<Reply> {
    const uid = params.index_uid!;
    needNetwork(useNetwork);
    const fault = request.sort === null ? null : sortFault(request.sort, 'invalid_document_sort');
    if (fault !== null) throw fault;
    if (indexes.get(uid) === undefined) throw indexNotFound(uid);
    const onGone = (listener: () => void): void => exchange.onAbort(listener);
    const kind = filterKindFault(request.filter, 'invalid_document_filter');
    if (kind !== null) throw kind;
    const filter = await foreign.filter(uid, request.filter, {
      onGone,
      mayAccess: (other) => access.mayAccess(other),
      tenantFilter: (other) => access.tenantFilter(other),
    });
    await checkFilter(filter, 'invalid_document_filter');
    const { documents } = indexes;
    return bytes(
      await (useNetwork ? networkDocuments : documents).fetch(uid, { ...request, filter }, onGone),
    );
  }

  const writes = new KnownWrites();

  /**
   * Registers a write. One of a client is then passed on to the other servers of the network, and answered when these have
   * taken it or failed; one that another server passes on stays here.
   * @param body of the request, as it is passed on
   */
  async function enqueue(
    { exchange }: Pick<RequestContext, 'exchange'>,
    request: TaskRequest,
    body: { type: string; open: NonNullable<ReplicatedWrite['body']> } | null,
  ): Promise<Reply> {
    const origin = originOfWrite(exchange);
    const { writeId } = exchange.headers;
    if (origin !== null) {
      const known = writeId === undefined ? undefined : writes.get(writeId);
      if (known !== undefined) {
        const payload = 'payload' in request ? request.payload : null;
        if (payload !== null && 'file' in payload) tasks.removePayloadFile(payload.file);
        return json(202, await known);
      }
      const registered = tasks.register({ ...request, network: origin });
      if (writeId !== undefined) writes.add(writeId, registered);
      return json(202, await registered);
    }
    if (!replication.isActive) return json(202, await tasks.register(request));
    const summary = await tasks.register(request);
    const { method, path, query } = exchange;
    const sent = await replication.send(
      {
        ...{ method: method as ReplicatedWrite['method'], path, query: withoutDelimiter(query) },
        ...{ contentType: body?.type ?? null, body: body?.open ?? null },
      },
      summary.taskUid,
    );
    // What is registered here and there stays so: the client is told of it whether or not it can be noted.
    if (sent !== null) await tasks.setNetwork(summary.taskUid, sent).catch(noteFailed);
    return json(202, summary);
  }

  function noteFailed(error: unknown): void {
    dependencies.logs.of('network').error({ err: error }, 'a task cannot tell of its remotes');
  }

  /** Throws `ApiError`. */
  function originOfWrite(exchange: Exchange): TaskNetwork | null {
    const origin = originOf(exchange.headers);
    if (origin !== null && !features.get().network) {
      throw featureNotEnabled('Taking writes of other servers', 'network');
    }
    return origin;
  }

  type Selection = Extract<TaskRequest, { type: 'documentDeletion' }>['by'];

  /** Registers a deletion. */
  function remove(
    context: Pick<RequestContext<CustomMetadataQuery>, 'exchange' | 'params' | 'query'>,
    by: Selection,
    { payload = null, text = null }: { payload?: TaskPayload | null; text?: Buffer | null } = {},
  ): Promise<Reply> {
    const indexUid = context.params.index_uid!;
    return enqueue(
      context,
      { type: 'documentDeletion', indexUid, by, payload, ...metadata(context.query) },
      text === null ? null : jsonBody(text),
    );
  }

  /** A payload of so many bytes, in a file where it is long. */
  async function stored(bytes: Buffer): Promise<TaskPayload> {
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
    { exchange, access, params, query }: RequestContext<AddDocumentsQuery>,
  ): Promise<Reply> {
    const uid = params.index_uid!;
    const format = payloadFormat(exchange.headers.contentType);
    const delimiter = csvDelimiter(query.csvDelimiter, format);
    const isPassedOn = originOfWrite(exchange) !== null;
    const upload = await receiveUpload(exchange, dependencies.limits.payloadBytes, tasks);
    const payload = await checked(upload, format, delimiter, isPassedOn);
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
    if (isPassedOn || !replication.isActive) return enqueue({ exchange }, request, null);
    const documents = opened(payload.payload, payload.format);
    try {
      return await enqueue({ exchange }, request, {
        type: 'application/x-ndjson',
        open: () => documents.lines(),
      });
    } finally {
      documents.close();
    }
  }

  /** Throws when the file cannot be opened, which is removed then. */
  function opened(payload: TaskPayload, format: 'json' | 'ndjson'): PayloadReader {
    try {
      return new PayloadReader(payload, format);
    } catch (error) {
      if ('file' in payload) tasks.removePayloadFile(payload.file);
      throw error;
    }
  }

  /** Counts the documents of a payload and rewrites CSV as NDJSON. Removes the files of a bad one. */
  async function checked(
    upload: Upload,
    format: PayloadFormatName,
    delimiter: string,
    mayBeEmpty: boolean,
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
      const summary = await dependencies.checkPayload(upload.bytes, format, delimiter, '');
      return {
        // The names of columns, repeated for each line, may make a short text long.
        payload: format === 'csv' ? await stored(summary.ndjson ?? Buffer.alloc(0)) : upload,
        format: format === 'json' ? 'json' : 'ndjson',
        documents: summary.documents,
      };
    }
    let output: string | null = null;
    try {
      if (format === 'csv') output = tasks.newPayloadFile().path;
      const summary = await dependencies.checkPayload(upload.file, format, delimiter, output ?? '');
      if (output !== null) tasks.removePayloadFile(upload.file);
      return {
        payload: { file: output ?? upload.file },
        format: format === 'json' ? 'json' : 'ndjson',
        documents: summary.documents,
      };
    } catch (error) {
      tasks.removePayloadFile(upload.file);
      if (output !== null) tasks.removePayloadFile(output);
      throw error;
    }
  }

  return [
    route<ListDocumentsQuery, unknown>({
      method: 'GET',
      path: prefix,
      action: 'documents.get',
      summary: 'Lists documents.',
      query: queryParser(LIST_DOCUMENTS_QUERY),
      success: 200,
      answer: DOCUMENTS,
      handle: ({ params, exchange, access, query }) =>
        fetch(
          { params, exchange, access },
          {
            offset: query.offset ?? 0,
            limit: query.limit ?? 20,
            fields: fieldList(query.fields),
            filter: query.filter ?? null,
            sort: query.sort ?? null,
            ids: query.ids ?? null,
            retrieveVectors: query.retrieveVectors ?? false,
          },
          query.useNetwork === true,
        ),
    }),
    route<unknown, FetchBody>({
      method: 'POST',
      path: `${prefix}/fetch`,
      action: 'documents.get',
      summary: 'Lists documents.',
      body: bodyOf<FetchBody>(FETCH_DOCUMENTS, { kind: 'search' }),
      success: 200,
      answer: DOCUMENTS,
      handle: ({ params, exchange, access, body: value }) =>
        fetch(
          { params, exchange, access },
          {
            offset: value.offset ?? 0,
            limit: value.limit ?? 20,
            fields: fieldList(value.fields),
            filter: value.filter ?? null,
            sort: typeof value.sort === 'string' ? sortText(value.sort) : (value.sort ?? null),
            ids: value.ids ?? null,
            retrieveVectors: value.retrieveVectors ?? false,
          },
          value.useNetwork === true,
        ),
    }),
    route<GetDocumentQuery, unknown>({
      method: 'GET',
      path: `${prefix}/:document_id`,
      action: 'documents.get',
      summary: 'Shows a document.',
      query: queryParser(GET_DOCUMENT_QUERY),
      success: 200,
      answer: DOCUMENT,
      handle: async ({ params, query, exchange }) => {
        const uid = params.index_uid!;
        const id = params.document_id!;
        const useNetwork = query.useNetwork === true;
        needNetwork(useNetwork);
        if (indexes.get(uid) === undefined) throw indexNotFound(uid);
        const shown = {
          fields: fieldList(query.fields),
          retrieveVectors: query.retrieveVectors ?? false,
        };
        const onGone = (listener: () => void): void => exchange.onAbort(listener);
        const document = await (useNetwork && isDocumentId(id)
          ? networkDocuments.getDocument(uid, id, shown, onGone)
          : indexes.documents.getDocument(uid, id, shown));
        if (document === null) throw documentNotFound(id);
        return bytes(document);
      },
    }),
    ...(['POST', 'PUT'] as const).map((method) =>
      route<AddDocumentsQuery, unknown>({
        method,
        path: prefix,
        action: 'documents.add',
        summary:
          method === 'POST'
            ? 'Adds documents, or replaces those whose id exists.'
            : 'Adds documents, or merges them into those whose id exists.',
        query: queryParser(ADD_DOCUMENTS_QUERY),
        body: 'upload',
        success: 202,
        answer: TASK_SUMMARY,
        handle: (context) => add(method === 'POST' ? 'replace' : 'update', context),
      }),
    ),
    route<CustomMetadataQuery, unknown>({
      method: 'DELETE',
      path: prefix,
      action: 'documents.delete',
      summary: 'Deletes all documents of an index.',
      query: queryParser(CUSTOM_METADATA_QUERY),
      success: 202,
      answer: TASK_SUMMARY,
      handle: (context) => remove(context, { all: true }),
    }),
    route<CustomMetadataQuery, unknown>({
      method: 'DELETE',
      path: `${prefix}/:document_id`,
      action: 'documents.delete',
      summary: 'Deletes a document.',
      query: queryParser(CUSTOM_METADATA_QUERY),
      success: 202,
      answer: TASK_SUMMARY,
      handle: (context) => remove(context, { ids: [context.params.document_id!] }),
    }),
    route<CustomMetadataQuery, string[]>({
      method: 'POST',
      path: `${prefix}/delete-batch`,
      action: 'documents.delete',
      summary: 'Deletes the documents with the given ids.',
      query: queryParser(CUSTOM_METADATA_QUERY),
      body: bodyOf<string[]>(DELETE_BATCH, { kind: 'payload' }),
      bodyFirst: true,
      success: 202,
      answer: TASK_SUMMARY,
      handle: async (context) => {
        originOfWrite(context.exchange);
        const text = await jsonInTurns(context.body);
        const payload = await stored(text);
        return remove(context, { idsInPayload: context.body.length }, { payload, text });
      },
    }),
    route<CustomMetadataQuery, DeleteByFilterBody>({
      method: 'POST',
      path: `${prefix}/delete`,
      action: 'documents.delete',
      summary: 'Deletes the documents that a filter selects.',
      query: queryParser(CUSTOM_METADATA_QUERY),
      body: bodyOf(DELETE_BY_FILTER),
      success: 202,
      answer: TASK_SUMMARY,
      handle: async (context) => {
        const { filter } = context.body;
        await checkTaskFilter(filter);
        return remove(context, { filter }, { text: await jsonInTurns(context.body) });
      },
    }),
    route<EditDocumentsBody & CustomMetadataQuery, EditDocumentsBody | undefined>({
      method: 'POST',
      path: `${prefix}/edit`,
      action: 'documents.*',
      summary: 'Edits documents by a function.',
      query: queryParser(EDIT_DOCUMENTS_QUERY),
      body: bodyOf<EditDocumentsBody | undefined>(EDIT_DOCUMENTS, { optional: true }),
      success: 202,
      answer: TASK_SUMMARY,
      handle: async ({ params, query, body, exchange }) => {
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
        if (!features.get().editDocumentsByFunction) {
          throw featureNotEnabled('Editing documents by a function', 'editDocumentsByFunction');
        }
        const fault = await checkFunction(edit.function, context !== null);
        if (fault !== null) {
          throw new ApiError('bad_request', `The function does not compile: ${fault}.`);
        }
        if (edit.filter !== undefined && edit.filter !== null) await checkTaskFilter(edit.filter);
        return enqueue(
          { exchange },
          {
            type: 'documentEdition',
            indexUid: params.index_uid!,
            function: edit.function,
            context,
            filter: edit.filter ?? null,
            ...metadata(query),
          },
          body === undefined ? null : jsonBody(await jsonInTurns(body)),
        );
      },
    }),
  ];
}

function jsonBody(text: Buffer): { type: string; open: () => AsyncIterable<Buffer> } {
  return { type: 'application/json', open: () => Readable.from([text]) };
}

/** Documents are passed on as lines, whatever they came as. */
function withoutDelimiter(query: string): string {
  return query
    .split('&')
    .filter((part) => !part.startsWith('csvDelimiter='))
    .join('&');
}

/** Of a task. */
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

/** Throws what is wrong with a condition under `code`. */
function hasForeignAs(filter: unknown, code: ErrorCode): boolean {
  try {
    return hasForeign(filter);
  } catch (thrown) {
    throw underCode(thrown, code);
  }
}

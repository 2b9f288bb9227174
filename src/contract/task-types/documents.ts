/** Types of tasks that change documents. */
import type { RawJson } from '../../base/json.ts';
import type { TaskDetails } from './fields.ts';
import { numberOf, type ReadTask, textOf } from './dump-form.ts';
import { ALONE, FLAG, type TaskDraft, taskType } from './task-type.ts';

export type DocumentMethod = 'replace' | 'update';

/** Bytes in memory, or a file on the filesystem of the data folder; the task system owns it. */
export type TaskPayload = { file: string } | { bytes: Buffer };

interface AdditionRequest {
  type: 'documentAdditionOrUpdate';
  indexUid: string;
  method: DocumentMethod;
  payload: TaskPayload;
  format: 'json' | 'ndjson';
  /** Number of documents in the payload. */
  documents: number;
  primaryKey: string | null;
  /** Documents whose id does not exist yet are skipped. */
  skipCreation: boolean;
  allowIndexCreation: boolean;
}

interface AdditionRow {
  type: 'documentAdditionOrUpdate';
  method: DocumentMethod;
  format: 'json' | 'ndjson';
  documents: number;
  primaryKey: string | null;
  skipCreation: boolean;
}

export const documentAdditionOrUpdate = taskType({
  name: 'documentAdditionOrUpdate',
  words: 'Add or update documents',
  code: 1,
  batching: { kind: () => 'add' },
  counts: true,
  inBatch: { receivedDocuments: 'sum', indexedDocuments: 'sum' },
  draft(request: AdditionRequest): TaskDraft<AdditionRow> {
    const { type, method, format, documents, primaryKey, skipCreation, indexUid } = request;
    const flags =
      (request.allowIndexCreation ? FLAG.mayCreateIndex : 0) |
      (primaryKey !== null ? FLAG.primaryKey : 0) |
      (method === 'update' ? FLAG.update : 0);
    const row: AdditionRow = { type, method, format, documents, primaryKey, skipCreation };
    return { indexUid, flags, row: () => row };
  },
  details: (row: AdditionRow, { result }) => ({
    receivedDocuments: row.documents,
    indexedDocuments: result,
  }),
  dump: {
    write: (row: AdditionRow, { mayCreateIndex, details }) => ({
      type: {
        documentImport: {
          primary_key: row.primaryKey,
          method: row.method === 'update' ? 'UpdateDocuments' : 'ReplaceDocuments',
          documents_count: row.documents,
          allow_index_creation: mayCreateIndex,
          ...(row.skipCreation ? { skip_creation: true } : {}),
        },
      },
      details: {
        DocumentAdditionOrUpdate: {
          received_documents: details.receivedDocuments,
          indexed_documents: details.indexedDocuments,
        },
      },
    }),
    read: {
      documentImport: ({ indexUid, content, details }): ReadTask<AdditionRequest> => ({
        request: {
          type: 'documentAdditionOrUpdate',
          indexUid,
          method: content.method === 'UpdateDocuments' ? 'update' : 'replace',
          payload: { bytes: Buffer.alloc(0) },
          format: 'ndjson',
          documents: numberOf(content.documents_count) ?? numberOf(details.received_documents) ?? 0,
          primaryKey: textOf(content.primary_key),
          skipCreation: content.skip_creation === true,
          allowIndexCreation: content.allow_index_creation === true,
        },
        result: numberOf(details.indexed_documents),
      }),
    },
  },
});

interface EditionRequest {
  type: 'documentEdition';
  indexUid: string;
  function: string;
  context: RawJson | Record<string, unknown> | null;
  filter: unknown;
}

type EditionRow = Omit<EditionRequest, 'indexUid'>;

export const documentEdition = taskType({
  name: 'documentEdition',
  words: 'Edit documents by a function',
  code: 2,
  batching: ALONE,
  counts: true,
  inBatch: { editedDocuments: 'sum', function: 'first', context: 'first' },
  draft: ({ indexUid, ...row }: EditionRequest): TaskDraft<EditionRow> => ({
    indexUid,
    row: () => row,
  }),
  // The numbers of edited and deleted documents are part of the result.
  details: (row: EditionRow, { status }) => ({
    deletedDocuments: null,
    editedDocuments: status === 'failed' || status === 'canceled' ? 0 : null,
    context: row.context,
    function: row.function,
    originalFilter:
      row.filter === null || row.filter === undefined ? null : JSON.stringify(row.filter),
  }),
  dump: {
    write: ({ filter, context, function: text }: EditionRow, { details }) => ({
      type: { documentEdition: { filter: filter ?? null, context, function: text } },
      details: {
        DocumentEdition: {
          deleted_documents: details.deletedDocuments,
          edited_documents: details.editedDocuments,
          original_filter: details.originalFilter,
          context: details.context,
          function: details.function,
        },
      },
    }),
    read: {
      documentEdition: ({ indexUid, content, details }): ReadTask<EditionRequest> => ({
        request: {
          type: 'documentEdition',
          indexUid,
          function: textOf(content.function) ?? '',
          context: (content.context ?? null) as EditionRequest['context'],
          filter: content.filter ?? null,
        },
        result: numberOf(details.edited_documents),
      }),
    },
  },
});

interface DeletionRequest {
  type: 'documentDeletion';
  indexUid: string;
  /** `idsInPayload`: this many ids are in the payload, a JSON array of strings. */
  by:
    | { ids: string[] }
    | { idsInPayload: number }
    | { filter: unknown }
    | { all: true }
    /** Documents whose date in this attribute has passed. The server itself registers this. */
    | { expired: string };
  payload?: TaskPayload | null;
}

type DeletionRow =
  /** The ids are in the payload, a JSON array of strings. */
  | { type: 'documentDeletion'; by: 'ids'; ids: number }
  | { type: 'documentDeletion'; by: 'filter'; filter: unknown }
  | { type: 'documentDeletion'; by: 'all' }
  | { type: 'documentDeletion'; by: 'expired'; attribute: string };

export const documentDeletion = taskType({
  name: 'documentDeletion',
  words: 'Delete documents',
  code: 3,
  batching: {
    kind(flags) {
      if ((flags & FLAG.all) !== 0) return 'clear';
      return (flags & FLAG.byFilter) !== 0 ? 'deleteFilter' : 'deleteIds';
    },
  },
  counts: true,
  inBatch: { providedIds: 'sum', deletedDocuments: 'sum', originalFilter: 'joined' },
  draft({ type, by, indexUid }: DeletionRequest): TaskDraft<DeletionRow> {
    if ('all' in by) return { indexUid, flags: FLAG.all, row: () => ({ type, by: 'all' }) };
    if ('filter' in by) {
      const { filter } = by;
      return { indexUid, flags: FLAG.byFilter, row: () => ({ type, by: 'filter', filter }) };
    }
    if ('expired' in by) {
      const { expired: attribute } = by;
      return { indexUid, flags: FLAG.byFilter, row: () => ({ type, by: 'expired', attribute }) };
    }
    if ('idsInPayload' in by) {
      return { indexUid, row: () => ({ type, by: 'ids', ids: by.idsInPayload }) };
    }
    const payload = { bytes: Buffer.from(JSON.stringify(by.ids)) };
    return { indexUid, payload, row: () => ({ type, by: 'ids', ids: by.ids.length }) };
  },
  details(row: DeletionRow, { result }): TaskDetails {
    if (row.by === 'all') return { deletedDocuments: result };
    return {
      providedIds: row.by === 'ids' ? row.ids : 0,
      deletedDocuments: result,
      originalFilter: row.by === 'ids' ? null : JSON.stringify(filterOf(row)),
    };
  },
  dump: {
    write(row: DeletionRow, { ids, details }) {
      const deleted_documents = details.deletedDocuments;
      switch (row.by) {
        case 'all':
          return { type: 'documentClear', details: { ClearAll: { deleted_documents } } };
        case 'ids':
          return {
            type: { documentDeletion: { documents_ids: ids } },
            details: {
              DocumentDeletion: { provided_ids: details.providedIds, deleted_documents },
            },
          };
        case 'filter': {
          const original_filter = details.originalFilter;
          return {
            type: { documentDeletionByFilter: { filter: row.filter } },
            details: { DocumentDeletionByFilter: { original_filter, deleted_documents } },
          };
        }
        case 'expired': {
          const original_filter = details.originalFilter;
          const filter = filterOf(row);
          return {
            type: { documentDeletionByFilter: { filter, expired: row.attribute } },
            details: { DocumentDeletionByFilter: { original_filter, deleted_documents } },
          };
        }
      }
    },
    read: {
      documentDeletion({ indexUid, content, details }) {
        const ids = Array.isArray(content.documents_ids) ? content.documents_ids.map(String) : [];
        const provided = numberOf(details.provided_ids) ?? ids.length;
        const read = readDeletion(indexUid, { ids }, details);
        return provided === ids.length ? read : { ...read, details: { providedIds: provided } };
      },
      documentDeletionByFilter({ indexUid, content, details }) {
        const expired = textOf(content.expired);
        const by = expired === null ? { filter: content.filter } : { expired };
        return readDeletion(indexUid, by, details);
      },
      documentClear: ({ indexUid, details }) => readDeletion(indexUid, { all: true }, details),
    },
  },
});

function filterOf(row: Extract<DeletionRow, { by: 'filter' | 'expired' }>): unknown {
  return row.by === 'filter' ? row.filter : `${JSON.stringify(row.attribute)} <= now`;
}

function readDeletion(
  indexUid: string,
  by: DeletionRequest['by'],
  details: TaskDetails,
): ReadTask<DeletionRequest> {
  return {
    request: { type: 'documentDeletion', indexUid, by },
    result: numberOf(details.deleted_documents),
  };
}

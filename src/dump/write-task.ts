/** Tasks and batches as lines of a dump: the opposite of `read-task.ts`. */
import type { RawJson } from '../base/json.ts';
import type { BatchView, TaskView } from '../contract/tasks.ts';
import type { RowOf, TaskRow } from '../contract/task-types.ts';
import { fromRuns } from '../base/uid-runs.ts';
import { encodeUids } from './task-bitmap.ts';

type Json = Record<string, unknown>;

/** What a task line is made of. */
export interface TaskSource {
  row: TaskRow;
  view: TaskView;
  mayCreateIndex: boolean;
  /** Of a deletion by ids that waits. */
  ids: readonly string[] | RawJson;
  /** Uid of an index by its number. */
  nameOf: (index: number) => string | null;
}

export function taskLine(source: TaskSource): Json {
  const { view } = source;
  const line: Json = {
    uid: view.uid,
    batchUid: view.batchUid,
    indexUid: view.indexUid,
    status: view.status === 'processing' ? 'enqueued' : view.status,
    type: typeOf(source),
    canceledBy: view.canceledBy,
    details: detailsOf(source),
    error: view.error,
    enqueuedAt: view.enqueuedAt,
    startedAt: view.status === 'processing' ? null : view.startedAt,
    finishedAt: view.finishedAt,
  };
  if (view.status === 'processing') line.batchUid = null;
  if (view.network !== undefined) line.network = view.network;
  if (view.customMetadata !== undefined) line.customMetadata = view.customMetadata;
  return line;
}

/** A type added to the registry has to be added here and in `read-task.ts`. */
function typeOf({ row, view, mayCreateIndex, ids, nameOf }: TaskSource): Json | string {
  switch (row.type) {
    case 'documentAdditionOrUpdate':
      return {
        documentImport: {
          primary_key: row.primaryKey,
          method: row.method === 'update' ? 'UpdateDocuments' : 'ReplaceDocuments',
          documents_count: row.documents,
          allow_index_creation: mayCreateIndex,
          ...(row.skipCreation ? { skip_creation: true } : {}),
        },
      };
    case 'documentDeletion':
      if (row.by === 'all') return 'documentClear';
      if (row.by === 'filter') return { documentDeletionByFilter: { filter: row.filter } };
      return { documentDeletion: { documents_ids: ids } };
    case 'documentEdition': {
      const { filter, context } = row;
      return { documentEdition: { filter: filter ?? null, context, function: row.function } };
    }
    case 'settingsUpdate':
      return {
        settings: {
          settings: row.settings,
          is_deletion: false,
          allow_index_creation: mayCreateIndex,
        },
      };
    case 'indexCreation':
      return { indexCreation: { primary_key: row.primaryKey } };
    case 'indexUpdate':
      return {
        indexUpdate: {
          primary_key: row.primaryKey,
          ...(row.rename === undefined ? {} : { uid: row.rename.newUid }),
        },
      };
    case 'indexSwap':
      return { indexSwap: { swaps: swapsOf(row, nameOf) } };
    case 'taskCancelation':
      return { tasksCancelation: matchedOf(row) };
    case 'taskDeletion':
      return { tasksDeletion: matchedOf(row) };
    case 'dumpCreation':
      return { dumpCreation: { keys: [], instance_uid: null } };
    case 'export':
      return {
        export: {
          url: row.url,
          api_key: row.apiKey,
          payload_size: row.payloadSizeBytes,
          indexes: row.indexes,
        },
      };
    case 'indexCompaction':
      return { indexCompaction: { index_uid: view.indexUid } };
    case 'dsrUpdate':
      return { dsrUpdate: { rule_uid: row.ruleUid, patch: row.patch } };
    case 'indexDeletion':
    case 'snapshotCreation':
    case 'networkTopologyChange':
    case 'dsrClear':
      return row.type;
  }
}

function matchedOf({
  originalFilter,
  matched,
}: Pick<RowOf<'taskCancelation'>, 'originalFilter' | 'matched'>): Json {
  return { query: originalFilter, tasks: encodeUids([...fromRuns(matched)]) };
}

function swapsOf(row: RowOf<'indexSwap'>, nameOf: TaskSource['nameOf']): Json[] {
  return row.swaps.map(({ pair, rename }) => ({ indexes: pair.map(nameOf), rename }));
}

function detailsOf({ row, view, nameOf }: TaskSource): Json | null {
  const details = view.details ?? {};
  switch (row.type) {
    case 'documentAdditionOrUpdate':
      return {
        DocumentAdditionOrUpdate: {
          received_documents: details.receivedDocuments,
          indexed_documents: details.indexedDocuments,
        },
      };
    case 'documentDeletion': {
      const deleted_documents = details.deletedDocuments;
      if (row.by === 'all') return { ClearAll: { deleted_documents } };
      if (row.by === 'ids') {
        return { DocumentDeletion: { provided_ids: details.providedIds, deleted_documents } };
      }
      const original_filter = details.originalFilter;
      return { DocumentDeletionByFilter: { original_filter, deleted_documents } };
    }
    case 'documentEdition':
      return {
        DocumentEdition: {
          deleted_documents: details.deletedDocuments,
          edited_documents: details.editedDocuments,
          original_filter: details.originalFilter,
          context: details.context,
          function: details.function,
        },
      };
    case 'settingsUpdate':
      return { SettingsUpdate: { settings: row.settings } };
    case 'indexCreation':
      return { IndexInfo: { primary_key: row.primaryKey } };
    case 'indexUpdate':
      return {
        IndexInfo: {
          primary_key: row.primaryKey,
          ...(row.rename === undefined
            ? {}
            : { new_index_uid: row.rename.newUid, old_index_uid: row.rename.oldUid }),
        },
      };
    case 'indexDeletion':
    case 'dsrClear':
      return { ClearAll: { deleted_documents: details.deletedDocuments } };
    case 'indexCompaction':
      return {
        IndexCompaction: {
          index_uid: view.indexUid,
          pre_compaction_size: details.preCompactionSize ?? null,
          post_compaction_size: details.postCompactionSize ?? null,
        },
      };
    case 'indexSwap':
      return { IndexSwap: { swaps: swapsOf(row, nameOf) } };
    case 'taskCancelation':
      return {
        TaskCancelation: {
          matched_tasks: details.matchedTasks,
          canceled_tasks: details.canceledTasks,
          original_filter: details.originalFilter,
        },
      };
    case 'taskDeletion':
      return {
        TaskDeletion: {
          matched_tasks: details.matchedTasks,
          deleted_tasks: details.deletedTasks,
          original_filter: details.originalFilter,
        },
      };
    case 'dumpCreation':
      return { Dump: { dump_uid: details.dumpUid ?? null } };
    case 'networkTopologyChange':
      return { NetworkTopologyChange: { moved_documents: details.movedDocuments ?? 0 } };
    case 'snapshotCreation':
    case 'dsrUpdate':
      return null;
    case 'export':
      return {
        Export: {
          url: row.url,
          api_key: row.apiKey,
          payload_size: row.payloadSizeBytes,
          indexes: details.indexes,
        },
      };
  }
}

/** A finished batch. */
export function batchLine(view: BatchView, enqueued: { first: string; last: string }): Json {
  const { uid, details, stats, startedAt, finishedAt, batchStrategy } = view;
  return {
    uid,
    details,
    stats,
    startedAt,
    finishedAt,
    enqueuedAt: { earliest: enqueued.last, oldest: enqueued.first },
    batchStrategy,
  };
}

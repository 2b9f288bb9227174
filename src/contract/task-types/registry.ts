/** Every type of task, in the order in which messages list them. */
import type { RawJson } from '../../base/json.ts';
import { shortSize } from '../../base/size.ts';
import { runsOf } from '../../base/uid-runs.ts';
import { masked, maskedUrl } from '../../base/secrets.ts';
import { type PartialSettings, renderPartialSettings } from '../settings.ts';
import type { IndexVisibility, TaskDetails, TaskFilter } from '../tasks.ts';
import { shownRulePatch, type SearchRulePatch } from '../search-rules.ts';
import { ALONE, FLAG, reservedType, type TaskDraft, taskType } from './task-type.ts';

export type DocumentMethod = 'replace' | 'update';

/** Bytes in memory, or a file on the filesystem of the data folder that the task machine then owns. */
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

const documentAdditionOrUpdate = taskType({
  name: 'documentAdditionOrUpdate',
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
});

interface EditionRequest {
  type: 'documentEdition';
  indexUid: string;
  function: string;
  context: RawJson | Record<string, unknown> | null;
  filter: unknown;
}

type EditionRow = Omit<EditionRequest, 'indexUid'>;

const documentEdition = taskType({
  name: 'documentEdition',
  code: 2,
  batching: ALONE,
  counts: true,
  inBatch: { editedDocuments: 'sum', function: 'first', context: 'first' },
  draft: ({ indexUid, ...row }: EditionRequest): TaskDraft<EditionRow> => ({
    indexUid,
    row: () => row,
  }),
  // How many were edited and deleted is part of the outcome.
  details: (row: EditionRow, { status }) => ({
    deletedDocuments: null,
    editedDocuments: status === 'failed' || status === 'canceled' ? 0 : null,
    context: row.context,
    function: row.function,
    originalFilter:
      row.filter === null || row.filter === undefined ? null : JSON.stringify(row.filter),
  }),
});

interface DeletionRequest {
  type: 'documentDeletion';
  indexUid: string;
  /** `idsInPayload`: so many ids are the payload, a JSON array of strings. */
  by: { ids: string[] } | { idsInPayload: number } | { filter: unknown } | { all: true };
  payload?: TaskPayload | null;
}

type DeletionRow =
  /** The ids are in the payload, a JSON array of strings. */
  | { type: 'documentDeletion'; by: 'ids'; ids: number }
  | { type: 'documentDeletion'; by: 'filter'; filter: unknown }
  | { type: 'documentDeletion'; by: 'all' };

const documentDeletion = taskType({
  name: 'documentDeletion',
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
      originalFilter: row.by === 'ids' ? null : JSON.stringify(row.filter),
    };
  },
});

interface SettingsRequest {
  type: 'settingsUpdate';
  indexUid: string;
  /** Canonical partial settings; null resets one. Secrets in clear. */
  settings: Record<string, unknown>;
  /** See `SettingsChange`. Default: none. */
  stored?: Record<string, unknown>;
  isReset: boolean;
  allowIndexCreation: boolean;
}

interface SettingsRow {
  type: 'settingsUpdate';
  settings: Record<string, unknown>;
  stored?: Record<string, unknown>;
}

const settingsUpdate = taskType({
  name: 'settingsUpdate',
  code: 4,
  batching: { kind: () => 'settings' },
  draft(request: SettingsRequest): TaskDraft<SettingsRow> {
    const { type, settings, stored = {}, indexUid, allowIndexCreation, isReset } = request;
    const flags = allowIndexCreation && !isReset ? FLAG.mayCreateIndex : 0;
    const more = Object.keys(stored).length === 0 ? {} : { stored };
    return { indexUid, flags, row: () => ({ type, settings, ...more }) };
  },
  details: (row: SettingsRow) => renderPartialSettings(row.settings as PartialSettings),
});

interface IndexCreationRequest {
  type: 'indexCreation';
  indexUid: string;
  primaryKey: string | null;
}

type IndexCreationRow = Omit<IndexCreationRequest, 'indexUid'>;

const indexCreation = taskType({
  name: 'indexCreation',
  code: 5,
  batching: ALONE,
  inBatch: { primaryKey: 'first' },
  draft: ({ indexUid, ...row }: IndexCreationRequest): TaskDraft<IndexCreationRow> => ({
    indexUid,
    row: () => row,
  }),
  details: ({ primaryKey }: IndexCreationRow) => ({ primaryKey }),
});

interface IndexDeletionRequest {
  type: 'indexDeletion';
  indexUid: string;
}

interface IndexDeletionRow {
  type: 'indexDeletion';
}

const indexDeletion = taskType({
  name: 'indexDeletion',
  code: 6,
  batching: { kind: () => 'indexDeletion' },
  counts: true,
  inBatch: { deletedDocuments: 'sum' },
  draft: ({ type, indexUid }: IndexDeletionRequest): TaskDraft<IndexDeletionRow> => ({
    indexUid,
    row: () => ({ type }),
  }),
  details: (_row: IndexDeletionRow, { result }) => ({ deletedDocuments: result }),
});

interface IndexUpdateRequest {
  type: 'indexUpdate';
  indexUid: string;
  primaryKey?: string;
  newUid?: string;
}

interface IndexUpdateRow {
  type: 'indexUpdate';
  primaryKey: string | null;
  /** The uids are those of the request, for the details; `target` is the number of the new one. */
  rename?: { oldUid: string; newUid: string; target: number };
}

const indexUpdate = taskType({
  name: 'indexUpdate',
  code: 7,
  batching: ALONE,
  inBatch: { primaryKey: 'first' },
  draft(request: IndexUpdateRequest): TaskDraft<IndexUpdateRow> {
    const { type, primaryKey = null, newUid, indexUid } = request;
    if (newUid === undefined) return { indexUid, row: () => ({ type, primaryKey }) };
    return {
      indexUid,
      alsoIndexes: newUid === indexUid ? [] : [newUid],
      row: ({ numberOf }) => ({
        type,
        primaryKey,
        rename: { oldUid: indexUid, newUid, target: numberOf(newUid) },
      }),
    };
  },
  details({ primaryKey, rename }: IndexUpdateRow): TaskDetails {
    if (rename === undefined) return { primaryKey };
    return { primaryKey, oldIndexUid: rename.oldUid, newIndexUid: rename.newUid };
  },
  indexesIn: ({ rename }: IndexUpdateRow) => (rename === undefined ? [] : [rename.target]),
  renumbered: (row: IndexUpdateRow, to) =>
    row.rename === undefined
      ? row
      : { ...row, rename: { ...row.rename, target: to(row.rename.target) } },
});

export interface IndexSwapPair {
  indexes: [string, string];
  rename: boolean;
}

interface IndexSwapRequest {
  type: 'indexSwap';
  swaps: IndexSwapPair[];
}

interface IndexSwapRow {
  type: 'indexSwap';
  /** Pairs of index numbers. */
  swaps: { pair: [number, number]; rename: boolean }[];
}

const indexSwap = taskType({
  name: 'indexSwap',
  code: 8,
  batching: ALONE,
  inBatch: { swaps: 'concatenated' },
  draft: ({ type, swaps }: IndexSwapRequest): TaskDraft<IndexSwapRow> => ({
    indexUid: null,
    alsoIndexes: swaps.flatMap(({ indexes }) => indexes),
    row: ({ numberOf }) => ({
      type,
      swaps: swaps.map(({ indexes: [a, b], rename }) => ({
        pair: [numberOf(a), numberOf(b)],
        rename,
      })),
    }),
  }),
  details: ({ swaps }: IndexSwapRow, _progressed, nameOf) => ({
    swaps: swaps.map(({ pair, rename }) => ({ indexes: pair.map(nameOf), rename })),
  }),
  indexesIn: ({ swaps }: IndexSwapRow) => swaps.flatMap(({ pair }) => pair),
  foundByAllIndexes: true,
  renumbered: (row: IndexSwapRow, to): IndexSwapRow => ({
    ...row,
    swaps: row.swaps.map(({ pair: [a, b], rename }) => ({ pair: [to(a), to(b)], rename })),
  }),
});

interface OnTasksRequest<Name> {
  type: Name;
  filter: TaskFilter;
  /** `?` and the raw query string. */
  originalFilter: string;
  visible: IndexVisibility;
}

interface OnTasksRow<Name> {
  type: Name;
  originalFilter: string;
  matchedTasks: number;
  /** Matched uids as runs: first, count, first, count, ... ascending. */
  matched: number[];
}

/** Which tasks match is decided when all before it are registered. */
function onTasks<Name extends string>({
  type,
  filter,
  originalFilter,
  visible,
}: OnTasksRequest<Name>): TaskDraft<OnTasksRow<Name>> {
  return {
    indexUid: null,
    late: true,
    row({ matching }) {
      const uids = matching(filter, visible);
      return { type, originalFilter, matchedTasks: uids.length, matched: runsOf(uids) };
    },
  };
}

const taskCancelation = taskType({
  name: 'taskCancelation',
  code: 9,
  batching: { turn: 0, take: 'highest' },
  counts: true,
  inBatch: { matchedTasks: 'sum', canceledTasks: 'sum', originalFilter: 'joined' },
  runsToItsEnd: true,
  makesRoom: true,
  draft: onTasks<'taskCancelation'>,
  details: ({ matchedTasks, originalFilter }: OnTasksRow<'taskCancelation'>, { result }) => ({
    matchedTasks,
    canceledTasks: result,
    originalFilter,
  }),
});

const taskDeletion = taskType({
  name: 'taskDeletion',
  code: 10,
  batching: { turn: 3, take: 'all' },
  counts: true,
  inBatch: { matchedTasks: 'sum', deletedTasks: 'sum', originalFilter: 'joined' },
  makesRoom: true,
  draft: onTasks<'taskDeletion'>,
  details: ({ matchedTasks, originalFilter }: OnTasksRow<'taskDeletion'>, { result }) => ({
    matchedTasks,
    deletedTasks: result,
    originalFilter,
  }),
});

interface DumpCreation {
  type: 'dumpCreation';
}

const dumpCreation = taskType({
  name: 'dumpCreation',
  code: 11,
  batching: { turn: 7, take: 'lowest' },
  inBatch: { dumpUid: 'first' },
  draft: ({ type }: DumpCreation): TaskDraft<DumpCreation> => ({
    indexUid: null,
    row: () => ({ type }),
  }),
  // The uid is part of the outcome.
  details: (_row: DumpCreation) => ({ dumpUid: null }),
});

interface SnapshotCreation {
  type: 'snapshotCreation';
}

const snapshotCreation = taskType({
  name: 'snapshotCreation',
  code: 12,
  batching: { turn: 6, take: 'all' },
  draft: ({ type }: SnapshotCreation): TaskDraft<SnapshotCreation> => ({
    indexUid: null,
    row: () => ({ type }),
  }),
  details: (_row: SnapshotCreation) => null,
});

interface NetworkTopologyChange {
  type: 'networkTopologyChange';
}

const networkTopologyChange = taskType({
  name: 'networkTopologyChange',
  code: 16,
  batching: { turn: 2, take: 'lowest' },
  counts: true,
  inBatch: { movedDocuments: 'sum' },
  draft: ({ type }: NetworkTopologyChange): TaskDraft<NetworkTopologyChange> => ({
    indexUid: null,
    row: () => ({ type }),
  }),
  details: (_row: NetworkTopologyChange, { result }) => ({ movedDocuments: result }),
});

/** What an export is asked to do; stored as it is. */
export interface ExportRequest {
  type: 'export';
  url: string;
  apiKey: string | null;
  /** null: not given. */
  payloadSizeBytes: number | null;
  indexes: Record<string, { filter: unknown; overrideSettings: boolean }>;
}

const exportType = taskType({
  name: 'export',
  code: 13,
  batching: { turn: 5, take: 'lowest' },
  detachedMax: 4,
  inBatch: { url: 'first', apiKey: 'first', payloadSize: 'first' },
  draft: ({ type, url, apiKey, payloadSizeBytes, indexes }: ExportRequest) => ({
    indexUid: null,
    row: (): ExportRequest => ({ type, url, apiKey, payloadSizeBytes, indexes }),
  }),
  details(row: ExportRequest): TaskDetails {
    const details: TaskDetails = { url: maskedUrl(row.url) };
    if (row.apiKey !== null) details.apiKey = masked(row.apiKey);
    if (row.payloadSizeBytes !== null) details.payloadSize = shortSize(row.payloadSizeBytes);
    details.indexes = row.indexes;
    return details;
  },
});

interface CompactionRequest {
  type: 'indexCompaction';
  indexUid: string;
}

const indexCompaction = taskType({
  name: 'indexCompaction',
  code: 15,
  batching: { turn: 4, take: 'lowest' },
  draft: ({ type, indexUid }: CompactionRequest) => ({ indexUid, row: () => ({ type }) }),
  // The sizes are part of the outcome.
  details: (): TaskDetails => ({}),
});

/** The index that tasks on dynamic search rules show. Its uid is none that a user could choose. */
export const RULES_INDEX_UID = '.meili_dsr';

interface RuleUpdateRequest {
  type: 'dsrUpdate';
  ruleUid: string;
  /** null: the rule is deleted. */
  patch: SearchRulePatch | null;
}

const dsrUpdate = taskType({
  name: 'dsrUpdate',
  code: 17,
  batching: ALONE,
  inBatch: { updatedRules: 'sum', rule: 'first' },
  draft: (row: RuleUpdateRequest) => ({ indexUid: RULES_INDEX_UID, row: () => row }),
  details: ({ patch }: RuleUpdateRequest): TaskDetails =>
    patch === null ? { updatedRules: 1 } : { rule: shownRulePatch(patch), updatedRules: 1 },
});

interface RuleClearRequest {
  type: 'dsrClear';
}

const dsrClear = taskType({
  name: 'dsrClear',
  code: 18,
  batching: ALONE,
  counts: true,
  inBatch: { deletedDocuments: 'sum' },
  draft: ({ type }: RuleClearRequest) => ({ indexUid: RULES_INDEX_UID, row: () => ({ type }) }),
  details: (_: RuleClearRequest, { result }): TaskDetails => ({ deletedDocuments: result }),
});

export const TASK_TYPE_ENTRIES = [
  documentAdditionOrUpdate,
  documentEdition,
  documentDeletion,
  settingsUpdate,
  indexCreation,
  indexDeletion,
  indexUpdate,
  indexSwap,
  taskCancelation,
  taskDeletion,
  dumpCreation,
  snapshotCreation,
  exportType,
  reservedType('databaseUpgrade', 14, { turn: 1, take: 'all' }),
  indexCompaction,
  networkTopologyChange,
  dsrUpdate,
  dsrClear,
] as const;

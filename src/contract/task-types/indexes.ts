/** Types of tasks on indexes as a whole. */
import type { TaskDetails } from './fields.ts';
import { numberOf, type ReadTask, textOf } from './dump-form.ts';
import { ALONE, type TaskDraft, taskType } from './task-type.ts';

interface IndexCreationRequest {
  type: 'indexCreation';
  indexUid: string;
  primaryKey: string | null;
}

type IndexCreationRow = Omit<IndexCreationRequest, 'indexUid'>;

export const indexCreation = taskType({
  name: 'indexCreation',
  words: 'Create an index',
  code: 5,
  batching: ALONE,
  inBatch: { primaryKey: 'first' },
  draft: ({ indexUid, ...row }: IndexCreationRequest): TaskDraft<IndexCreationRow> => ({
    indexUid,
    row: () => row,
  }),
  details: ({ primaryKey }: IndexCreationRow) => ({ primaryKey }),
  dump: {
    write: ({ primaryKey }: IndexCreationRow) => ({
      type: { indexCreation: { primary_key: primaryKey } },
      details: { IndexInfo: { primary_key: primaryKey } },
    }),
    read: {
      indexCreation: ({ indexUid, content }): ReadTask<IndexCreationRequest> => ({
        request: { type: 'indexCreation', indexUid, primaryKey: textOf(content.primary_key) },
      }),
    },
  },
});

interface IndexDeletionRequest {
  type: 'indexDeletion';
  indexUid: string;
}

interface IndexDeletionRow {
  type: 'indexDeletion';
}

export const indexDeletion = taskType({
  name: 'indexDeletion',
  words: 'Delete an index',
  code: 6,
  batching: { kind: () => 'indexDeletion' },
  counts: true,
  inBatch: { deletedDocuments: 'sum' },
  refusesAlias: () => true,
  draft: ({ type, indexUid }: IndexDeletionRequest): TaskDraft<IndexDeletionRow> => ({
    indexUid,
    row: () => ({ type }),
  }),
  details: (_row: IndexDeletionRow, { result }) => ({ deletedDocuments: result }),
  dump: {
    write: (_row: IndexDeletionRow, { details }) => ({
      type: 'indexDeletion',
      details: { ClearAll: { deleted_documents: details.deletedDocuments } },
    }),
    read: {
      indexDeletion: ({ indexUid, details }): ReadTask<IndexDeletionRequest> => ({
        request: { type: 'indexDeletion', indexUid },
        result: numberOf(details.deleted_documents),
      }),
    },
  },
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

export const indexUpdate = taskType({
  name: 'indexUpdate',
  words: 'Change an index',
  code: 7,
  batching: ALONE,
  inBatch: { primaryKey: 'first' },
  refusesAlias: ({ newUid }: IndexUpdateRequest) => newUid !== undefined,
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
  dump: {
    write: ({ primaryKey, rename }: IndexUpdateRow) => ({
      type: {
        indexUpdate: {
          primary_key: primaryKey,
          ...(rename === undefined ? {} : { uid: rename.newUid }),
        },
      },
      details: {
        IndexInfo: {
          primary_key: primaryKey,
          ...(rename === undefined
            ? {}
            : { new_index_uid: rename.newUid, old_index_uid: rename.oldUid }),
        },
      },
    }),
    read: {
      indexUpdate({ indexUid, content, details }): ReadTask<IndexUpdateRequest> {
        const request: IndexUpdateRequest = { type: 'indexUpdate', indexUid };
        const primaryKey = textOf(content.primary_key);
        const newUid =
          textOf(content.uid) ?? textOf(content.new_index_uid) ?? textOf(details.new_index_uid);
        if (primaryKey !== null) request.primaryKey = primaryKey;
        if (newUid !== null) {
          request.newUid = newUid;
          request.indexUid = textOf(details.old_index_uid) ?? indexUid;
        }
        return { request };
      },
    },
  },
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

export const indexSwap = taskType({
  name: 'indexSwap',
  words: 'Swap indexes',
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
  dump: {
    write({ swaps: pairs }: IndexSwapRow, { nameOf }) {
      const swaps = pairs.map(({ pair, rename }) => ({ indexes: pair.map(nameOf), rename }));
      return { type: { indexSwap: { swaps } }, details: { IndexSwap: { swaps } } };
    },
    read: {
      indexSwap({ content }): ReadTask<IndexSwapRequest> {
        const swaps = Array.isArray(content.swaps)
          ? (content.swaps as Record<string, unknown>[])
          : [];
        return {
          request: {
            type: 'indexSwap',
            swaps: swaps.map(({ indexes, rename }) => ({
              indexes: (indexes as unknown[]).map(String) as [string, string],
              rename: rename === true,
            })),
          },
        };
      },
    },
  },
});

interface BranchRequest {
  type: 'indexBranch';
  indexUid: string;
  branch: string;
  follow: boolean;
}

interface BranchRow {
  type: 'indexBranch';
  /** The uid of the request, for the details; `target` is its number. */
  branch: string;
  target: number;
  follow: boolean;
}

export const indexBranch = taskType({
  name: 'indexBranch',
  words: 'Make a branch of an index',
  code: 21,
  batching: ALONE,
  draft: ({ type, indexUid, branch, follow }: BranchRequest): TaskDraft<BranchRow> => ({
    indexUid,
    alsoIndexes: branch === indexUid ? [] : [branch],
    row: ({ numberOf }) => ({ type, branch, target: numberOf(branch), follow }),
  }),
  details: ({ branch, follow }: BranchRow): TaskDetails => ({ branchUid: branch, follow }),
  indexesIn: ({ target }: BranchRow) => [target],
  renumbered: (row: BranchRow, to): BranchRow => ({ ...row, target: to(row.target) }),
  dump: {
    write: ({ branch, follow }: BranchRow, { indexUid }) => ({
      type: { indexBranch: { index_uid: indexUid, branch_uid: branch, follow } },
      details: null,
    }),
    read: {
      indexBranch({ indexUid, content }): ReadTask<BranchRequest> | null {
        const branch = textOf(content.branch_uid);
        const follow = content.follow === true;
        if (branch === null) return null;
        return { request: { type: 'indexBranch', indexUid, branch, follow } };
      },
    },
  },
});

interface CompactionRequest {
  type: 'indexCompaction';
  indexUid: string;
}

export const indexCompaction = taskType({
  name: 'indexCompaction',
  words: 'Compact an index',
  code: 15,
  batching: { priority: 4, take: 'lowest' },
  draft: ({ type, indexUid }: CompactionRequest) => ({ indexUid, row: () => ({ type }) }),
  // The sizes are part of the result.
  details: (): TaskDetails => ({}),
  dump: {
    write: (_row: Omit<CompactionRequest, 'indexUid'>, { indexUid, details }) => ({
      type: { indexCompaction: { index_uid: indexUid } },
      details: {
        IndexCompaction: {
          index_uid: indexUid,
          pre_compaction_size: details.preCompactionSize ?? null,
          post_compaction_size: details.postCompactionSize ?? null,
        },
      },
    }),
    read: {
      indexCompaction({ indexUid, details }): ReadTask<CompactionRequest> {
        const [before, after] = [details.pre_compaction_size, details.post_compaction_size];
        const sizes = { preCompactionSize: before, postCompactionSize: after };
        return {
          request: { type: 'indexCompaction', indexUid },
          ...(textOf(before) === null || textOf(after) === null ? {} : { details: sizes }),
        };
      },
    },
  },
});

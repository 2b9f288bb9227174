/** Types of tasks on aliases. */
import type { TaskDetails } from './fields.ts';
import { type ReadTask, textOf } from './dump-form.ts';
import { ALONE, type TaskDraft, taskType } from './task-type.ts';

interface AliasUpdateRequest {
  type: 'aliasUpdate';
  alias: string;
  indexUid: string;
}

interface AliasUpdateRow {
  type: 'aliasUpdate';
  /** As requested: an alias holds a uid, so a swap does not change them. */
  alias: string;
  target: string;
  /** Number of the alias, which no index may have as its uid. */
  aliasNumber: number;
}

/** Belongs to the index and to the alias, so it runs after all earlier tasks on either. */
export const aliasUpdate = taskType({
  name: 'aliasUpdate',
  words: 'Change an alias',
  code: 19,
  batching: ALONE,
  refusesAlias: () => true,
  draft: ({ type, alias, indexUid }: AliasUpdateRequest): TaskDraft<AliasUpdateRow> => ({
    indexUid,
    alsoIndexes: [alias],
    row: ({ numberOf }) => ({ type, alias, target: indexUid, aliasNumber: numberOf(alias) }),
  }),
  details: ({ alias, target }: AliasUpdateRow): TaskDetails => ({ alias, indexUid: target }),
  indexesIn: ({ aliasNumber }: AliasUpdateRow) => [aliasNumber],
  renumbered: (row: AliasUpdateRow, to): AliasUpdateRow => ({
    ...row,
    aliasNumber: to(row.aliasNumber),
  }),
  dump: {
    write: ({ alias, target }: AliasUpdateRow) => ({
      type: { aliasUpdate: { alias, index_uid: target } },
      details: null,
    }),
    read: {
      aliasUpdate({ content }): ReadTask<AliasUpdateRequest> | null {
        const alias = textOf(content.alias);
        const indexUid = textOf(content.index_uid);
        if (alias === null || indexUid === null) return null;
        return { request: { type: 'aliasUpdate', alias, indexUid } };
      },
    },
  },
});

interface AliasDeletionRequest {
  type: 'aliasDeletion';
  alias: string;
}

export const aliasDeletion = taskType({
  name: 'aliasDeletion',
  words: 'Delete an alias',
  code: 20,
  batching: ALONE,
  draft: (row: AliasDeletionRequest): TaskDraft<AliasDeletionRequest> => ({
    indexUid: row.alias,
    row: () => row,
  }),
  details: ({ alias }: AliasDeletionRequest): TaskDetails => ({ alias }),
  dump: {
    write: ({ alias }: AliasDeletionRequest) => ({
      type: { aliasDeletion: { alias } },
      details: null,
    }),
    read: {
      aliasDeletion({ content }): ReadTask<AliasDeletionRequest> | null {
        const alias = textOf(content.alias);
        return alias === null ? null : { request: { type: 'aliasDeletion', alias } };
      },
    },
  },
});

/** Types of tasks on dynamic search rules. */
import { type SearchRulePatch, shownRulePatch } from '../search-rules.ts';
import type { TaskDetails } from './fields.ts';
import { numberOf, type ReadTask, textOf } from './dump-form.ts';
import { ALONE, taskType } from './task-type.ts';

/** The index that tasks on dynamic search rules show. Users cannot choose this uid. */
export const RULES_INDEX_UID = '.meili_dsr';

interface RuleUpdateRequest {
  type: 'dsrUpdate';
  ruleUid: string;
  /** null: the rule is deleted. */
  patch: SearchRulePatch | null;
}

export const dsrUpdate = taskType({
  name: 'dsrUpdate',
  words: 'Change a search rule',
  code: 17,
  batching: ALONE,
  inBatch: { updatedRules: 'sum', rule: 'first' },
  draft: (row: RuleUpdateRequest) => ({ indexUid: RULES_INDEX_UID, row: () => row }),
  details: ({ patch }: RuleUpdateRequest): TaskDetails =>
    patch === null ? { updatedRules: 1 } : { rule: shownRulePatch(patch), updatedRules: 1 },
  dump: {
    write: ({ ruleUid, patch }: RuleUpdateRequest) => ({
      type: { dsrUpdate: { rule_uid: ruleUid, patch } },
      details: null,
    }),
    read: {
      dsrUpdate({ content }): ReadTask<RuleUpdateRequest> | null {
        const ruleUid = textOf(content.rule_uid);
        if (ruleUid === null) return null;
        const patch = (content.patch ?? null) as SearchRulePatch | null;
        return { request: { type: 'dsrUpdate', ruleUid, patch } };
      },
    },
  },
});

interface RuleClearRequest {
  type: 'dsrClear';
}

export const dsrClear = taskType({
  name: 'dsrClear',
  words: 'Delete all search rules',
  code: 18,
  batching: ALONE,
  counts: true,
  inBatch: { deletedDocuments: 'sum' },
  draft: ({ type }: RuleClearRequest) => ({ indexUid: RULES_INDEX_UID, row: () => ({ type }) }),
  details: (_: RuleClearRequest, { result }): TaskDetails => ({ deletedDocuments: result }),
  dump: {
    write: (_row: RuleClearRequest, { details }) => ({
      type: 'dsrClear',
      details: { ClearAll: { deleted_documents: details.deletedDocuments } },
    }),
    read: {
      dsrClear: ({ details }): ReadTask<RuleClearRequest> => ({
        request: { type: 'dsrClear' },
        result: numberOf(details.deleted_documents),
      }),
    },
  },
});

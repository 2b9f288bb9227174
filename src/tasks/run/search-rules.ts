import { ApiError } from '../../contract/errors.ts';
import { changedRule, RULES_MAX } from '../../contract/search-rules.ts';
import type { RowOf } from '../../contract/task-types.ts';
import type { RuleStore } from '../../store/rule-store.ts';
import type { Runner } from '../runners.ts';
import { allFailed, readTasks, succeeded } from './run.ts';

/**
 * Changes or deletes one rule. The rule is stored before the task ends; a crash between the two repeats the same change,
 * which comes to the same rule.
 */
export function ruleUpdateRunner(rules: RuleStore): Runner {
  return async (context) => {
    const [task] = await readTasks(context);
    const { ruleUid, patch } = task!.row as RowOf<'dsrUpdate'>;
    if (patch === null) {
      await rules.remove(ruleUid);
    } else {
      const rule = rules.get(ruleUid);
      if (rule === undefined && rules.size >= RULES_MAX) {
        const full = `There are ${RULES_MAX} dynamic search rules; delete one first.`;
        return { ends: allFailed(context.batch, new ApiError('bad_request', full)) };
      }
      await rules.put(changedRule(ruleUid, rule, patch, context.now));
    }
    return { ends: [succeeded(task!.uid, null)] };
  };
}

/** Deletes all rules, one after the other: a crash in between goes on with those that are left. */
export function ruleClearRunner(rules: RuleStore): Runner {
  return async (context) => {
    const [task] = await readTasks(context);
    const all = rules.list();
    for (const { uid } of all) await rules.remove(uid);
    return { ends: [succeeded(task!.uid, all.length)] };
  };
}

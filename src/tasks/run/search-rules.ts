import { rfc3339 } from '../../base/clock.ts';
import { pauser } from '../../base/pauser.ts';
import { ApiError } from '../../contract/errors.ts';
import {
  changedRule,
  RULE_BYTES_MAX,
  RULES_BYTES_MAX,
  RULES_MAX,
} from '../../contract/search-rules.ts';
import type { RowOf } from '../../contract/task-types.ts';
import type { TaskEnd } from '../../store/finish-batch.ts';
import { bytesOf, type RuleDraft, type RuleStore } from '../../store/rule-store.ts';
import { readTask, type Runner, succeeded } from './run.ts';

/**
 * Changes and deletes rules, one task after the other. All rules are stored together before the
 * tasks end. A crash between the two repeats the same changes, with the same result.
 */
export function ruleRunner(rules: RuleStore): Runner {
  return async ({ store, batch, now, cancel }) => {
    const draft = rules.draft();
    const pause = pauser();
    const ends: TaskEnd[] = [];
    for (const [n, uid] of batch.uids.entries()) {
      const { row } = readTask(store, uid);
      if (row.type === 'dsrClear') {
        ends.push(succeeded(uid, draft.clear()));
      } else {
        const error = update(draft, row as RowOf<'dsrUpdate'>, later(now, n));
        ends.push(
          error === null
            ? succeeded(uid, null)
            : { uid, status: 'failed', result: 0, error: error.toJSON() },
        );
      }
      if (await pause()) cancel.check();
    }
    cancel.check();
    await draft.store();
    return { ends };
  };
}

/** Adds microseconds to a time, so that the rules of a batch keep their order. */
function later(now: string, micros: number): string {
  const second = Date.parse(`${now.slice(0, 19)}Z`);
  return rfc3339(second + (Number(now.slice(20, 26)) + micros) / 1000);
}

/** @returns why the rule is not changed, or null */
function update(
  draft: RuleDraft,
  { ruleUid, patch }: RowOf<'dsrUpdate'>,
  now: string,
): ApiError | null {
  if (patch === null) {
    draft.remove(ruleUid);
    return null;
  }
  const before = draft.get(ruleUid);
  if (before === undefined && draft.size >= RULES_MAX) {
    return refused(`There are ${RULES_MAX} dynamic search rules; delete one first.`);
  }
  const rule = changedRule(ruleUid, before, patch, now);
  const bytes = bytesOf(rule);
  if (bytes > RULE_BYTES_MAX) {
    return refused(`The rule takes ${bytes} bytes; ${RULE_BYTES_MAX} are the most.`);
  }
  const others = draft.bytes - (before === undefined ? 0 : bytesOf(before));
  if (others + bytes > RULES_BYTES_MAX) {
    return refused(`All rules together would take more than ${RULES_BYTES_MAX} bytes.`);
  }
  draft.put(rule);
  return null;
}

function refused(message: string): ApiError {
  return new ApiError('bad_request', message);
}

import { aliasNotFound, ALIASES_MAX } from '../../contract/aliases.ts';
import { ApiError, indexNotFound } from '../../contract/errors.ts';
import type { RowOf } from '../../contract/task-types.ts';
import type { AliasStore } from '../../store/alias-store.ts';
import { allFailed, readTask, type Runner, succeeded } from './run.ts';

/** Points an alias at an index, in the transaction that ends the task. */
export function aliasUpdateRunner(aliases: AliasStore): Runner {
  return ({ store, registry, batch, now }) => {
    const { uid, row } = readTask(store, batch.uids[0]!);
    const { alias, target } = row as RowOf<'aliasUpdate'>;
    const before = aliases.get(alias);
    const fault = registry.has(alias)
      ? new ApiError('index_already_exists', `\`${alias}\` is the uid of an index.`)
      : aliases.get(target) !== undefined
        ? new ApiError('index_not_found', `\`${target}\` is an alias; name the index itself.`)
        : !registry.has(target)
          ? indexNotFound(target)
          : before === undefined && aliases.size >= ALIASES_MAX
            ? new ApiError('bad_request', `There are ${ALIASES_MAX} aliases; delete one first.`)
            : null;
    if (fault !== null) return { ends: allFailed(batch, fault) };
    const createdAt = before?.createdAt ?? now;
    const after = { alias, indexUid: target, createdAt, updatedAt: now };
    return { ends: [succeeded(uid, null)], records: aliases.staged(alias, after) };
  };
}

/** Deletes an alias, in the transaction that ends the task. */
export function aliasDeletionRunner(aliases: AliasStore): Runner {
  return ({ store, batch }) => {
    const { uid, row } = readTask(store, batch.uids[0]!);
    const { alias } = row as RowOf<'aliasDeletion'>;
    if (aliases.get(alias) === undefined) return { ends: allFailed(batch, aliasNotFound(alias)) };
    return { ends: [succeeded(uid, null)], records: aliases.staged(alias, undefined) };
  };
}

import type { RowOf } from '../contract/task-types.ts';
import type { TaskRequest } from '../contract/tasks.ts';
import type { BranchStore } from '../store/branch-store.ts';
import type { TaskRecord } from '../store/memory-table.ts';
import type { TaskStore } from '../store/task-store.ts';
import type { Pending } from './pending.ts';

/**
 * Which branches a write must be repeated in: those that follow its index, and those that a task
 * registered before it will make. A task that fails makes none; what was repeated then fails too.
 */
export class Followers {
  readonly #store: TaskStore;
  readonly #pending: Pending;
  readonly #branches: BranchStore;
  /** Requests whose tasks are being stored. */
  readonly #requested = new Set<Extract<TaskRequest, { type: 'indexBranch' }>>();

  constructor(store: TaskStore, pending: Pending, branches: BranchStore) {
    this.#store = store;
    this.#pending = pending;
    this.#branches = branches;
  }

  /** Ascending uids, if all earlier calls of `TaskStore.append` went through `after`. */
  of(origin: string): string[] {
    const uids = new Set<string>();
    for (const { uid, follow } of this.#branches.of(origin)) if (follow) uids.add(uid);
    for (const uid of this.#pending.branchings) {
      const { branch, follow } = this.#store.row(uid) as RowOf<'indexBranch'>;
      if (follow && this.#pending.indexOf(uid) === origin) uids.add(branch);
    }
    for (const { indexUid, branch, follow } of this.#requested) {
      if (follow && indexUid === origin) uids.add(branch);
    }
    uids.delete(origin);
    return [...uids].sort();
  }

  /** Takes a request into account until its task waits. */
  async after(request: TaskRequest, appended: Promise<TaskRecord>): Promise<TaskRecord> {
    if (request.type !== 'indexBranch') return appended;
    this.#requested.add(request);
    return appended.finally(() => this.#requested.delete(request));
  }
}

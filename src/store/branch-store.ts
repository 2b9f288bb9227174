import { compareUtf8 } from '../base/json.ts';
import type { Branch } from '../contract/responses.ts';
import { Records, type RecordStore, type StagedRecords } from './records.ts';

/** What becomes of uids when a batch ends. */
export interface RenamedIndexes {
  /** null: the uid is free from now on. */
  readonly indexes?: ReadonlyMap<string, object | null>;
  readonly history?: { readonly pairs: readonly (readonly [string, string])[] };
}

/**
 * Which index is a branch of which other. The relation is between uids: after a swap the branch has
 * what its origin had. For when a change takes effect see `Records`.
 */
export class BranchStore {
  readonly #records: Records<Branch>;

  constructor(store: RecordStore) {
    this.#records = new Records(store, 'branches');
  }

  get(uid: string): Branch | undefined {
    return this.#records.get(uid);
  }

  /** Ascending. */
  of(origin: string): Branch[] {
    return this.#all
      .filter((branch) => branch.origin === origin)
      .sort((a, b) => compareUtf8(a.uid, b.uid));
  }

  /** The uids of the indexes that may share files with another one. */
  related(): Set<string> {
    const uids = this.#all.flatMap(({ uid, origin }) => (origin === null ? [uid] : [uid, origin]));
    return new Set(uids);
  }

  /** A new branch, to be committed with the end of its task. */
  added(branch: Branch): StagedRecords {
    return this.#records.staged(new Map([[branch.uid, branch]]));
  }

  /** What the end of a batch changes when it frees uids; null: nothing. */
  after({ indexes, history }: RenamedIndexes): StagedRecords | null {
    if (this.#records.size === 0 || indexes === undefined) return null;
    const changes = new Map<string, Branch | undefined>();
    for (const [uid, left] of indexes) {
      if (left !== null) continue;
      const renamed = history?.pairs.find((pair) => pair.includes(uid));
      const next = renamed?.find((name) => name !== uid) ?? null;
      for (const branch of this.#all) {
        const now = changes.get(branch.uid) ?? branch;
        if (branch.origin === uid) changes.set(branch.uid, { ...now, origin: next });
      }
      const own = changes.get(uid) ?? this.#records.get(uid);
      if (own === undefined) continue;
      changes.set(uid, undefined);
      if (next !== null) changes.set(next, { ...own, uid: next });
    }
    return changes.size === 0 ? null : this.#records.staged(changes);
  }

  get #all(): Branch[] {
    return [...this.#records.values()];
  }
}

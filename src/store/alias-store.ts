import type { Alias } from '../contract/responses.ts';
import { compareUtf8 } from '../base/json.ts';
import { Records, type RecordStore, type StagedRecords } from './records.ts';

/** The aliases of the instance. For when a change takes effect see `Records`. */
export class AliasStore {
  readonly #records: Records<Alias>;
  /** Aliases by the uid that they stand for; cached. */
  #byTarget: { generation: number; names: ReadonlyMap<string, readonly string[]> } | null = null;

  constructor(store: RecordStore) {
    this.#records = new Records(store, 'aliases');
  }

  /** Calls `listener` after each change, as `Records` does. */
  onChange(listener: (alias: string, after: Alias | undefined) => void): void {
    this.#records.onChange((alias, _before, after) => listener(alias, after));
  }

  get size(): number {
    return this.#records.size;
  }

  get(alias: string): Alias | undefined {
    return this.#records.get(alias);
  }

  /** The uid that an alias stands for; undefined: there is no such alias. */
  targetOf(alias: string): string | undefined {
    return this.#records.size === 0 ? undefined : this.#records.get(alias)?.indexUid;
  }

  /** The aliases that stand for a uid, in no particular order. */
  of(indexUid: string): readonly string[] {
    const { generation } = this.#records;
    if (this.#byTarget?.generation !== generation) {
      const names = new Map<string, string[]>();
      for (const { alias, indexUid: target } of this.#records.values()) {
        const known = names.get(target);
        if (known === undefined) names.set(target, [alias]);
        else known.push(alias);
      }
      this.#byTarget = { generation, names };
    }
    return this.#byTarget.names.get(indexUid) ?? [];
  }

  /** By which names a caller may use an index: its uid, or else each alias that is allowed. */
  usable(indexUid: string, mayAccess: (name: string) => boolean): readonly string[] {
    return mayAccess(indexUid) ? [indexUid] : this.of(indexUid).filter(mayAccess);
  }

  /** The uid of the index and its aliases. @param name any of them */
  namesOf(name: string): readonly string[] {
    if (this.#records.size === 0) return [name];
    const indexUid = this.#records.get(name)?.indexUid ?? name;
    return [indexUid, ...this.of(indexUid)];
  }

  /** Ascending. */
  list(): Alias[] {
    return [...this.#records.values()].sort((a, b) => compareUtf8(a.alias, b.alias));
  }

  put(alias: Alias): Promise<void> {
    return this.#records.put(alias.alias, alias);
  }

  /** A change to be committed with the end of its task. Undefined removes the alias. */
  staged(name: string, alias: Alias | undefined): StagedRecords {
    return this.#records.staged(new Map([[name, alias]]));
  }
}

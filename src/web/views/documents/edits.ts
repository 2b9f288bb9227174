import { useEffect, useState } from 'preact/hooks';
import {
  changeField,
  changeWords,
  deleteDocument,
  undoable,
  undoLast,
} from '../../document-changes.ts';
import { useAction } from '../../hooks.ts';
import type { IndexEntry } from '../../indexes.ts';
import { announceChange } from '../../notices.ts';
import { members } from '../../raw-json.ts';
import { useSession } from '../../session.ts';

/** A row of the table. */
export interface Row {
  /** null: the index has no primary key at the top of the document. */
  readonly id: string | null;
  /** JSON by name. */
  readonly fields: ReadonlyMap<string, string>;
}

export function rowOf(document: string, primaryKey: string | null): Row {
  const fields = new Map(members(document).map(({ name, text }) => [name!, text]));
  const key = primaryKey === null ? undefined : fields.get(primaryKey);
  return { id: key === undefined ? null : idOf(key), fields };
}

/** @param key the value of the primary key as JSON */
export function idOf(key: string): string {
  return key.startsWith('"') ? (JSON.parse(key) as string) : key;
}

/** A change that is shown before the server has made it. */
interface Edit {
  readonly id: string;
  /** null: the document is deleted. */
  readonly field: string | null;
  readonly value: string;
  /** Whether the server has made it. */
  readonly done: boolean;
}

export interface Edits {
  readonly rows: readonly Row[];
  /** Changes that the server has refused. */
  readonly failures: readonly Error[];
  /** What can be undone; null: nothing. */
  readonly undoable: string | null;
  change(id: string, field: string, value: string): void;
  remove(id: string): void;
  undo(): void;
}

/** @param loaded as the server has them */
export function useEdits(index: IndexEntry, loaded: readonly Row[]): Edits {
  const { client } = useSession();
  const action = useAction();
  const [edits, setEdits] = useState<readonly Edit[]>([]);
  const [failures, setFailures] = useState<ReadonlyMap<string, Error>>(new Map());
  // What has come since then shows what was done.
  useEffect(() => setEdits((old) => old.filter(({ done }) => !done)), [loaded]);
  const run = (what: string, edit: Edit | null, work: () => Promise<string>): void => {
    const fail = (error: Error | null): void =>
      setFailures((old) => {
        const next = new Map(old);
        next.delete(what);
        if (error !== null) next.set(what, new Error(`${what} is as before: ${error.message}`));
        return next;
      });
    const settle = (done: readonly Edit[]): void =>
      setEdits((old) => old.flatMap((one) => (one === edit ? done : [one])));
    fail(null);
    if (edit !== null) setEdits((old) => [...old, edit]);
    action.run(async () => {
      try {
        const outcome = await work();
        settle(edit === null ? [] : [{ ...edit, done: true }]);
        return outcome;
      } catch (error) {
        settle([]);
        fail(error as Error);
        // The document may have changed, or be gone.
        announceChange();
        throw error;
      }
    });
  };
  const last = undoable(client, index);
  return {
    rows: loaded.flatMap((row) => edited(row, edits)),
    failures: [...failures.values()],
    undoable: last,
    change: (id, field, value) =>
      run(changeWords(id, field), { id, field, value, done: false }, () =>
        changeField(client, index, id, field, value),
      ),
    remove: (id) =>
      run(changeWords(id, null), { id, field: null, value: '', done: false }, () =>
        deleteDocument(client, index, id),
      ),
    undo: () => {
      if (last !== null) run(last, null, () => undoLast(client, index));
    },
  };
}

function edited(row: Row, edits: readonly Edit[]): Row[] {
  const own = edits.filter(({ id }) => id === row.id);
  if (own.some(({ field }) => field === null)) return [];
  if (own.length === 0) return [row];
  const fields = new Map(row.fields);
  for (const { field, value } of own) fields.set(field!, value);
  return [{ ...row, fields }];
}

/** The indexes that the key may see, and the one that all views show. */
import { createContext, type ComponentChildren } from 'preact';
import { useContext, useEffect, useMemo } from 'preact/hooks';
import { useAddress } from '../address.ts';
import { useGet, useLoaded } from '../hooks.ts';
import { listIndexes, type IndexEntry, type Stats } from '../indexes.ts';
import { useChanges } from '../notices.ts';
import { useSession } from '../session.ts';

export interface Indexes {
  /** Whether the key may list indexes. */
  readonly mayList: boolean;
  /** Empty while the list is loading. For a key that may not list them: those it may search. */
  readonly list: readonly IndexEntry[];
  readonly loading: boolean;
  readonly error: Error | null;
  /** undefined: not known, or the key may not read them. */
  readonly stats: Stats | undefined;
  /** The index in the address, else the last one that was chosen, else the first; null: none. */
  readonly current: string | null;
}

function entryOf(uid: string): IndexEntry {
  return { uid, primaryKey: null, createdAt: '', updatedAt: '' };
}

const IndexesContext = createContext<Indexes | null>(null);

const STORED_INDEX = 'gannet-index';

/** Views whose argument is the uid of an index. */
const INDEX_VIEWS: readonly string[] = ['search', 'documents', 'settings', 'judgements'];

export function isIndexView(view: string): boolean {
  return INDEX_VIEWS.includes(view);
}

/** Remembers, while the tab is open, which index the views show. */
export function rememberIndex(uid: string): void {
  sessionStorage.setItem(STORED_INDEX, uid);
}

export function IndexesProvider({ children }: { children: ComponentChildren }): JSX.Element {
  const { client, rights, uids } = useSession();
  const { view, argument } = useAddress();
  const changes = useChanges();
  const mayList = rights.has('indexes');
  const given = isIndexView(view) ? argument : null;
  const list = useLoaded(
    (signal) => (mayList ? listIndexes(client, signal) : Promise.resolve(uids.map(entryOf))),
    // Requested again for each index, which may be newer than the list.
    [client, view, given, changes],
  );
  const asksStats = rights.has('stats') && mayList;
  const stats = useGet<Stats>(asksStats ? '/stats' : null, 0, [given, changes]);
  useEffect(() => {
    if (given !== null) rememberIndex(given);
  }, [given]);
  const value = useMemo((): Indexes => {
    const entries = list.value ?? [];
    const stored = sessionStorage.getItem(STORED_INDEX);
    const known = entries.find(({ uid }) => uid === stored) ?? entries[0];
    return {
      mayList,
      list: entries,
      loading: list.loading,
      error: list.error,
      stats: stats.value,
      current: given ?? (list.value === undefined ? stored : (known?.uid ?? null)),
    };
  }, [list.value, list.loading, list.error, stats.value, mayList, given]);
  return <IndexesContext.Provider value={value}>{children}</IndexesContext.Provider>;
}

export function useIndexes(): Indexes {
  const indexes = useContext(IndexesContext);
  if (indexes === null) throw new Error('there are no indexes');
  return indexes;
}

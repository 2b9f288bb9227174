import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { counted } from '../format.ts';
import { Choice, Problem, TextField } from '../parts.tsx';
import { useLoaded } from '../hooks.ts';
import { listIndexes, type IndexEntry, type Stats } from '../indexes.ts';
import { goTo, placeHref, useArgument } from '../place.ts';
import { useSession } from '../session.ts';

interface Props {
  view: string;
  uid: string | null;
  /** What to show below once an index is chosen; it is made anew for each. */
  children(index: IndexEntry): JSX.Element;
}

/** A view of one index: a list to choose from, or a field for keys that may not list them. */
export function OfIndex({ view, uid, children }: Props): JSX.Element {
  const { client, rights } = useSession();
  const listed = rights.has('indexes');
  const list = useLoaded(
    (signal) => (listed ? listIndexes(client, signal) : Promise.resolve([])),
    // Asked for again with each index: it may be newer than the list.
    [client, uid],
  );
  const stats = useLoaded(
    (signal) =>
      rights.has('stats')
        ? client.send<Stats>('GET', '/stats', { signal })
        : Promise.resolve(undefined),
    [client, uid],
  );
  const indexes = list.value ?? [];
  const shown = (name: string): string => {
    const documents = stats.value?.indexes[name]?.numberOfDocuments;
    return documents === undefined ? name : `${name} (${counted(documents, 'document')})`;
  };
  useArgument(view, uid, indexes[0]?.uid);
  const index =
    indexes.find((one) => one.uid === uid) ??
    (uid !== null && (!listed || !list.loading)
      ? { uid, primaryKey: null, createdAt: '', updatedAt: '' }
      : undefined);
  return (
    <>
      <Problem error={list.error} />
      {listed && !list.loading && indexes.length === 0 && list.error === null ? (
        <p class="note">
          There is no index yet. <a href="#/indexes">Create one</a>, or{' '}
          <a href="#/documents">drop a file with documents</a>.
        </p>
      ) : null}
      {listed ? (
        indexes.length > 0 ? (
          <Choice
            label="Index"
            value={uid ?? ''}
            options={indexes.map((one) => [one.uid, shown(one.uid)])}
            onChoose={(chosen) => goTo(placeHref(view, chosen))}
          />
        ) : null
      ) : (
        <TypedArgument
          view={view}
          label="Index"
          hint="This key may not list the indexes; type the uid of one."
          argument={uid}
        />
      )}
      {index === undefined ? null : <div key={index.uid}>{children(index)}</div>}
    </>
  );
}

/** Uids of the indexes; none until they have come, and none for a key that may not list them. */
export function useIndexUids(): readonly string[] {
  const { client, rights } = useSession();
  const list = useLoaded(
    (signal) => (rights.has('indexes') ? listIndexes(client, signal) : Promise.resolve([])),
    [client],
  );
  return (list.value ?? []).map(({ uid }) => uid);
}

interface TypedProps {
  view: string;
  label: string;
  hint: string;
  argument: string | null;
}

/** What the address of a view names, typed by those who may not list it. */
export function TypedArgument({ view, label, hint, argument }: TypedProps): JSX.Element {
  const [typed, setTyped] = useState(argument ?? '');
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed !== '') goTo(placeHref(view, typed));
      }}
    >
      <TextField label={label} hint={hint} value={typed} onInput={setTyped} />
      <button type="submit">Open</button>
    </form>
  );
}

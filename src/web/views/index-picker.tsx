import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { counted } from '../format.ts';
import { Choice, Problem, TextField } from '../parts.tsx';
import { useLoaded } from '../hooks.ts';
import { listIndexes, type IndexEntry, type Stats } from '../indexes.ts';
import { goTo, viewHref, useArgument } from '../address.ts';
import { useSession } from '../session.ts';

interface Props {
  view: string;
  uid: string | null;
  /** Content for the chosen index. It is mounted again for each index. */
  children(index: IndexEntry): JSX.Element;
}

/** A view of one index: a list to choose from, or a field for keys that may not list them. */
export function OfIndex({ view, uid, children }: Props): JSX.Element {
  const { client, rights } = useSession();
  const listed = rights.has('indexes');
  const list = useLoaded(
    (signal) => (listed ? listIndexes(client, signal) : Promise.resolve([])),
    // Requested again for each index, which may be newer than the list.
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
            onChoose={(chosen) => goTo(viewHref(view, chosen))}
          />
        ) : null
      ) : (
        <TypedArgument
          view={view}
          label="Index"
          hint="This key may not list indexes. Type the uid of an index."
          argument={uid}
        />
      )}
      {index === undefined ? null : <div key={index.uid}>{children(index)}</div>}
    </>
  );
}

/** Uids of the indexes; empty while they are loading, and for a key that may not list them. */
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

/** A field for the argument of a view, for keys that may not list the choices. */
export function TypedArgument({ view, label, hint, argument }: TypedProps): JSX.Element {
  const [typed, setTyped] = useState(argument ?? '');
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed !== '') goTo(viewHref(view, typed));
      }}
    >
      <TextField label={label} hint={hint} value={typed} onInput={setTyped} />
      <button type="submit">Open</button>
    </form>
  );
}

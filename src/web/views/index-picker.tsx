import { useState } from 'preact/hooks';
import { goTo, viewHref, useArgument } from '../address.ts';
import type { IndexEntry } from '../indexes.ts';
import { loadDemo } from '../demo.ts';
import { useAction } from '../hooks.ts';
import { Empty } from '../parts/empty.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { TextField } from '../parts/text-field.tsx';
import { useSession } from '../session.ts';
import { useIndexes } from '../shell/indexes-context.tsx';

interface Props {
  view: string;
  uid: string | null;
  /** Content for the chosen index. It is mounted again for each index. */
  children(index: IndexEntry): JSX.Element;
}

/** A view of the current index, or a field for its uid for keys that may not list indexes. */
export function OfIndex({ view, uid, children }: Props): JSX.Element {
  const { mayList, list, loading, error, current } = useIndexes();
  useArgument(view, uid, loading ? undefined : (current ?? undefined));
  const index =
    list.find((one) => one.uid === uid) ??
    (uid !== null && (!mayList || !loading)
      ? { uid, primaryKey: null, createdAt: '', updatedAt: '' }
      : undefined);
  return (
    <>
      <Problem error={error} />
      {mayList && !loading && list.length === 0 && error === null ? <NoIndex /> : null}
      {mayList || loading || list.length > 0 ? null : (
        <TypedArgument
          view={view}
          label="Index"
          hint="This key may search no index yet. Type the uid of one."
          argument={uid}
        />
      )}
      {index === undefined ? (
        loading ? (
          <Skeleton />
        ) : null
      ) : (
        <div key={index.uid}>{children(index)}</div>
      )}
    </>
  );
}

function NoIndex(): JSX.Element {
  const { client } = useSession();
  const action = useAction();
  return (
    <Empty icon="indexes" title="There is no index yet">
      <p>An index holds documents and the settings by which they are searched.</p>
      <p class="buttons">
        <a class="button primary" href="#/documents">
          Drop a file with documents
        </a>
        <a class="button" href="#/indexes">
          Create an index
        </a>
        <button
          type="button"
          disabled={action.running}
          onClick={() => action.run(() => loadDemo(client))}
        >
          Try it with 200 books
        </button>
      </p>
      <Outcome action={action} />
    </Empty>
  );
}

/** Uids of the indexes; empty while they are loading, and for a key that may not list them. */
export function useIndexUids(): readonly string[] {
  return useIndexes().list.map(({ uid }) => uid);
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

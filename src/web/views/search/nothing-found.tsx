import { useState } from 'preact/hooks';
import { viewHref } from '../../address.ts';
import { counted } from '../../format.ts';
import { useAction, useLoaded } from '../../hooks.ts';
import type { Marks } from '../../marks.ts';
import { otherQueries, suggestionsFrom, type Suggestion } from '../../other-queries.ts';
import { Empty } from '../../parts/empty.tsx';
import { Outcome } from '../../parts/outcome.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { isNarrowed, type SearchResult, type SearchState } from '../../search-request.ts';
import { useSession } from '../../session.ts';
import { useIndexes } from '../../shell/indexes-context.tsx';
import { changeSetting } from '../../tasks.ts';

interface Props {
  uid: string;
  state: SearchState;
  marks: Marks;
  onChange(part: Partial<SearchState>): void;
  /** Another search may find something now. */
  onTaught(): void;
}

/** What can be done where a search finds nothing. */
export function NothingFound(props: Props): JSX.Element {
  const { uid, state, onChange } = props;
  const { rights } = useSession();
  const { stats } = useIndexes();
  const { q } = state;
  if (stats?.indexes[uid]?.numberOfDocuments === 0) {
    return (
      <Empty icon="documents" title={`${uid} has no documents yet`}>
        <p>
          <a href={viewHref('documents', uid)}>Add a file of documents</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty icon="search" title={q === '' ? 'Nothing was found' : `Nothing was found for “${q}”`}>
      {isNarrowed(state) ? (
        <>
          <p>The choices may be too narrow.</p>
          <p class="buttons">
            <button
              type="button"
              onClick={() => onChange({ chosen: {}, ranges: {}, circle: null, filter: '' })}
            >
              Search without the choices
            </button>
          </p>
        </>
      ) : null}
      {q.trim() === '' ? null : <OtherQueries {...props} />}
      {q.trim() !== '' && rights.has('settings') ? <Teach key={q} {...props} /> : null}
    </Empty>
  );
}

/** Similar queries that find something. */
function OtherQueries({ uid, state, marks, onChange }: Props): JSX.Element {
  const { client } = useSession();
  const { q } = state;
  const found = useLoaded<readonly Suggestion[]>(
    async (signal) => {
      const queries = otherQueries(uid, q, marks);
      const options = { body: { queries }, signal, isTest: true };
      const { results } = await client.send<{ results: SearchResult[] }>(
        'POST',
        '/multi-search',
        options,
      );
      return suggestionsFrom(queries, results, marks);
    },
    [client, uid, q],
  );
  const some = found.value ?? [];
  if (some.length === 0) return <p>Try fewer or other words.</p>;
  return (
    <p class="buttons">
      Did you mean
      {some.map(({ text, hits }) => (
        <button key={text} type="button" onClick={() => onChange({ q: text })}>
          {text} <span class="count">{counted(hits, 'result')}</span>
        </button>
      ))}
    </p>
  );
}

type Synonyms = Readonly<Record<string, readonly string[]>>;

/** Adds a synonym where it is missed. */
function Teach({ uid, state, onTaught }: Props): JSX.Element {
  const { client } = useSession();
  const [other, setOther] = useState('');
  const action = useAction();
  const word = state.q.trim().toLowerCase();
  const add = async (): Promise<string> => {
    const outcome = await changeSetting<Synonyms>(client, uid, 'synonyms', (before) => ({
      ...before,
      [word]: [...(before[word] ?? []), other],
    }));
    onTaught();
    return outcome;
  };
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        action.run(add);
      }}
    >
      <TextField label={`“${word}” also finds`} value={other} onInput={setOther} />
      <button type="submit" disabled={other.trim() === '' || action.running}>
        Add the synonym
      </button>
      <Outcome action={action} />
    </form>
  );
}

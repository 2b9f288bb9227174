import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { counted } from '../../format.ts';
import { useLoaded, type Loaded } from '../../hooks.ts';
import { movements, type Movement } from '../../comparison.ts';
import { titleField } from '../../hit-fields.ts';
import { settingsOf, type IndexEntry } from '../../indexes.ts';
import { newMarks, type Marks } from '../../marks.ts';
import { Choice } from '../../parts/choice.tsx';
import { JsonValue } from '../../parts/json-value.tsx';
import { Problem } from '../../parts/problem.tsx';
import {
  HITS_PER_PAGE,
  searchQueries,
  type Hit,
  type SearchResult,
  type SearchState,
} from '../../search-request.ts';
import { useSession } from '../../session.ts';
import { useIndexes } from '../../shell/indexes-context.tsx';
import { controlsOf } from './controls.ts';
import { Meaning, orders } from './refine.tsx';

/** Hits of each side among which a moved one is sought. */
const COMPARED = 100;

/** What differs on the right side. */
export interface Other {
  /** Uid of an index; empty: the same. */
  readonly index: string;
  readonly matchingStrategy: string;
  readonly sort: string;
  readonly embedder: string;
  readonly semanticRatio: number;
}

/** @param text JSON of the address; empty: no comparison */
export function otherFrom(text: string): Other | null {
  if (text === '') return null;
  const initial = { index: '', matchingStrategy: '', sort: '', embedder: '', semanticRatio: 0.5 };
  try {
    return { ...initial, ...(JSON.parse(text) as Partial<Other>) };
  } catch {
    return initial;
  }
}

interface Props {
  index: IndexEntry;
  state: SearchState;
  other: Other;
  onOther(other: Other): void;
}

/** Both searches, as tests. */
function useBoth(
  leftUid: string,
  rightUid: string,
  state: SearchState,
  other: Other,
  marks: Marks,
): Loaded<{ readonly results: readonly SearchResult[] }> {
  const { client } = useSession();
  return useLoaded(
    async (signal) => {
      const options = { marks, explain: false, facets: false };
      const changed = { ...state, ...other, page: 1 };
      const [a] = searchQueries(leftUid, { ...state, page: 1 }, options);
      const [b] = searchQueries(rightUid, changed, options);
      const strategy = other.matchingStrategy;
      const queries = [a, strategy === '' ? b : { ...b, matchingStrategy: strategy }].map(
        (one) => ({
          ...one,
          hitsPerPage: COMPARED,
        }),
      );
      const sent = { body: { queries }, signal, isTest: true };
      return client.send<{ results: readonly SearchResult[] }>('POST', '/multi-search', sent);
    },
    [client, leftUid, rightUid, JSON.stringify([state, other])],
  );
}

/** The same query with two sets of parameters, or in two indexes, next to each other. */
export function Compare({ index, state, other, onOther }: Props): JSX.Element {
  const { client } = useSession();
  const { list } = useIndexes();
  const marks = useMemo(newMarks, []);
  const right = list.find(({ uid }) => uid === other.index) ?? index;
  const settings = useLoaded(
    (signal) => settingsOf(client, right.uid, signal).catch(() => undefined),
    [client, right.uid],
  );
  const loaded = useBoth(index.uid, right.uid, state, other, marks);
  const [a, b] = loaded.value?.results ?? [];
  const ids = (result: SearchResult | undefined, { primaryKey }: IndexEntry): string[] =>
    (result?.hits ?? []).map((hit) => String(hit[primaryKey ?? 'id']));
  const [left, there] = [ids(a, index), ids(b, right)];
  const side = (
    title: string,
    of: IndexEntry,
    result: SearchResult | undefined,
    moved: readonly Movement[],
  ): JSX.Element => (
    <section aria-label={title} class="side-of">
      <h2>
        {title} <small class="count">{result ? counted(result.totalHits, 'result') : ''}</small>
      </h2>
      <ol class="hits compact">
        {result?.hits.slice(0, HITS_PER_PAGE).map((hit, at) => (
          <ComparedHit key={at} hit={hit} of={of} movement={moved[at]!} marks={marks} />
        ))}
      </ol>
    </section>
  );
  return (
    <div class="compare">
      <OtherForm
        index={index}
        other={other}
        controls={controlsOf(settings.value)}
        onOther={onOther}
      />
      <Problem error={loaded.error} />
      <div class="sides">
        {side('This search', index, a, movements(left, there))}
        {side('Other search', right, b, movements(there, left))}
      </div>
    </div>
  );
}

interface FormProps {
  index: IndexEntry;
  other: Other;
  controls: ReturnType<typeof controlsOf>;
  onOther(other: Other): void;
}

const STRATEGIES = [
  ['', 'as in the settings'],
  ['last', 'last: drop words from the end'],
  ['all', 'all: every word must match'],
  ['frequency', 'frequency: drop frequent words'],
] as const;

function OtherForm({ index, other, controls, onOther }: FormProps): JSX.Element {
  const { list } = useIndexes();
  const others = list.filter(({ uid }) => uid !== index.uid);
  return (
    <fieldset class="row">
      <legend>The other search</legend>
      {others.length === 0 ? null : (
        <Choice
          label="In the index"
          value={other.index}
          options={[['', index.uid], ...others.map(({ uid }) => [uid, uid] as const)]}
          onChoose={(uid) => onOther({ ...other, index: uid, sort: '', embedder: '' })}
        />
      )}
      <Choice
        label="Words that may be missing"
        value={other.matchingStrategy}
        options={STRATEGIES}
        onChoose={(matchingStrategy) => onOther({ ...other, matchingStrategy })}
      />
      {controls.sortable.length === 0 ? null : (
        <Choice
          label="Order"
          value={other.sort}
          options={orders(controls)}
          onChoose={(sort) => onOther({ ...other, sort })}
        />
      )}
      {controls.embedders.length === 0 ? null : (
        <Meaning
          state={other}
          embedders={controls.embedders}
          onChange={(part) => onOther({ ...other, ...part })}
        />
      )}
    </fieldset>
  );
}

interface ComparedProps {
  hit: Hit;
  of: IndexEntry;
  movement: Movement;
  marks: Marks;
}

function ComparedHit({ hit, of, movement, marks }: ComparedProps): JSX.Element {
  const title = titleField(hit, of.primaryKey) ?? of.primaryKey ?? 'id';
  return (
    <li>
      <article>
        <h3>
          <JsonValue value={hit._formatted?.[title] ?? hit[title]} marks={marks} />
        </h3>
        <Moved movement={movement} />
      </article>
    </li>
  );
}

function Moved({ movement }: { movement: Movement }): JSX.Element | null {
  if (movement.kind === 'same') return null;
  if (movement.kind === 'absent') return <span class="state processing">not there</span>;
  const { by } = movement;
  return (
    <span class={by > 0 ? 'state succeeded' : 'state failed'}>
      {by > 0 ? '↑' : '↓'} {Math.abs(by)}
      <span class="unseen">{by > 0 ? ' higher than there' : ' lower than there'}</span>
    </span>
  );
}

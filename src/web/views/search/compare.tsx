import { useMemo, useState } from 'preact/hooks';
import { comparedQuery, type Compared, type Comparison } from '../../compared-search.ts';
import { movements, type Movement } from '../../comparison.ts';
import { counted } from '../../format.ts';
import { titleField } from '../../hit-fields.ts';
import { useGet, useLoaded, type Loaded } from '../../hooks.ts';
import { allSettings, type LoadedSettings } from '../../all-settings.ts';
import { pathOf } from '../../client.ts';
import { useDrafts } from '../../draft-hooks.ts';
import type { IndexEntry, IndexStats } from '../../indexes.ts';
import { newMarks, type Marks } from '../../marks.ts';
import { JsonValue } from '../../parts/json-value.tsx';
import { Problem } from '../../parts/problem.tsx';
import {
  HITS_PER_PAGE,
  type Hit,
  type SearchResult,
  type SearchState,
} from '../../search-request.ts';
import { useSession } from '../../session.ts';
import { changesOf } from '../../settings-draft.ts';
import { useIndexes } from '../../shell/indexes-context.tsx';
import { spaced } from '../../spaced.ts';
import { Difference } from '../settings/difference.tsx';
import { ComparedForm } from './compared-form.tsx';
import { controlsOf, totalWords, type Controls } from './controls.ts';
import { DraftPanel } from './draft-panel.tsx';
import { Why } from './why.tsx';

interface Props {
  index: IndexEntry;
  state: SearchState;
  comparison: Comparison;
  /** null: nothing is compared any more. */
  onCompare(comparison: Comparison | null): void;
}

/** Both searches, as tests. */
function useBoth(
  uids: readonly [string, string],
  { state, comparison }: Props,
  marks: Marks,
  asked: { readonly explain: boolean; readonly version: string },
): Loaded<{ readonly results: readonly SearchResult[] }> {
  const { client } = useSession();
  return useLoaded(
    async (signal) => {
      const queries = [comparison.left, comparison.right].map((side, at) =>
        comparedQuery(uids[at]!, state, side, { marks, explain: asked.explain }),
      );
      const sent = { body: { queries }, signal, isTest: true };
      return client.send<{ results: readonly SearchResult[] }>('POST', '/multi-search', sent);
    },
    [client, ...uids, JSON.stringify([state, comparison, asked])],
  );
}

function useSettings(uid: string, version: string): LoadedSettings | undefined {
  const { client } = useSession();
  return useLoaded(
    (signal) => allSettings(client, uid, signal).catch(() => undefined),
    [client, uid, version],
  ).value;
}

/** Interval at which a draft is asked whether it is still being indexed. */
const INDEXING_MS = 3000;

function useIndexing(uid: string | undefined): boolean {
  const { rights } = useSession();
  const path = uid === undefined || !rights.has('stats') ? null : pathOf(['indexes', uid, 'stats']);
  return useGet<IndexStats>(path, INDEXING_MS).value?.isIndexing ?? false;
}

interface SideWords {
  readonly title: string;
  readonly parameters: string;
  /** A hit that the other side does not have, and the class of this word. */
  readonly absent: readonly [word: string, shown: string];
}

const WORDS: readonly SideWords[] = [
  {
    title: 'This search',
    parameters: 'Parameters of this search',
    absent: ['not there', 'processing'],
  },
  {
    title: 'Other search',
    parameters: 'Parameters of the other search',
    absent: ['not there', 'processing'],
  },
];
const DRAFT_WORDS: readonly SideWords[] = [
  { title: 'Live', parameters: 'Parameters of the live index', absent: ['dropped', 'failed'] },
  { title: 'Draft', parameters: 'Parameters of the draft', absent: ['new', 'succeeded'] },
];

/** The same query with two sets of parameters, or in two indexes, next to each other. */
export function Compare(props: Props): JSX.Element {
  const { index, comparison, onCompare } = props;
  const { list, loading } = useIndexes();
  const marks = useMemo(newMarks, []);
  const [explain, setExplain] = useState(false);
  const uid = comparison.right.index;
  const known = list.find((one) => one.uid === uid);
  const other = known ?? index;
  const draft = useDrafts(index.uid).find((one) => one.uid === uid);
  const indexing = useIndexing(draft?.uid);
  const [round, setRound] = useState(0);
  const version = `${round} ${indexing}`;
  const settings = [useSettings(index.uid, version), useSettings(other.uid, version)] as const;
  const loaded = useBoth([index.uid, other.uid], props, marks, { explain, version });
  // Errors name the query that they are about.
  const wrong = loaded.error?.message.includes('queries[1]') === true ? other : index;
  const results = loaded.value?.results ?? [];
  const ids = [idsOf(results[0], index), idsOf(results[1], other)] as const;
  return (
    <div class="compare">
      <Problem error={loaded.error} uid={wrong.uid} onMended={loaded.reload} />
      {uid === '' || loading || known !== undefined ? null : (
        <p class="problem" role="alert">
          There is no index <code>{uid}</code> that this key may search, or not any more.{' '}
          <button type="button" onClick={() => onCompare(null)}>
            Search {index.uid} alone
          </button>
        </p>
      )}
      {draft === undefined ? null : (
        <DraftPanel
          {...{ draft, settings, version, indexing }}
          origin={index}
          onChanged={() => setRound((old) => old + 1)}
          onDiscarded={() => onCompare(null)}
        />
      )}
      {other === index ? null : (
        <SettingsThatDiffer names={[index.uid, other.uid]} settings={settings} />
      )}
      <div class="sides">
        {([index, other] as const).map((of, at) => (
          <Side
            key={at}
            words={(draft === undefined ? WORDS : DRAFT_WORDS)[at]!}
            of={of}
            controls={controlsOf(settings[at]?.values)}
            side={at === 0 ? comparison.left : comparison.right}
            otherThan={at === 0 ? null : index.uid}
            result={results[at]}
            moved={movements(ids[at]!, ids[1 - at]!)}
            marks={marks}
            onExplain={() => setExplain(true)}
            onChange={(part) => {
              const name = at === 0 ? 'left' : 'right';
              onCompare({ ...comparison, [name]: { ...comparison[name], ...part } });
            }}
          />
        ))}
      </div>
    </div>
  );
}

function idsOf(result: SearchResult | undefined, { primaryKey }: IndexEntry): string[] {
  return (result?.hits ?? []).map((hit) => String(hit[primaryKey ?? 'id']));
}

interface SideProps {
  words: SideWords;
  of: IndexEntry;
  controls: Controls;
  side: Compared;
  /** The index of the view, if another one can be chosen; null: it cannot. */
  otherThan: string | null;
  result: SearchResult | undefined;
  moved: readonly Movement[];
  marks: Marks;
  onExplain(): void;
  onChange(part: Partial<Compared>): void;
}

function Side(props: SideProps): JSX.Element {
  const { words, of, controls, side, otherThan, result, moved, marks, onExplain } = props;
  const { title, parameters, absent } = words;
  return (
    <section aria-label={title} class="side-of">
      <h2>
        {title} <small class="count">{result ? totalWords(result.totalHits, controls) : ''}</small>
      </h2>
      <ComparedForm
        title={parameters}
        side={side}
        controls={controls}
        index={otherThan}
        onChange={props.onChange}
      />
      {result?.hits.length === 0 ? (
        <p class="note">Nothing was found with these parameters.</p>
      ) : null}
      <ol class="card list hits compact">
        {result?.hits.slice(0, HITS_PER_PAGE).map((hit, at) => (
          <ComparedHit
            key={at}
            hit={hit}
            of={of}
            movement={moved[at]!}
            absent={absent}
            marks={marks}
            onExplain={onExplain}
          />
        ))}
      </ol>
    </section>
  );
}

interface DifferProps {
  names: readonly [string, string];
  settings: readonly [LoadedSettings | undefined, LoadedSettings | undefined];
}

/** What distinguishes two indexes apart from their documents. */
function SettingsThatDiffer({ names, settings }: DifferProps): JSX.Element | null {
  const [before, after] = settings;
  if (before === undefined || after === undefined) return null;
  const changes = changesOf(before.values, after.values);
  return (
    <details class="panel">
      <summary>
        {counted(changes.length, 'setting')} differ{changes.length === 1 ? 's' : ''}
      </summary>
      <p class="note">
        − {names[0]}, + {names[1]}
      </p>
      {changes.map((change) => (
        <section key={change.name} aria-label={`Difference of ${spaced(change.name)}`}>
          <h3>{spaced(change.name)}</h3>
          <Difference before={change.before} after={change.after} />
        </section>
      ))}
    </details>
  );
}

interface ComparedProps {
  hit: Hit;
  of: IndexEntry;
  movement: Movement;
  absent: SideWords['absent'];
  marks: Marks;
  onExplain(): void;
}

function ComparedHit(props: ComparedProps): JSX.Element {
  const { hit, of, movement, absent, marks, onExplain } = props;
  const title = titleField(hit, of.primaryKey) ?? of.primaryKey ?? 'id';
  return (
    <li>
      <article>
        <h3>
          <JsonValue value={hit._formatted?.[title] ?? hit[title]} marks={marks} />
        </h3>
        <Moved movement={movement} absent={absent} />
        <Why hit={hit} onExplain={onExplain} />
      </article>
    </li>
  );
}

function Moved({
  movement,
  absent,
}: Pick<ComparedProps, 'movement' | 'absent'>): JSX.Element | null {
  if (movement.kind === 'same') return null;
  if (movement.kind === 'absent') return <span class={`state ${absent[1]}`}>{absent[0]}</span>;
  const { by } = movement;
  return (
    <span class={by > 0 ? 'state succeeded' : 'state failed'}>
      {by > 0 ? '↑' : '↓'} {Math.abs(by)}
      <span class="unseen">{by > 0 ? ' higher than there' : ' lower than there'}</span>
    </span>
  );
}

import { useMemo, useState } from 'preact/hooks';
import { comparedQuery, type Compared, type Comparison } from '../../compared-search.ts';
import { movements, type Movement } from '../../comparison.ts';
import { counted } from '../../format.ts';
import { titleField } from '../../hit-fields.ts';
import { useLoaded, type Loaded } from '../../hooks.ts';
import { settingsOf, type IndexEntry, type Settings } from '../../indexes.ts';
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
import { Why } from './why.tsx';

interface Props {
  index: IndexEntry;
  state: SearchState;
  comparison: Comparison;
  onCompare(comparison: Comparison): void;
}

/** Both searches, as tests. */
function useBoth(
  uids: readonly [string, string],
  { state, comparison }: Props,
  marks: Marks,
  explain: boolean,
): Loaded<{ readonly results: readonly SearchResult[] }> {
  const { client } = useSession();
  return useLoaded(
    async (signal) => {
      const queries = [comparison.left, comparison.right].map((side, at) =>
        comparedQuery(uids[at]!, state, side, { marks, explain }),
      );
      const sent = { body: { queries }, signal, isTest: true };
      return client.send<{ results: readonly SearchResult[] }>('POST', '/multi-search', sent);
    },
    [client, ...uids, JSON.stringify([state, comparison]), explain],
  );
}

function useSettings(uid: string): Settings | undefined {
  const { client } = useSession();
  return useLoaded(
    (signal) => settingsOf(client, uid, signal).catch(() => undefined),
    [client, uid],
  ).value;
}

/** The same query with two sets of parameters, or in two indexes, next to each other. */
export function Compare(props: Props): JSX.Element {
  const { index, comparison, onCompare } = props;
  const { list } = useIndexes();
  const marks = useMemo(newMarks, []);
  const [explain, setExplain] = useState(false);
  const { left, right } = comparison;
  const other = list.find(({ uid }) => uid === right.index) ?? index;
  const settings = [useSettings(index.uid), useSettings(other.uid)] as const;
  const loaded = useBoth([index.uid, other.uid], props, marks, explain);
  const [a, b] = loaded.value?.results ?? [];
  const [here, there] = [idsOf(a, index), idsOf(b, other)];
  const shown = { marks, onExplain: () => setExplain(true) };
  const [controls, otherControls] = [controlsOf(settings[0]), controlsOf(settings[1])];
  return (
    <div class="compare">
      <Problem error={loaded.error} />
      <div class="sides">
        <Side
          title="This search"
          of={index}
          controls={controls}
          result={a}
          moved={movements(here, there)}
          {...shown}
        >
          <ComparedForm
            title="Parameters of this search"
            side={left}
            controls={controls}
            index={null}
            onChange={(part) => onCompare({ left: { ...left, ...part }, right })}
          />
        </Side>
        <Side
          title="Other search"
          of={other}
          controls={otherControls}
          result={b}
          moved={movements(there, here)}
          {...shown}
        >
          <ComparedForm
            title="Parameters of the other search"
            side={right}
            controls={otherControls}
            index={index.uid}
            onChange={(part: Partial<Compared>) =>
              onCompare({ left, right: { ...right, ...part } })
            }
          />
        </Side>
      </div>
      {other.uid === index.uid ? null : (
        <SettingsThatDiffer names={[index.uid, other.uid]} settings={settings} />
      )}
    </div>
  );
}

function idsOf(result: SearchResult | undefined, { primaryKey }: IndexEntry): string[] {
  return (result?.hits ?? []).map((hit) => String(hit[primaryKey ?? 'id']));
}

interface SideProps {
  title: string;
  of: IndexEntry;
  controls: Controls;
  result: SearchResult | undefined;
  moved: readonly Movement[];
  marks: Marks;
  onExplain(): void;
  children: JSX.Element;
}

function Side(props: SideProps): JSX.Element {
  const { title, of, controls, result, moved, marks, onExplain, children } = props;
  return (
    <section aria-label={title} class="side-of">
      <h2>
        {title} <small class="count">{result ? totalWords(result.totalHits, controls) : ''}</small>
      </h2>
      {children}
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
  settings: readonly [Settings | undefined, Settings | undefined];
}

/** What distinguishes two indexes apart from their documents. */
function SettingsThatDiffer({ names, settings }: DifferProps): JSX.Element | null {
  const [before, after] = settings;
  if (before === undefined || after === undefined) return null;
  const changes = changesOf(before, after);
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
  marks: Marks;
  onExplain(): void;
}

function ComparedHit({ hit, of, movement, marks, onExplain }: ComparedProps): JSX.Element {
  const title = titleField(hit, of.primaryKey) ?? of.primaryKey ?? 'id';
  return (
    <li>
      <article>
        <h3>
          <JsonValue value={hit._formatted?.[title] ?? hit[title]} marks={marks} />
        </h3>
        <Moved movement={movement} />
        <Why hit={hit} onExplain={onExplain} />
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

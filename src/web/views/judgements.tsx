import { useRef, useState } from 'preact/hooks';
import { Figure } from '../chart.tsx';
import { replaceAddress, useAddress, viewHref } from '../address.ts';
import { pathOf, type Client } from '../client.ts';
import { counted, percent } from '../format.ts';
import { titleField } from '../hit-fields.ts';
import { useAction, useLoaded, type Action } from '../hooks.ts';
import type { IndexEntry } from '../indexes.ts';
import {
  differenceOf,
  GRADES,
  gradesOf,
  isMeasurable,
  judgedIndex,
  type JudgedQuery,
  type Measured,
  measured,
  queryId,
  withGrade,
} from '../judged.ts';
import { hitsOf, judgedQueries } from '../known-queries.ts';
import { Choice } from '../parts/choice.tsx';
import { Empty } from '../parts/empty.tsx';
import { JsonValue } from '../parts/json-value.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { RowActions, Table } from '../parts/table.tsx';
import { TextField } from '../parts/text-field.tsx';
import { HITS_PER_PAGE, type Hit } from '../search-request.ts';
import { useSession } from '../session.ts';
import { OfIndex, useIndexUids } from './index-picker.tsx';

/** Queries that are shown and measured. */
const QUERIES_MAX = 1000;

export function JudgementsView({ uid }: { uid: string | null }): JSX.Element {
  return (
    <OfIndex view="judgements" uid={uid}>
      {(index) => <Judgements index={index} />}
    </OfIndex>
  );
}

/** The judgements that are stored, and what was changed since; none without their index. */
function useJudged(uid: string): {
  list: readonly JudgedQuery[];
  error: Error | null;
  put(query: JudgedQuery): void;
} {
  const { client } = useSession();
  const [changed, setChanged] = useState<ReadonlyMap<string, JudgedQuery>>(new Map());
  const loaded = useLoaded(
    (signal) => judgedQueries(client, uid, QUERIES_MAX, signal),
    [client, uid],
  );
  const all = new Map((loaded.value ?? []).map((query) => [query.id, query]));
  for (const [id, query] of changed) all.set(id, query);
  return {
    list: [...all.values()].filter(({ judgements }) => judgements.length > 0),
    error: loaded.error,
    put: (query) => setChanged((old) => new Map(old).set(query.id, query)),
  };
}

/** The newest version of a query replaces the stored one. */
async function store(client: Client, uid: string, query: JudgedQuery): Promise<null> {
  const segments = ['indexes', judgedIndex(uid), 'documents'];
  if (query.judgements.length === 0) await client.send('DELETE', pathOf([...segments, query.id]));
  else await client.send('POST', pathOf(segments, { primaryKey: 'id' }), { body: [query] });
  return null;
}

function Judgements({ index }: { index: IndexEntry }): JSX.Element {
  const { client } = useSession();
  const { list, error, put } = useJudged(index.uid);
  const action = useAction();
  const [typed, setTyped] = useState('');
  const [q, setQ] = useState('');
  const current = list.find(({ id }) => id === queryId(q));
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const save = (query: JudgedQuery): void => {
    put(query);
    // One after the other: an earlier version must not arrive after a later one.
    const stored = last.current.then(() => store(client, index.uid, query));
    last.current = stored.catch(() => {});
    action.run(() => stored);
  };
  const judge = (text: string): void => {
    setTyped(text);
    setQ(text);
  };
  return (
    <>
      <p>
        Grade the hits of the queries that matter, then compare this index with a draft, such as a
        branch with other settings. The judgements are documents of{' '}
        <code>{judgedIndex(index.uid)}</code>, for everyone who may read it.
      </p>
      <Problem error={error} />
      <Outcome action={action} />
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          judge(typed.trim());
        }}
      >
        <TextField label="Query to judge" type="search" value={typed} onInput={setTyped} />
        <button type="submit">Search</button>
      </form>
      {q === '' ? null : (
        <Hits
          key={q}
          q={q}
          index={index}
          judged={current}
          onGrade={(document, grade) => save(withGrade(current, q, { document, grade }))}
        />
      )}
      {list.length === 0 ? (
        <Empty icon="check" title="No query is judged yet">
          <p>Search for something that people look for, and grade what comes.</p>
        </Empty>
      ) : (
        <Measure
          index={index}
          list={list}
          onJudge={judge}
          onDelete={(query) => save({ ...query, judgements: [] })}
        />
      )}
    </>
  );
}

interface HitsProps {
  q: string;
  index: IndexEntry;
  judged: JudgedQuery | undefined;
  /** null: the judgement is taken back. */
  onGrade(document: string, grade: number | null): void;
}

/** The first hits of a query, each with its grades. */
function Hits({ q, index, judged, onGrade }: HitsProps): JSX.Element {
  const { client } = useSession();
  const { uid, primaryKey } = index;
  const key = primaryKey ?? 'id';
  const loaded = useLoaded(
    (signal) => {
      const sent = { body: { q, limit: HITS_PER_PAGE }, signal, isTest: true };
      return client.send<{ hits: Hit[] }>('POST', pathOf(['indexes', uid, 'search']), sent);
    },
    [client, uid, q],
  );
  const grades = judged === undefined ? new Map<string, number>() : gradesOf(judged);
  return (
    <section aria-label={`Hits of ${q}`}>
      <Problem error={loaded.error} />
      {loaded.value?.hits.length === 0 ? <p class="note">Nothing was found.</p> : null}
      <ol class="card list hits compact">
        {loaded.value?.hits.map((hit) => {
          const id = String(hit[key]);
          const name = hit[titleField(hit, primaryKey) ?? key];
          return (
            <li key={id}>
              <article>
                <h3>
                  <JsonValue value={name} />
                </h3>
                <span class="buttons">
                  {GRADES.map(([grade, label]) => (
                    <button
                      key={label}
                      type="button"
                      class="quiet"
                      aria-pressed={grades.get(id) === grade}
                      onClick={() => onGrade(id, grades.get(id) === grade ? null : grade)}
                    >
                      {label}
                      <span class="unseen"> {String(name)}</span>
                    </button>
                  ))}
                </span>
              </article>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

interface Outcomes {
  /** Those that were measured, in the order of the figures. */
  readonly queries: readonly JudgedQuery[];
  readonly live: Measured;
  readonly draft: { readonly uid: string; readonly figures: Measured } | null;
}

async function outcomesOf(
  client: Client,
  index: IndexEntry,
  list: readonly JudgedQuery[],
  draft: string,
): Promise<Outcomes> {
  const queries = list.filter(isMeasurable);
  if (queries.length === 0) throw new Error('No query has a hit that is good or fair.');
  const key = index.primaryKey ?? 'id';
  const of = async (uid: string): Promise<Measured> =>
    measured(queries, await hitsOf(client, { uid, key }, queries));
  const live = await of(index.uid);
  return { queries, live, draft: draft === '' ? null : { uid: draft, figures: await of(draft) } };
}

interface MeasureProps {
  index: IndexEntry;
  list: readonly JudgedQuery[];
  onJudge(q: string): void;
  onDelete(query: JudgedQuery): void;
}

/** The judged queries with their figures. */
function Measure({ index, list, onJudge, onDelete }: MeasureProps): JSX.Element {
  const { client } = useSession();
  const action: Action = useAction();
  const uids = useIndexUids().filter((uid) => uid !== index.uid && uid !== judgedIndex(index.uid));
  const { draft = '' } = useAddress().query;
  const [outcomes, setOutcomes] = useState<Outcomes | null>(null);
  const shown = (query: JudgedQuery, figures: Measured | undefined): string => {
    const n = outcomes?.queries.findIndex(({ id }) => id === query.id) ?? -1;
    return figures?.queries[n]?.ndcg.toFixed(3) ?? '';
  };
  const measure = async (): Promise<string> => {
    const found = await outcomesOf(client, index, list, draft);
    setOutcomes(found);
    return `Measured ${counted(found.queries.length, 'query', 'queries')}.`;
  };
  return (
    <section aria-label="Judged queries">
      <div class="row">
        <Choice
          label="Compare with"
          value={draft}
          options={[['', 'nothing'], ...uids.map((uid) => [uid, uid] as const)]}
          onChoose={(uid) => replaceAddress(viewHref('judgements', index.uid, { draft: uid }))}
        />
        <button
          type="button"
          class="primary"
          disabled={action.running}
          onClick={() => action.run(measure)}
        >
          Measure
        </button>
      </div>
      <Outcome action={action} />
      {outcomes === null ? null : <Figures outcomes={outcomes} />}
      <Table
        label="Judged queries"
        rows={list}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Query', cell: ({ q }) => q },
          { title: 'Judged hits', number: true, cell: ({ judgements }) => judgements.length },
          { title: 'nDCG live', number: true, cell: (one) => shown(one, outcomes?.live) },
          {
            title: 'nDCG draft',
            number: true,
            cell: (one) => shown(one, outcomes?.draft?.figures),
          },
          {
            title: 'Actions',
            unseen: true,
            cell: (one) => (
              <RowActions
                of={one.q}
                actions={[
                  { label: 'Judge', run: () => onJudge(one.q) },
                  { label: 'Delete', danger: true, run: () => onDelete(one) },
                ]}
              />
            ),
          },
        ]}
      />
    </section>
  );
}

function Figures({ outcomes: { live, draft } }: { outcomes: Outcomes }): JSX.Element {
  const difference = draft === null ? null : differenceOf(live, draft.figures);
  const range = (low: number, high: number): string => `${low.toFixed(3)} to ${high.toFixed(3)}`;
  return (
    <dl class="panel figures" aria-live="polite">
      <Figure
        name="nDCG live"
        value={live.ndcg.mean.toFixed(3)}
        note={range(live.ndcg.low, live.ndcg.high)}
      />
      {draft === null || difference === null ? null : (
        <>
          <Figure
            name={`nDCG of ${draft.uid}`}
            value={draft.figures.ndcg.mean.toFixed(3)}
            note={range(draft.figures.ndcg.low, draft.figures.ndcg.high)}
          />
          <Figure
            name="Difference"
            value={`${difference.mean < 0 ? '' : '+'}${difference.mean.toFixed(3)}`}
            note={range(difference.low, difference.high)}
          />
        </>
      )}
      <Figure name="Hits that are judged" value={percent((draft?.figures ?? live).coverage)} />
    </dl>
  );
}

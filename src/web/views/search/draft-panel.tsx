import { useEffect, useRef, useState } from 'preact/hooks';
import type { Branch } from '../../../contract/responses.ts';
import type { LoadedSettings } from '../../all-settings.ts';
import { goTo, replaceAddress, useAddress, viewHref } from '../../address.ts';
import { pathOf, unless } from '../../client.ts';
import { changeOf, movesOf, type Moves } from '../../comparison.ts';
import { draftHref } from '../../draft-hooks.ts';
import { changedMeanwhile, makeDraft, type Meanwhile } from '../../drafts.ts';
import { count, counted } from '../../format.ts';
import { useAction, useLoaded, type Action, type Loaded } from '../../hooks.ts';
import type { IndexEntry } from '../../indexes.ts';
import { hitsOf, judgedQueries, recordedQueries } from '../../known-queries.ts';
import { Outcome } from '../../parts/outcome.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { Table } from '../../parts/table.tsx';
import { HITS_PER_PAGE } from '../../search-request.ts';
import { useSession } from '../../session.ts';
import { changesOf, patchOf, type Change } from '../../settings-draft.ts';
import { useIndexes } from '../../shell/indexes-context.tsx';
import { spaced } from '../../spaced.ts';
import { finish } from '../../tasks.ts';
import { DiscardDialog } from '../settings/drafts.tsx';
import { Review } from '../settings/review.tsx';

interface Props {
  draft: Branch;
  origin: IndexEntry;
  /** Those of the origin and of the draft; undefined: not loaded, or the key may not read them. */
  settings: readonly [LoadedSettings | undefined, LoadedSettings | undefined];
  /** What loads again when it changes. */
  version: unknown;
  /** Whether the draft is being indexed. */
  indexing: boolean;
  /** One of the two indexes was changed. */
  onChanged(): void;
  onDiscarded(): void;
}

/** What a draft changes for the queries that are known, and what can be done with it. */
export function DraftPanel(props: Props): JSX.Element {
  const { draft, origin, settings, version, indexing, onChanged, onDiscarded } = props;
  const { client, rights } = useSession();
  const action = useAction();
  const [open, setOpen] = useState<'apply' | 'discard' | null>(null);
  const [before, after] = settings;
  const changes = before && after ? changesOf(before.values, after.values) : [];
  const apply = (): void =>
    action.run(async () => {
      await finish(client, 'POST', pathOf(['indexes', draft.uid, 'promote']), {});
      onChanged();
      return `${origin.uid} has what the draft had. Apply again to go back.`;
    });
  return (
    <section class="panel" aria-label={`Draft of ${origin.uid}`}>
      <p>
        <strong>{draft.uid}</strong> is a draft of {origin.uid}. Visitors of {origin.uid} do not see
        it.{indexing ? ' It is being indexed.' : ''}
      </p>
      <Problem error={action.error} />
      <MeanwhileWarning {...{ draft, origin, settings, version, changes, onChanged }} />
      <Queries draft={draft} origin={origin} version={version} />
      <p class="buttons">
        {rights.has('swaps') ? (
          <button
            type="button"
            class="primary"
            disabled={action.running || indexing}
            onClick={() => {
              // What is confirmed is what differs now.
              onChanged();
              setOpen('apply');
            }}
          >
            Apply to {origin.uid}
          </button>
        ) : (
          <span class="note">
            A key with the action <code>indexes.swap</code> can apply it.
          </span>
        )}
        {rights.has('deletes') ? (
          <button type="button" disabled={action.running} onClick={() => setOpen('discard')}>
            Discard the draft
          </button>
        ) : null}
        {rights.has('settings') ? <Further draft={draft.uid} origin={origin.uid} /> : null}
      </p>
      {open === 'apply' ? (
        <Review
          title={`Apply ${draft.uid} to ${origin.uid}?`}
          verb="Apply"
          changes={changes}
          cost={`The two exchange their contents in one step. ${draft.uid} then has what ${origin.uid} has now: apply it again to go back.`}
          onSave={apply}
          onClose={() => setOpen(null)}
        />
      ) : null}
      {open === 'discard' ? (
        <DiscardDialog
          {...{ uid: draft.uid, origin: origin.uid, action, onDiscarded }}
          onClose={() => setOpen(null)}
        />
      ) : null}
    </section>
  );
}

function Further({ draft, origin }: { draft: string; origin: string }): JSX.Element {
  return (
    <>
      <a href={viewHref('settings', draft)}>Change its settings</a>
      <a href={viewHref('judgements', origin, { draft })}>Measure it by judgements</a>
    </>
  );
}

interface MeanwhileProps extends Pick<Props, 'draft' | 'origin' | 'settings' | 'version'> {
  changes: readonly Change[];
  onChanged(): void;
}

/** What applying the draft would take back, and how to keep it. */
function MeanwhileWarning(props: MeanwhileProps): JSX.Element | null {
  const { draft, origin, settings, version, changes, onChanged } = props;
  const { client, rights } = useSession();
  const { list } = useIndexes();
  const action: Action = useAction();
  const { value } = useLoaded<Meanwhile | null>(
    (signal) =>
      rights.has('tasks')
        ? changedMeanwhile(client, draft, origin.uid, signal)
        : Promise.resolve(null),
    [client, draft.uid, origin.uid, version],
  );
  const lost = changes.filter(({ name }) => value?.settings.includes(name));
  const writes = value?.writes ?? 0;
  if (lost.length === 0 && writes === 0) return <Outcome action={action} />;
  const schemas = settings[0]?.schemas ?? {};
  const hasSecrets = changes.some(({ name }) => name === 'embedders');
  const names = lost.map(({ name }) => spaced(name).toLowerCase()).join(', ');
  const keep = async (): Promise<string> => {
    const back = lost.map(({ name, before, after }) => ({ name, before: after, after: before }));
    const path = pathOf(['indexes', draft.uid, 'settings']);
    const outcome = await finish(client, 'PATCH', path, patchOf(back, schemas));
    onChanged();
    return outcome;
  };
  const renew = async (): Promise<string> => {
    const known = list.map(({ uid }) => uid);
    const asked = { origin: origin.uid, known, settings: patchOf(changes, schemas) };
    goTo(draftHref(origin.uid, await makeDraft(client, asked)));
    return 'The new draft has the documents of now.';
  };
  return (
    <div class="warning" role="alert">
      {lost.length === 0 ? null : (
        <p>
          Changed in {origin.uid} after the draft was made: {names}. Applying the draft takes that
          back.
        </p>
      )}
      {writes === 0 ? null : (
        <p>
          {counted(writes, 'write')} of documents reached {origin.uid} after the draft was made, and
          the draft does not follow it. Applying the draft takes them back.
        </p>
      )}
      <Outcome action={action} />
      <p class="buttons">
        {lost.length === 0 || hasSecrets || !rights.has('settings') ? null : (
          <button type="button" disabled={action.running} onClick={() => action.run(keep)}>
            Take them into the draft
          </button>
        )}
        {writes === 0 || hasSecrets || !rights.has('creates') ? null : (
          <button type="button" disabled={action.running} onClick={() => action.run(renew)}>
            Make the draft again
          </button>
        )}
      </p>
    </div>
  );
}

type QueriesProps = Pick<Props, 'draft' | 'origin' | 'version'>;

/** Queries of each kind that are tried. */
const QUERIES = 20;

interface Tried {
  readonly q: string;
  /** By visitors; null: the query is judged, and not among the most frequent. */
  readonly searches: number | null;
  readonly moves: Moves;
}

/** The queries that are known of the index, those whose hits change most first. */
function useTried({ draft, origin, version }: QueriesProps): Loaded<readonly Tried[]> {
  const { client, rights } = useSession();
  return useLoaded(
    async (signal) => {
      const none = Promise.resolve([]);
      const [recorded, judged] = await Promise.all([
        rights.has('analytics') ? recordedQueries(client, origin.uid, QUERIES, signal) : none,
        rights.has('reads')
          ? judgedQueries(client, origin.uid, QUERIES, signal).catch(unless('invalid_api_key'))
          : none,
      ]);
      const known = new Map<string, number | null>(
        recorded.map(({ q, searches }) => [q, searches]),
      );
      for (const { q } of judged ?? []) if (!known.has(q)) known.set(q, null);
      const queries = [...known].map(([q, searches]) => ({ q, searches }));
      const key = origin.primaryKey ?? 'id';
      const [live, drafted] = await Promise.all(
        [origin.uid, draft.uid].map((uid) => hitsOf(client, { uid, key }, queries, signal)),
      );
      return queries
        .map((one, n) => ({ ...one, moves: movesOf(live![n]!, drafted![n]!, HITS_PER_PAGE) }))
        .toSorted((a, b) => changeOf(b.moves) - changeOf(a.moves));
    },
    [client, origin.uid, draft.uid, version],
  );
}

const MOVES = [
  ['Up', 'up'],
  ['Down', 'down'],
  ['New', 'added'],
  ['Dropped', 'dropped'],
] as const;

/** What moved in each of them. The search begins with the first, unless a query is typed. */
function Queries(props: QueriesProps): JSX.Element {
  const { query } = useAddress();
  const { value, error } = useTried(props);
  const hrefOf = (q: string): string =>
    viewHref('search', props.origin.uid, { ...query, q, page: '' });
  const chosen = useRef((query.q ?? '') !== '');
  useEffect(() => {
    const first = value?.[0];
    if (chosen.current || first === undefined || changeOf(first.moves) === 0) return;
    chosen.current = true;
    replaceAddress(hrefOf(first.q));
  }, [value]);
  if (value === undefined)
    return error === null ? <Skeleton rows={2} /> : <Problem error={error} />;
  if (value.length === 0) {
    return (
      <p class="note">
        No search of visitors is recorded and no query is judged: type one into the field above.
      </p>
    );
  }
  const changed = value.filter(({ moves }) => changeOf(moves) > 0).length;
  return (
    <>
      <Problem error={error} />
      <p role="status">
        {changed} of {counted(value.length, 'known query', 'known queries')}{' '}
        {changed === 1 ? 'has' : 'have'} other first hits.
      </p>
      <Table
        label="Known queries"
        class="short"
        rows={value}
        keyOf={({ q }) => q}
        columns={[
          {
            title: 'Query',
            cell: ({ q }) => (
              <a href={hrefOf(q)} aria-current={q === (query.q ?? '') ? 'true' : undefined}>
                {q === '' ? '(empty)' : q}
              </a>
            ),
          },
          {
            title: 'Searches',
            number: true,
            cell: ({ searches }) => (searches === null ? 'judged' : count(searches)),
          },
          ...MOVES.map(([title, name]) => ({
            title,
            number: true,
            cell: ({ moves }: Tried) => (moves[name] === 0 ? '' : count(moves[name])),
          })),
        ]}
      />
    </>
  );
}

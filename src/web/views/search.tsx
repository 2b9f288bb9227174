import { useMemo, useRef, useState } from 'preact/hooks';
import { replaceAddress, useAddress, viewHref } from '../address.ts';
import { Fault } from '../client.ts';
import { comparisonFrom, comparisonText, type Comparison } from '../compared-search.ts';
import { previewed } from '../curation.ts';
import { count, milliseconds } from '../format.ts';
import { useLoaded, type Loaded } from '../hooks.ts';
import { settingsOf, type IndexEntry } from '../indexes.ts';
import { newMarks, type Marks } from '../marks.ts';
import { Pages } from '../parts/pages.tsx';
import { Problem } from '../parts/problem.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import {
  HITS_PER_PAGE,
  isNarrowed,
  mergedCounts,
  queryFrom,
  searchQueries,
  stateFrom,
  type Hit,
  type SearchResult,
  type SearchState,
} from '../search-request.ts';
import { useSession } from '../session.ts';
import { useIndexes } from '../shell/indexes-context.tsx';
import { FilterBar } from './filter-bar.tsx';
import { OfIndex } from './index-picker.tsx';
import { ActiveFilters } from './search/active-filters.tsx';
import { Compare } from './search/compare.tsx';
import { controlsOf, totalWords, type Controls } from './search/controls.ts';
import { useCuration, type Curation } from './search/curate.tsx';
import { CurationPanel } from './search/curation-panel.tsx';
import { useDisplay } from './search/display.ts';
import { Hits } from './search/hits.tsx';
import { PointMap } from './search/map.tsx';
import { NothingFound } from './search/nothing-found.tsx';
import { Refine } from './search/refine.tsx';
import { SearchBox } from './search/search-box.tsx';
import { Toolbar } from './search/toolbar.tsx';

export function SearchView({ uid }: { uid: string | null }): JSX.Element {
  return (
    <OfIndex view="search" uid={uid}>
      {(index) => <Preview index={index} />}
    </OfIndex>
  );
}

interface Results {
  readonly results: readonly SearchResult[];
}

interface SearchOptions {
  readonly marks: Marks;
  /** Hits say why they were found. */
  readonly explain: boolean;
  /** Whether there are facets to ask for; null: not known. */
  readonly isFilterable: boolean | null;
  /** The settings are not loaded yet, and the search waits for them. */
  readonly waits: boolean;
  /** The number of rules that were saved here. */
  readonly savedRules: number;
}

function useResults(
  uid: string,
  state: SearchState,
  { marks, explain, isFilterable, waits, savedRules }: SearchOptions,
): Loaded<readonly SearchResult[]> {
  const { client, testsSearches } = useSession();
  const facets = useRef(true);
  const found = useLoaded(
    async (signal) => {
      if (waits) return [];
      const send = async (
        queries: readonly object[],
        isTest: boolean,
      ): Promise<readonly SearchResult[]> => {
        if (queries.length === 0) return [];
        const options = { body: { queries }, signal, isTest };
        return (await client.send<Results>('POST', '/multi-search', options)).results;
      };
      const ask = async (): Promise<readonly SearchResult[]> => {
        const options = { marks, explain, facets: isFilterable ?? facets.current };
        const [search, ...counts] = searchQueries(uid, state, options);
        // A visitor's search counts once in analytics; the queries for facet counts are tests.
        const lists = await Promise.all([send([search!], testsSearches), send(counts, true)]);
        return lists.flat();
      };
      return ask().catch((error: unknown) => {
        if (!(error instanceof Fault) || error.code !== 'invalid_search_facets') throw error;
        // A key that may not read settings finds out from this error that there are no facets.
        facets.current = false;
        return ask();
      });
    },
    [client, uid, JSON.stringify(state), explain, isFilterable, waits, savedRules],
  );
  return { ...found, loading: found.loading || waits };
}

function Preview({ index }: { index: IndexEntry }): JSX.Element {
  const { client } = useSession();
  const { uid } = index;
  const { query } = useAddress();
  const state = stateFrom(query);
  const comparison = comparisonFrom(query.compare ?? '', state);
  const marks = useMemo(newMarks, []);
  const [explain, setExplain] = useState(false);
  const settings = useLoaded(
    (signal) => settingsOf(client, uid, signal).catch(() => undefined),
    [client, uid],
  );
  const controls = controlsOf(settings.value);
  const { isFilterable } = controls;
  const waits = settings.value === undefined && settings.loading;
  const [savedRules, setSavedRules] = useState(0);
  const curation = useCuration(index, state, () => setSavedRules((old) => old + 1));
  // The details say which hits are pinned.
  const explains = explain || curation?.hasRules === true;
  const asked = { marks, explain: explains, isFilterable, waits, savedRules };
  const results = useResults(uid, state, asked);
  const show = (next: SearchState, compared: Comparison | null): void => {
    const compare = compared === null ? '' : comparisonText(compared, next);
    replaceAddress(viewHref('search', uid, { ...queryFrom(next), compare }));
  };
  const change = (part: Partial<SearchState>): void =>
    show({ ...state, page: 1, ...part }, comparison);
  const result = results.value?.[0];
  return (
    <div class="search">
      <SearchBox q={state.q} onInput={(q) => change({ q })} />
      <Totals uid={uid} state={state} controls={controls} result={result} />
      <Problem uid={uid} error={results.error} onMended={results.reload} />
      <div class="columns">
        <aside aria-label="Refine the search">
          <Refine
            uid={uid}
            state={state}
            controls={controls}
            results={results.value ?? []}
            onChange={change}
            onFilterable={settings.reload}
          />
        </aside>
        <Found
          index={index}
          state={state}
          marks={marks}
          results={results.value ?? []}
          curation={curation}
          loading={results.loading}
          showsMap={controls.points}
          comparison={comparison}
          onCompare={(next) => show(state, next)}
          onChange={change}
          onExplain={() => setExplain(true)}
          onRepeat={results.reload}
        />
      </div>
    </div>
  );
}

interface FoundProps {
  index: IndexEntry;
  state: SearchState;
  marks: Marks;
  /** The search, then the counts of facets; none: not known yet. */
  results: readonly SearchResult[];
  /** null: this key may not arrange hits. */
  curation: Curation | null;
  loading: boolean;
  showsMap: boolean;
  /** null: nothing is compared. */
  comparison: Comparison | null;
  onCompare(comparison: Comparison | null): void;
  onChange(part: Partial<SearchState>): void;
  onExplain(): void;
  /** Searches again, because the index has changed. */
  onRepeat(): void;
}

function Found(props: FoundProps): JSX.Element {
  const { index, state, results, curation, loading, comparison, onChange, onCompare } = props;
  const [display, setDisplay] = useDisplay(index.uid);
  const [filtering, setFiltering] = useState(state.filter !== '');
  const result = results[0];
  const first = (state.page - 1) * HITS_PER_PAGE;
  const spots = curation?.draft.spots ?? new Map<string, null>();
  const idOf = (hit: Hit): string | null => curation?.idOf(hit) ?? null;
  return (
    <section class="grow" aria-label="Results" aria-busy={loading}>
      <Toolbar
        uid={index.uid}
        state={state}
        hits={result?.hits ?? []}
        display={display}
        onDisplay={setDisplay}
        comparing={comparison !== null}
        onCompare={() => onCompare(comparison === null ? comparisonFrom('{}', state) : null)}
        filtering={filtering}
        onFilter={() => setFiltering(!filtering)}
      />
      {filtering ? (
        <FilterBar
          uid={index.uid}
          filter={state.filter}
          onFilter={(filter) => onChange({ filter })}
        />
      ) : null}
      <ActiveFilters state={state} onChange={onChange} />
      {comparison === null ? (
        <>
          {props.showsMap && result !== undefined ? (
            <PointMap index={index} state={state} sample={result.hits[0]} />
          ) : null}
          {result === undefined ? loading ? <Skeleton rows={8} /> : null : null}
          {result?.hits.length === 0 ? (
            <NothingFound
              uid={index.uid}
              state={state}
              marks={props.marks}
              onChange={onChange}
              onTaught={props.onRepeat}
            />
          ) : null}
          <Hits
            {...props}
            hits={previewed(result?.hits ?? [], idOf, first, spots)}
            first={first + 1}
            display={display}
          />
          {curation === null ? null : (
            <CurationPanel curation={curation} counts={mergedCounts(results)} />
          )}
        </>
      ) : (
        <Compare index={index} state={state} comparison={comparison} onCompare={onCompare} />
      )}
      <Pages
        page={state.page}
        pages={comparison === null ? (result?.totalPages ?? 0) : 0}
        onPage={(page) => {
          onChange({ page });
          scrollTo({ top: 0 });
        }}
      />
    </section>
  );
}

interface TotalsProps {
  uid: string;
  state: SearchState;
  controls: Controls;
  result: SearchResult | undefined;
}

/** How many results there are: as many as the server counts, and whether there are more. */
function Totals({ uid, state, controls, result }: TotalsProps): JSX.Element {
  const { stats } = useIndexes();
  const all = stats?.indexes[uid]?.numberOfDocuments;
  const isWhole = state.q === '' && !isNarrowed(state);
  const text = (found: SearchResult): string => {
    const first = `${totalWords(found.totalHits, controls, isWhole ? all : undefined)} in ${milliseconds(found.processingTimeMs)}`;
    return found.semanticHitCount === undefined
      ? first
      : `${first}, ${count(found.semanticHitCount)} on this page found by meaning`;
  };
  return (
    <p class="totals" role="status">
      {result === undefined ? '' : text(result)}
    </p>
  );
}

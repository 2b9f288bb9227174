import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Fault, pathOf } from '../client.ts';
import { count, counted, indentJson, milliseconds, percent } from '../format.ts';
import { type Loaded, useLoaded } from '../hooks.ts';
import { settingsOf, type IndexEntry, type Settings } from '../indexes.ts';
import { newMarks, type Marks } from '../marks.ts';
import { CheckList } from '../parts/check-list.tsx';
import { Choice } from '../parts/choice.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { JsonValue } from '../parts/json-value.tsx';
import { Pages } from '../parts/pages.tsx';
import { Problem } from '../parts/problem.tsx';
import { TextField } from '../parts/text-field.tsx';
import { viewHref, replaceAddress, useAddress } from '../address.ts';
import { scoreReasons } from '../score-words.ts';
import {
  circleFrom,
  facetSearch,
  HITS_PER_PAGE,
  mergedCounts,
  queryFrom,
  searchQueries,
  stateFrom,
  type Hit,
  type SearchResult,
  type SearchState,
} from '../search-request.ts';
import { useSession } from '../session.ts';
import { isSlash } from '../shell/slash.ts';
import { OfIndex } from './index-picker.tsx';

export function SearchView({ uid }: { uid: string | null }): JSX.Element {
  return (
    <OfIndex view="search" uid={uid}>
      {(index) => <Preview index={index} />}
    </OfIndex>
  );
}

/** The controls to show, derived from the settings; none for a key that may not read settings. */
interface Controls {
  readonly sortable: readonly string[];
  readonly embedders: readonly string[];
  readonly points: boolean;
}

function controlsOf(settings: Settings | undefined): Controls {
  const sortable = (settings?.sortableAttributes ?? []) as string[];
  const filterable = (settings?.filterableAttributes ?? []) as unknown[];
  return {
    sortable: sortable.filter((name) => name !== '_geo'),
    embedders: Object.entries((settings?.embedders ?? {}) as Record<string, { source?: string }>)
      // A query vector cannot be typed.
      .filter(([, { source }]) => source !== 'userProvided')
      .map(([name]) => name),
    points: sortable.includes('_geo') && filterable.includes('_geo'),
  };
}

interface Results {
  readonly results: readonly SearchResult[];
}

/** @param explain hits say why they were found */
function useResults(
  uid: string,
  state: SearchState,
  marks: Marks,
  explain: boolean,
): Loaded<readonly SearchResult[]> {
  const { client, testsSearches } = useSession();
  const facets = useRef(true);
  return useLoaded(
    async (signal) => {
      const send = async (
        queries: readonly object[],
        isTest: boolean,
      ): Promise<readonly SearchResult[]> => {
        if (queries.length === 0) return [];
        const options = { body: { queries }, signal, isTest };
        return (await client.send<Results>('POST', '/multi-search', options)).results;
      };
      const ask = async (): Promise<readonly SearchResult[]> => {
        const options = { marks, explain, facets: facets.current };
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
    [client, uid, JSON.stringify(state), explain],
  );
}

function Preview({ index }: { index: IndexEntry }): JSX.Element {
  const { client } = useSession();
  const { uid } = index;
  const { query } = useAddress();
  const state = stateFrom(query);
  const marks = useMemo(newMarks, []);
  const [explain, setExplain] = useState(false);
  const settings = useLoaded(
    (signal) => settingsOf(client, uid, signal).catch(() => undefined),
    [client, uid],
  );
  const controls = controlsOf(settings.value);
  const results = useResults(uid, state, marks, explain);
  const change = (part: Partial<SearchState>): void =>
    replaceAddress(viewHref('search', uid, queryFrom({ ...state, page: 1, ...part })));
  const result = results.value?.[0];
  return (
    <div class="search">
      <SearchBox q={state.q} onInput={(q) => change({ q })} />
      <p class="totals" role="status">
        {result === undefined ? '' : totalsOf(result)}
      </p>
      <Problem error={results.error} />
      <div class="columns">
        <aside aria-label="Refine the search">
          <Refine
            uid={uid}
            state={state}
            controls={controls}
            results={results.value ?? []}
            onChange={change}
          />
        </aside>
        <section aria-label="Results" aria-busy={results.loading}>
          {controls.points && result !== undefined ? <PointMap hits={result.hits} /> : null}
          {result !== undefined && result.hits.length === 0 ? (
            <p class="note">Nothing was found.</p>
          ) : null}
          <ol class="hits" start={result === undefined ? 1 : (state.page - 1) * HITS_PER_PAGE + 1}>
            {result?.hits.map((hit, position) => (
              <li key={`${String(hit[index.primaryKey ?? ''] ?? '')}:${position}`}>
                <HitCard hit={hit} index={index} marks={marks} onExplain={() => setExplain(true)} />
              </li>
            ))}
          </ol>
          <Pages
            page={state.page}
            pages={result?.totalPages ?? 0}
            onPage={(page) => {
              change({ page });
              scrollTo({ top: 0 });
            }}
          />
        </section>
      </div>
    </div>
  );
}

function totalsOf({ totalHits, processingTimeMs, semanticHitCount }: SearchResult): string {
  const totals = `${counted(totalHits, 'result')} in ${milliseconds(processingTimeMs)}`;
  if (semanticHitCount === undefined) return totals;
  return `${totals}, ${count(semanticHitCount)} on this page found by meaning`;
}

interface AllRefineProps extends RefineProps {
  uid: string;
  controls: Controls;
  results: readonly SearchResult[];
}

function Refine({ uid, state, controls, results, onChange }: AllRefineProps): JSX.Element {
  const { client } = useSession();
  return (
    <details open={matchMedia('(min-width: 45rem)').matches}>
      <summary>Refine</summary>
      <Order state={state} controls={controls} onChange={onChange} />
      {controls.embedders.length > 0 ? (
        <Meaning state={state} embedders={controls.embedders} onChange={onChange} />
      ) : null}
      {controls.points ? <Near state={state} onChange={onChange} /> : null}
      <Facets
        counts={mergedCounts(results)}
        chosen={state.chosen}
        onChoose={(chosen) => onChange({ chosen })}
        onFind={async (facet, text, signal) => {
          const path = pathOf(['indexes', uid, 'facet-search']);
          const body = facetSearch(state, facet, text);
          const { facetHits } = await client.send<FacetHits>('POST', path, { body, signal });
          return Object.fromEntries(facetHits.map(({ value, count: found }) => [value, found]));
        }}
      />
    </details>
  );
}

function SearchBox({ q, onInput }: { q: string; onInput(q: string): void }): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    box.current?.focus();
    const pressed = (event: KeyboardEvent): void => {
      if (!isSlash(event)) return;
      event.preventDefault();
      box.current?.focus();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  return (
    <Field label="Search" hint="Results update as you type. Press / to return to this field.">
      {(id, hintId) => (
        <input
          ref={box}
          id={id}
          class="query"
          type="search"
          value={q}
          aria-describedby={hintId}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface RefineProps {
  state: SearchState;
  onChange(part: Partial<SearchState>): void;
}

function Order({
  state,
  controls,
  onChange,
}: RefineProps & { controls: Controls }): JSX.Element | null {
  if (controls.sortable.length === 0) return null;
  return (
    <Choice
      label="Sort"
      value={state.sort}
      options={[
        ['', 'Best match first'],
        ...controls.sortable.flatMap(
          (name) =>
            [
              [`${name}:asc`, `${name}, ascending`],
              [`${name}:desc`, `${name}, descending`],
            ] as const,
        ),
      ]}
      onChoose={(sort) => onChange({ sort })}
    />
  );
}

function Meaning({
  state,
  embedders,
  onChange,
}: RefineProps & { embedders: readonly string[] }): JSX.Element {
  return (
    <fieldset>
      <legend>Search by meaning</legend>
      <Choice
        label="Embedder"
        value={state.embedder}
        options={[
          ['', 'none: search by words only'],
          ...embedders.map((name) => [name, name] as const),
        ]}
        onChoose={(embedder) => onChange({ embedder })}
      />
      {state.embedder === '' ? null : (
        <Field label={`Words to meaning: ${percent(state.semanticRatio)}`}>
          {(id) => (
            <input
              id={id}
              type="range"
              min="0"
              max="1"
              step="0.05"
              value={state.semanticRatio}
              onInput={(event) => onChange({ semanticRatio: Number(event.currentTarget.value) })}
            />
          )}
        </Field>
      )}
    </fieldset>
  );
}

function Near({ state, onChange }: RefineProps): JSX.Element {
  const { circle } = state;
  const [lat, setLat] = useState(String(circle?.lat ?? ''));
  const [lng, setLng] = useState(String(circle?.lng ?? ''));
  const [km, setKm] = useState(String(circle === null ? 100 : circle.radius / 1000));
  const typed = circleFrom(`${lat},${lng},${Number(km) * 1000}`);
  return (
    <fieldset>
      <legend>Near a point</legend>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed !== null) onChange({ circle: typed });
        }}
      >
        <TextField label="Latitude" type="number" step="any" value={lat} onInput={setLat} />
        <TextField label="Longitude" type="number" step="any" value={lng} onInput={setLng} />
        <TextField label="Radius in km" type="number" step="any" value={km} onInput={setKm} />
        <p class="buttons">
          <button type="submit" disabled={typed === null}>
            Nearest first
          </button>
          {circle === null ? null : (
            <button type="button" onClick={() => onChange({ circle: null })}>
              Anywhere
            </button>
          )}
        </p>
      </form>
    </fieldset>
  );
}

interface FacetHits {
  readonly facetHits: readonly { readonly value: string; readonly count: number }[];
}

/** Returns the counts of the facet values that begin with a text. */
type FindValues = (
  facet: string,
  text: string,
  signal: AbortSignal,
) => Promise<Readonly<Record<string, number>>>;

interface FacetsProps {
  counts: Readonly<Record<string, Readonly<Record<string, number>>>>;
  chosen: SearchState['chosen'];
  onChoose(chosen: SearchState['chosen']): void;
  onFind: FindValues;
}

/** Values of a facet that are shown before a click on "All". */
const VALUES_SHOWN = 8;

function Facets({ counts, chosen, onChoose, onFind }: FacetsProps): JSX.Element {
  return (
    <>
      {Object.entries(counts)
        .filter(([, values]) => Object.keys(values).length > 0)
        .map(([facet, values]) => (
          <Facet
            key={facet}
            facet={facet}
            values={values}
            chosen={chosen[facet] ?? []}
            onChoose={(selected) => onChoose({ ...chosen, [facet]: selected })}
            onFind={onFind}
          />
        ))}
    </>
  );
}

interface FacetProps {
  facet: string;
  values: Readonly<Record<string, number>>;
  chosen: readonly string[];
  onChoose(values: readonly string[]): void;
  onFind: FindValues;
}

function Facet({ facet, values: counted, chosen, onChoose, onFind }: FacetProps): JSX.Element {
  const [all, setAll] = useState(false);
  const [sought, setSought] = useState('');
  const seeking = all && sought !== '';
  const found = useLoaded(
    (signal) => (seeking ? onFind(facet, sought, signal) : Promise.resolve(null)),
    [facet, seeking, sought],
  );
  const values = (seeking ? found.value : null) ?? counted;
  const kept = seeking ? [] : chosen;
  const names = [...new Set([...Object.keys(values), ...kept])].sort(
    (a, b) =>
      Number(chosen.includes(b)) - Number(chosen.includes(a)) ||
      (values[b] ?? 0) - (values[a] ?? 0),
  );
  const shown = all ? names : names.slice(0, Math.max(VALUES_SHOWN, chosen.length));
  return (
    <fieldset class="facet">
      <legend>{facet}</legend>
      {all ? (
        <>
          <TextField label="Find a value" type="search" value={sought} onInput={setSought} />
          <Problem error={found.error} />
        </>
      ) : null}
      <CheckList
        values={shown}
        chosen={chosen}
        onChoose={onChoose}
        text={(name) => (
          <>
            <span>{name}</span> <span class="count">{count(values[name] ?? 0)}</span>
          </>
        )}
      />
      {names.length > shown.length || all ? (
        <button
          type="button"
          class="quiet"
          aria-expanded={all}
          onClick={() => {
            setAll(!all);
            setSought('');
          }}
        >
          {all ? 'Fewer values' : `All ${names.length} values`}
          <span class="unseen"> of {facet}</span>
        </button>
      ) : null}
    </fieldset>
  );
}

interface HitProps {
  hit: Hit;
  index: IndexEntry;
  marks: Marks;
  onExplain(): void;
}

const ADDED = new Set(['_formatted', '_rankingScore', '_rankingScoreDetails', '_matchesPosition']);
const TITLES = ['title', 'name', 'label', 'headline', 'subject'];

/**
 * The field to show as the title: one named like a title, otherwise the first text that is not the
 * id.
 */
export function titleField(
  hit: Readonly<Record<string, unknown>>,
  primaryKey: string | null,
): string | undefined {
  const texts = Object.keys(hit).filter(
    (name) => typeof hit[name] === 'string' && name !== primaryKey && name !== 'id',
  );
  return TITLES.find((name) => texts.includes(name)) ?? texts[0];
}

function HitCard({ hit, index, marks, onExplain }: HitProps): JSX.Element {
  const { rights } = useSession();
  const [json, setJson] = useState(false);
  const shown: Readonly<Record<string, unknown>> = hit._formatted ?? hit;
  const title = titleField(hit, index.primaryKey);
  const names = Object.keys(hit).filter((name) => !ADDED.has(name) && name !== title);
  const id = index.primaryKey === null ? undefined : hit[index.primaryKey];
  const stored = Object.fromEntries(Object.entries(hit).filter(([name]) => !ADDED.has(name)));
  return (
    <article>
      {title === undefined ? null : (
        <h3>
          <JsonValue value={shown[title] ?? hit[title]} marks={marks} />
        </h3>
      )}
      <dl>
        {names.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <JsonValue value={shown[name] ?? hit[name]} marks={marks} />
            </dd>
          </div>
        ))}
      </dl>
      <div class="buttons">
        <button type="button" class="quiet" onClick={() => setJson(true)}>
          JSON
        </button>
        {id !== undefined && rights.has('indexes') ? (
          <a href={viewHref('documents', index.uid, { id: String(id) })}>Edit</a>
        ) : null}
        <Why hit={hit} onExplain={onExplain} />
      </div>
      {json ? (
        <Dialog title="Document as JSON" onClose={() => setJson(false)}>
          <pre tabIndex={0}>{indentJson(JSON.stringify(stored))}</pre>
        </Dialog>
      ) : null}
    </article>
  );
}

function Why({ hit, onExplain }: { hit: Hit; onExplain(): void }): JSX.Element {
  const { _rankingScore: score, _rankingScoreDetails: details } = hit;
  const reasons = details === undefined ? [] : scoreReasons(details);
  return (
    <details class="why" onToggle={(event) => event.currentTarget.open && onExplain()}>
      <summary>Why is this here?</summary>
      {score === undefined ? null : <p>Ranking score: {percent(score)}</p>}
      {details !== undefined && reasons.length === 0 ? (
        <p>The query is empty, so no ranking rule was applied.</p>
      ) : null}
      <ol>
        {reasons.map(({ rule, words, score: part }) => (
          <li key={rule}>
            <strong>{rule}</strong> {words}
            {part === null ? null : <span class="count"> {percent(part)}</span>}
          </li>
        ))}
      </ol>
    </details>
  );
}

const MAP_WIDTH = 360;
const MAP_HEIGHT = 180;

/** A map of the hits by longitude and latitude. */
function PointMap({ hits }: { hits: readonly Hit[] }): JSX.Element | null {
  const points = hits.flatMap(({ _geo }) => {
    const { lat, lng } = (_geo ?? {}) as { lat?: unknown; lng?: unknown };
    const point = { lat: Number(lat), lng: Number(lng) };
    return lat === undefined || Number.isNaN(point.lat + point.lng) ? [] : [point];
  });
  if (points.length === 0) return null;
  return (
    <svg
      class="map"
      viewBox={`0 0 ${MAP_WIDTH} ${MAP_HEIGHT}`}
      role="img"
      aria-label={`Locations of ${counted(points.length, 'result')} by longitude and latitude`}
    >
      {[-120, -60, 0, 60, 120].map((lng) => (
        <path key={`lng${lng}`} class="grid" d={`M${lng + 180} 0V${MAP_HEIGHT}`} />
      ))}
      {[-60, -30, 0, 30, 60].map((lat) => (
        <path key={`lat${lat}`} class="grid" d={`M0 ${90 - lat}H${MAP_WIDTH}`} />
      ))}
      {points.map(({ lat, lng }, position) => (
        <circle key={position} cx={lng + 180} cy={90 - lat} r="2.5" />
      ))}
    </svg>
  );
}

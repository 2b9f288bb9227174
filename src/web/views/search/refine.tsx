import type { FacetSearchResponse } from '../../../contract/responses.ts';
import { useState } from 'preact/hooks';
import { pathOf } from '../../client.ts';
import { percent } from '../../format.ts';
import { Choice } from '../../parts/choice.tsx';
import { Field } from '../../parts/field.tsx';
import { TextField } from '../../parts/text-field.tsx';
import {
  circleFrom,
  DIVERSE_HITS,
  facetSearch,
  mergedCounts,
  mergedStats,
  type SearchResult,
  type SearchState,
} from '../../search-request.ts';
import { useSession } from '../../session.ts';
import type { Controls } from './controls.ts';
import { Facets, type FindValues } from './facets.tsx';
import { MakeFilterable } from './make-filterable.tsx';
import { Ranges } from './ranges.tsx';

interface RefineProps {
  state: SearchState;
  onChange(part: Partial<SearchState>): void;
}

interface AllRefineProps extends RefineProps {
  uid: string;
  controls: Controls;
  results: readonly SearchResult[];
  /** Attributes were made filterable. */
  onFilterable(): void;
}

/** Everything that narrows or orders the results. */
export function Refine(props: AllRefineProps): JSX.Element {
  const { uid, state, controls, results, onChange, onFilterable } = props;
  const { client } = useSession();
  const stats = mergedStats(results);
  const counts = Object.entries(mergedCounts(results)).filter(
    ([facet]) => stats[facet] === undefined || stats[facet].min === stats[facet].max,
  );
  const find: FindValues = async (facet, text, signal) => {
    const path = pathOf(['indexes', uid, 'facet-search']);
    const options = { body: facetSearch(state, facet, text), signal };
    const { facetHits } = await client.send<FacetSearchResponse>('POST', path, options);
    return Object.fromEntries(facetHits.map(({ value, count: found }) => [value, found]));
  };
  return (
    <details open={matchMedia('(min-width: 45rem)').matches}>
      <summary>Refine</summary>
      <Order state={state} controls={controls} onChange={onChange} />
      {controls.embedders.length > 0 ? (
        <Meaning state={state} embedders={controls.embedders} onChange={onChange} />
      ) : null}
      {controls.points ? <Near state={state} onChange={onChange} /> : null}
      {controls.isFilterable === false ? <MakeFilterable uid={uid} onDone={onFilterable} /> : null}
      <Facets
        counts={Object.fromEntries(counts)}
        chosen={state.chosen}
        isCut={controls.isCut}
        searched={JSON.stringify({ ...state, page: 1 })}
        onChoose={(chosen) => onChange({ chosen })}
        onFind={controls.searchesFacets ? find : null}
      />
      <Ranges uid={uid} state={state} stats={stats} onChoose={(ranges) => onChange({ ranges })} />
      <Variety state={state} facets={counts.map(([facet]) => facet)} onChange={onChange} />
    </details>
  );
}

/** The orders to choose from, as values and labels. */
export function orders({ sortable }: Controls): (readonly [string, string])[] {
  return [
    ['', 'Best match first'],
    ...sortable.flatMap(
      (name) =>
        [
          [`${name}:asc`, `${name}, ascending`],
          [`${name}:desc`, `${name}, descending`],
        ] as const,
    ),
  ];
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
      options={orders(controls)}
      onChoose={(sort) => onChange({ sort })}
    />
  );
}

/** Whether one value of a facet may fill a page. */
function Variety({
  state: { diverse },
  facets,
  onChange,
}: RefineProps & { facets: readonly string[] }): JSX.Element | null {
  const names = [...new Set(diverse === '' ? facets : [...facets, diverse])];
  if (names.length === 0) return null;
  return (
    <Choice
      label="Variety"
      value={diverse}
      options={[
        ['', 'as ranked'],
        ...names.map((name) => [name, `at most ${DIVERSE_HITS} of one ${name} a page`] as const),
      ]}
      onChoose={(chosen) => onChange({ diverse: chosen })}
    />
  );
}

interface MeaningProps {
  state: Pick<SearchState, 'embedder' | 'semanticRatio'>;
  embedders: readonly string[];
  onChange(part: { embedder?: string; semanticRatio?: number }): void;
}

/** The share of meaning in a search. */
export function Meaning({ state, embedders, onChange }: MeaningProps): JSX.Element {
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

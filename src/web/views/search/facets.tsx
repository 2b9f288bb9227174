import { useState } from 'preact/hooks';
import { count } from '../../format.ts';
import { useLoaded } from '../../hooks.ts';
import { CheckList } from '../../parts/check-list.tsx';
import { Problem } from '../../parts/problem.tsx';
import { TextField } from '../../parts/text-field.tsx';
import type { SearchState } from '../../search-request.ts';

/** Returns the counts of the facet values that begin with a text. */
export type FindValues = (
  facet: string,
  text: string,
  signal: AbortSignal,
) => Promise<Readonly<Record<string, number>>>;

interface FacetsProps {
  counts: Readonly<Record<string, Readonly<Record<string, number>>>>;
  chosen: SearchState['chosen'];
  onChoose(chosen: SearchState['chosen']): void;
  /** null: facet search is off. */
  onFind: FindValues | null;
  /** Changes with the search. */
  searched: string;
  /** Whether the values of a facet may be the first by name instead of the most frequent. */
  isCut(facet: string, values: number): boolean;
}

/** Values of a facet that are shown before a click on "All". */
const VALUES_SHOWN = 6;
/** Facets whose most frequent values are asked for with each search; others need a click. */
const FACETS_ASKED = 12;

export function Facets(props: FacetsProps): JSX.Element {
  const { counts, chosen, onChoose, onFind, searched, isCut } = props;
  return (
    <>
      {Object.entries(counts)
        .filter(([, values]) => Object.keys(values).length > 0)
        .map(([facet, values], position) => (
          <Facet
            key={facet}
            facet={facet}
            values={values}
            chosen={chosen[facet] ?? []}
            onChoose={(selected) => onChoose({ ...chosen, [facet]: selected })}
            onFind={onFind}
            searched={searched}
            isCut={isCut(facet, Object.keys(values).length)}
            isAsked={position < FACETS_ASKED}
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
  onFind: FindValues | null;
  searched: string;
  /** Whether the values may be the first by name instead of the most frequent. */
  isCut: boolean;
  /** Whether the most frequent values are asked for without a click. */
  isAsked: boolean;
}

function Facet(props: FacetProps): JSX.Element {
  const { facet, values: counted, chosen, onChoose, onFind, searched, isCut } = props;
  const [all, setAll] = useState(false);
  const [sought, setSought] = useState('');
  const seeking = all && sought !== '';
  const [isAsked, setAsked] = useState(props.isAsked);
  const asks = onFind !== null && (seeking || (isCut && isAsked));
  const found = useLoaded(
    (signal) => (asks ? onFind!(facet, seeking ? sought : '', signal) : Promise.resolve(null)),
    [facet, asks, seeking, sought, searched],
  );
  const isByName = isCut && (!isAsked || onFind === null || found.error !== null);
  const values = (asks ? found.value : null) ?? counted;
  const names = namesOf(values, chosen, seeking);
  const shown = all ? names : names.slice(0, Math.max(VALUES_SHOWN, chosen.length));
  return (
    <fieldset class="facet">
      <legend>{facet}</legend>
      {all && onFind !== null ? (
        <>
          <TextField label="Find a value" type="search" value={sought} onInput={setSought} />
          <Problem error={isByName ? null : found.error} />
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
          {all
            ? 'Fewer values'
            : `${isByName ? 'The first' : isCut ? 'The most frequent' : 'All'} ${names.length} values`}
          <span class="unseen"> of {facet}</span>
        </button>
      ) : null}
      {isByName ? (
        <ByName facet={facet} onAsk={isAsked || onFind === null ? null : () => setAsked(true)} />
      ) : null}
    </fieldset>
  );
}

/** The chosen values first, then the most frequent ones. */
function namesOf(
  values: Readonly<Record<string, number>>,
  chosen: readonly string[],
  seeking: boolean,
): string[] {
  const names = new Set([...Object.keys(values), ...(seeking ? [] : chosen)]);
  return [...names].sort(
    (a, b) =>
      Number(chosen.includes(b)) - Number(chosen.includes(a)) ||
      (values[b] ?? 0) - (values[a] ?? 0),
  );
}

/**
 * Says that the most frequent values may be missing.
 * @param props.onAsk asks for them; null: facet search is off
 */
function ByName({ facet, onAsk }: { facet: string; onAsk: (() => void) | null }): JSX.Element {
  return (
    <p class="note">
      These are the first values by name
      {onAsk === null ? ': facet search is off.' : '. '}
      {onAsk === null ? null : (
        <button type="button" class="quiet" onClick={onAsk}>
          Show the most frequent<span class="unseen"> values of {facet}</span>
        </button>
      )}
    </p>
  );
}

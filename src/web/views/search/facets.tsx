import type { JSX } from 'preact';
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
  onFind: FindValues;
  /** Whether the values of a facet are not the most frequent ones, but the first by name. */
  isCut(facet: string, values: number): boolean;
  /** Returns the values in the order of their number from now on. */
  onByCount(): void;
}

/** Values of a facet that are shown before a click on "All". */
const VALUES_SHOWN = 6;

export function Facets(props: FacetsProps): JSX.Element {
  const { counts, chosen, onChoose, onFind, isCut, onByCount } = props;
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
            onByCount={isCut(facet, Object.keys(values).length) ? onByCount : null}
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
  /** null: the values are the most frequent ones. */
  onByCount: (() => void) | null;
}

function Facet(props: FacetProps): JSX.Element {
  const { facet, values: counted, chosen, onChoose, onFind, onByCount } = props;
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
          {all
            ? 'Fewer values'
            : `${onByCount === null ? 'All' : 'The first'} ${names.length} values`}
          <span class="unseen"> of {facet}</span>
        </button>
      ) : null}
      {onByCount === null ? null : <Cut facet={facet} onByCount={onByCount} />}
    </fieldset>
  );
}

/** Says that the most frequent values may be missing. */
function Cut({ facet, onByCount }: { facet: string; onByCount(): void }): JSX.Element {
  return (
    <p class="note">
      These are the first values by name.{' '}
      <button type="button" class="quiet" onClick={onByCount}>
        Show frequent values<span class="unseen"> of {facet}</span>
      </button>
    </p>
  );
}

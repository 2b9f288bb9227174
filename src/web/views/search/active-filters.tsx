import { Icon } from '../../parts/icon.tsx';
import type { SearchState } from '../../search-request.ts';

interface Props {
  state: SearchState;
  onChange(part: Partial<SearchState>): void;
}

/** The choices in force. A click removes one. */
export function ActiveFilters({ state, onChange }: Props): JSX.Element | null {
  const { chosen, ranges, filter } = state;
  const values = Object.entries(chosen).flatMap(([facet, some]) =>
    some.map((value) => ({
      text: `${facet}: ${value}`,
      without: { chosen: { ...chosen, [facet]: some.filter((one) => one !== value) } },
    })),
  );
  const within = Object.entries(ranges).map(([facet, { min, max }]) => {
    const { [facet]: _, ...others } = ranges;
    return { text: `${facet}: ${min ?? '…'} to ${max ?? '…'}`, without: { ranges: others } };
  });
  const written = filter === '' ? [] : [{ text: filter, without: { filter: '' } }];
  const all = [...values, ...within, ...written];
  if (all.length === 0) return null;
  return (
    <ul class="chips" aria-label="Choices">
      {all.map(({ text, without }) => (
        <li key={text}>
          <button type="button" onClick={() => onChange(without)}>
            <span class="unseen">Remove </span>
            {text} <Icon name="close" />
          </button>
        </li>
      ))}
      <li>
        <button
          type="button"
          class="quiet"
          onClick={() => onChange({ chosen: {}, ranges: {}, filter: '' })}
        >
          Remove all
        </button>
      </li>
    </ul>
  );
}

import { useEffect, useState } from 'preact/hooks';
import { Icon } from '../parts/icon.tsx';
import { TextField } from '../parts/text-field.tsx';
import { FilterBuilder } from './filter-builder.tsx';

interface Props {
  uid: string;
  filter: string;
  onFilter(filter: string): void;
}

/** A filter as text and as conditions. It applies when you press Enter. */
export function FilterBar({ uid, filter, onFilter }: Props): JSX.Element {
  const [typed, setTyped] = useState(filter);
  const [building, setBuilding] = useState(false);
  useEffect(() => setTyped(filter), [filter]);
  const type = (text: string): void => {
    setTyped(text);
    // An emptied field needs no Enter.
    if (text === '' && filter !== '') onFilter('');
  };
  return (
    <form
      class="filter"
      onSubmit={(event) => {
        event.preventDefault();
        onFilter(typed.trim());
      }}
    >
      <div class="row long">
        <TextField
          label="Filter"
          hint="For example year > 1900 AND genres = novel. Attributes must be filterable."
          value={typed}
          onInput={type}
        />
        <button type="button" aria-expanded={building} onClick={() => setBuilding(!building)}>
          Conditions
        </button>
        <button type="submit">
          <Icon name="filter" />
          Apply
        </button>
      </div>
      {building ? <FilterBuilder uid={uid} text={typed} onText={type} /> : null}
    </form>
  );
}

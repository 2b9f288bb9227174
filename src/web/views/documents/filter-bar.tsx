import { useEffect, useState } from 'preact/hooks';
import { Icon } from '../../parts/icon.tsx';
import { TextField } from '../../parts/text-field.tsx';

interface Props {
  filter: string;
  onFilter(filter: string): void;
}

/** Filters the table when you press Enter. */
export function FilterBar({ filter, onFilter }: Props): JSX.Element {
  const [typed, setTyped] = useState(filter);
  useEffect(() => setTyped(filter), [filter]);
  return (
    <form
      class="row long"
      onSubmit={(event) => {
        event.preventDefault();
        onFilter(typed.trim());
      }}
    >
      <TextField
        label="Filter"
        hint="For example year > 1900 AND genres = novel. Attributes must be filterable."
        value={typed}
        onInput={(text) => {
          setTyped(text);
          // An emptied field needs no Enter.
          if (text === '') onFilter('');
        }}
      />
      <button type="submit">
        <Icon name="filter" />
        Apply
      </button>
    </form>
  );
}

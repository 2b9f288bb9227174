import { useState } from 'preact/hooks';
import { CheckList } from '../../parts/check-list.tsx';
import { Menu } from '../../parts/menu.tsx';

/** Columns that are shown until somebody chooses. */
const FIRST = 6;

function storedName(uid: string): string {
  return `gannet-columns:${uid}`;
}

function stored(uid: string): readonly string[] | null {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(storedName(uid)) ?? 'null');
    return Array.isArray(value) ? value.map(String) : null;
  } catch {
    return null;
  }
}

export interface ChosenColumns {
  readonly columns: readonly string[];
  choose(columns: readonly string[]): void;
}

/**
 * The columns of the table, which the browser remembers for each index.
 * @param fields of the documents, the primary key first
 */
export function useColumns(uid: string, fields: readonly string[]): ChosenColumns {
  const [chosen, setChosen] = useState(() => stored(uid));
  return {
    columns:
      chosen === null ? fields.slice(0, FIRST) : fields.filter((one) => chosen.includes(one)),
    choose: (columns) => {
      localStorage.setItem(storedName(uid), JSON.stringify(columns));
      setChosen(columns);
    },
  };
}

interface Props extends ChosenColumns {
  fields: readonly string[];
}

export function ColumnChoice({ fields, columns, choose }: Props): JSX.Element {
  return (
    <Menu title="Columns">
      <fieldset class="facet">
        <legend class="unseen">Columns of the table</legend>
        <CheckList
          values={fields}
          chosen={columns}
          onChoose={choose}
          text={(name) => <span>{name}</span>}
        />
      </fieldset>
    </Menu>
  );
}

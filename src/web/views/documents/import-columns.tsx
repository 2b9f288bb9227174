import type { Column, ColumnType } from '../../import/columns.ts';
import { Table, type TableColumn } from '../../parts/table.tsx';

/** Fields that are shown. Further ones keep their names. */
export const FIELDS_MAX = 200;

/** A name that two fields have; null: all differ. */
export function repeatedName(columns: readonly Column[]): string | null {
  const names = columns.filter(({ kept }) => kept).map(({ name }) => name);
  return names.find((name, at) => names.indexOf(name) !== at) ?? null;
}

interface Props {
  isCsv: boolean;
  columns: readonly Column[];
  onChange(columns: readonly Column[]): void;
}

/** The fields of the file with the values of its first rows: which are kept, and their names. */
export function ImportColumns({ isCsv, columns, onChange }: Props): JSX.Element {
  const samples = Math.max(0, ...columns.map((column) => column.samples.length));
  const change = (at: number, part: Partial<Column>): void =>
    onChange(
      columns.map((column, position) => (position === at ? { ...column, ...part } : column)),
    );
  return (
    <>
      <h3>Fields and first rows</h3>
      <Table
        label="Fields and first rows"
        class="table import"
        columns={tableColumns(isCsv, samples, change)}
        rows={columns.slice(0, FIELDS_MAX)}
        keyOf={(_, at) => at}
        rowClass={({ kept }) => (kept ? '' : 'other')}
      />
      {columns.length > FIELDS_MAX ? (
        <p class="note">{columns.length - FIELDS_MAX} further fields keep their names.</p>
      ) : null}
    </>
  );
}

const TYPES: readonly ColumnType[] = ['text', 'number', 'boolean'];

function tableColumns(
  isCsv: boolean,
  samples: number,
  change: (at: number, part: Partial<Column>) => void,
): readonly TableColumn<Column>[] {
  return [
    {
      title: 'Use',
      cell: ({ source, kept }, at) => (
        <input
          type="checkbox"
          aria-label={`Use ${source}`}
          checked={kept}
          onChange={(event) => change(at, { kept: event.currentTarget.checked })}
        />
      ),
    },
    { title: 'In the file', names: true, cell: ({ source }) => source },
    {
      title: 'Name in the index',
      cell: ({ source, name, kept }, at) => (
        <input
          type="text"
          aria-label={`Name of ${source}`}
          value={name}
          disabled={!kept}
          required
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => change(at, { name: event.currentTarget.value })}
        />
      ),
    },
    {
      title: 'Type',
      cell: ({ source, type, kept, seen }, at) =>
        isCsv ? (
          <select
            aria-label={`Type of ${source}`}
            value={type}
            disabled={!kept}
            onChange={(event) => change(at, { type: event.currentTarget.value as ColumnType })}
          >
            {TYPES.map((one) => (
              <option key={one} value={one} selected={one === type}>
                {one}
              </option>
            ))}
          </select>
        ) : (
          seen
        ),
    },
    ...Array.from({ length: samples }, (_, row): TableColumn<Column> => ({
      title: `Row ${row + 1}`,
      cell: (column) => <span class="clip">{(column.samples[row] ?? '').slice(0, 200)}</span>,
    })),
  ];
}

import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { Column, ColumnType } from '../../import/columns.ts';

/** Fields that are shown. Further ones keep their names. */
const FIELDS_MAX = 200;

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
  const id = useId();
  const samples = Math.max(0, ...columns.map((column) => column.samples.length));
  const change = (at: number, part: Partial<Column>): void =>
    onChange(
      columns.map((column, position) => (position === at ? { ...column, ...part } : column)),
    );
  return (
    <>
      <h3 id={id}>Fields and first rows</h3>
      <div class="wide table import" tabIndex={0} role="region" aria-labelledby={id}>
        <table>
          <thead>
            <tr>
              <th scope="col">Use</th>
              <th scope="col">In the file</th>
              <th scope="col">Name in the index</th>
              <th scope="col">Type</th>
              {Array.from({ length: samples }, (_, at) => (
                <th key={at} scope="col">
                  Row {at + 1}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {columns.slice(0, FIELDS_MAX).map((column, at) => (
              <ColumnRow
                key={at}
                isCsv={isCsv}
                column={column}
                samples={samples}
                onChange={(part) => change(at, part)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {columns.length > FIELDS_MAX ? (
        <p class="note">{columns.length - FIELDS_MAX} further fields keep their names.</p>
      ) : null}
    </>
  );
}

const TYPES: readonly ColumnType[] = ['text', 'number', 'boolean'];

interface RowProps {
  isCsv: boolean;
  column: Column;
  samples: number;
  onChange(part: Partial<Column>): void;
}

function ColumnRow({ isCsv, column, samples, onChange }: RowProps): JSX.Element {
  const { source, name, kept, type, seen } = column;
  return (
    <tr class={kept ? '' : 'other'}>
      <td>
        <input
          type="checkbox"
          aria-label={`Use ${source}`}
          checked={kept}
          onChange={(event) => onChange({ kept: event.currentTarget.checked })}
        />
      </td>
      <th scope="row">{source}</th>
      <td>
        <input
          type="text"
          aria-label={`Name of ${source}`}
          value={name}
          disabled={!kept}
          required
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onChange({ name: event.currentTarget.value })}
        />
      </td>
      <td>
        {isCsv ? (
          <select
            aria-label={`Type of ${source}`}
            value={type}
            disabled={!kept}
            onChange={(event) => onChange({ type: event.currentTarget.value as ColumnType })}
          >
            {TYPES.map((one) => (
              <option key={one} value={one} selected={one === type}>
                {one}
              </option>
            ))}
          </select>
        ) : (
          seen
        )}
      </td>
      {Array.from({ length: samples }, (_, at) => (
        <td key={at}>
          <span class="clip">{(column.samples[at] ?? '').slice(0, 200)}</span>
        </td>
      ))}
    </tr>
  );
}

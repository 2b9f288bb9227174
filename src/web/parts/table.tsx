/** Tables, and the buttons of a row. */
import type { ComponentChildren } from 'preact';

export interface TableColumn<Row> {
  readonly title: string;
  /** Whether the cells are numbers, which end below each other. */
  readonly number?: boolean;
  /** Whether only screen readers see the title. */
  readonly unseen?: boolean;
  /** The first column names the row, unless another one does. */
  readonly names?: boolean;
  cell(row: Row, position: number): ComponentChildren;
}

interface TableProps<Row> {
  label: string;
  columns: readonly TableColumn<Row>[];
  rows: readonly Row[];
  keyOf(row: Row, position: number): string | number;
  /** Further classes of the frame. */
  class?: string;
  rowClass?(row: Row): string;
}

/** A table that scrolls if it is too wide. On telephones the style makes a card of each row. */
export function Table<Row>(props: TableProps<Row>): JSX.Element {
  const { label, columns, rows, keyOf, class: more = '', rowClass } = props;
  const naming = columns.find(({ names }) => names) ?? columns[0];
  return (
    <div class={`card wide ${more}`} tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, number, unseen }) => (
              <th key={title} scope="col" class={number ? 'number' : ''}>
                {unseen ? <span class="unseen">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, position) => (
            <tr key={keyOf(row, position)} class={rowClass?.(row)}>
              {columns.map((column) => {
                const children = column.cell(row, position);
                return column === naming ? (
                  <th key={column.title} scope="row" class={column.number ? 'number' : ''}>
                    {children}
                  </th>
                ) : (
                  <td
                    key={column.title}
                    class={column.number ? 'number' : ''}
                    data-label={column.unseen ? undefined : column.title}
                  >
                    {children}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What a button or a link of a row does. */
export interface RowAction {
  readonly label: string;
  readonly href?: string;
  readonly danger?: boolean;
  run?(): void;
}

/** @param of the name of the row, which screen readers say, too */
export function RowActions(props: { of: string; actions: readonly RowAction[] }): JSX.Element {
  return (
    <span class="buttons">
      {props.actions.map(({ label, href, danger = false, run }) =>
        href === undefined ? (
          <button key={label} type="button" class={danger ? 'danger' : 'quiet'} onClick={run}>
            {label}
            <span class="unseen"> {props.of}</span>
          </button>
        ) : (
          <a key={label} href={href}>
            {label}
            <span class="unseen"> {props.of}</span>
          </a>
        ),
      )}
    </span>
  );
}

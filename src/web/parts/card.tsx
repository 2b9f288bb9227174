import type { ComponentChildren } from 'preact';
import { RowActions, type RowAction } from './table.tsx';

interface CardsProps<Row> {
  label: string;
  rows: readonly Row[];
  nameOf(row: Row): string;
  children(row: Row): ComponentChildren;
  actions(row: Row): readonly RowAction[];
}

/** A card for each of several things. */
export function Cards<Row>(props: CardsProps<Row>): JSX.Element {
  const { label, rows, nameOf, children, actions } = props;
  return (
    <ul class="grid" aria-label={label}>
      {rows.map((row) => (
        <li key={nameOf(row)}>
          <article class="panel">
            <h2>{nameOf(row)}</h2>
            {children(row)}
            <RowActions of={nameOf(row)} actions={actions(row)} />
          </article>
        </li>
      ))}
    </ul>
  );
}

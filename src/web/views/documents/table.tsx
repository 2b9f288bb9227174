import type { TargetedKeyboardEvent } from 'preact';
import { useState } from 'preact/hooks';
import { changeWords } from '../../document-changes.ts';
import { RowActions, Table } from '../../parts/table.tsx';
import { Cell, Value } from './cell.tsx';
import type { Edits, Row } from './edits.ts';

interface Props {
  edits: Edits;
  columns: readonly string[];
  primaryKey: string | null;
  /** Where a document is edited. */
  hrefOf(id: string): string;
}

/** Values become fields where they stand. Vectors are not shown, and the primary key stays. */
export function DocumentTable({ edits, columns, primaryKey, hrefOf }: Props): JSX.Element {
  const { rows, change, remove } = edits;
  const editable = columns.filter((name) => name !== primaryKey && name !== '_vectors');
  const [focused, setFocused] = useState('');
  const cells = rows.flatMap(({ id }) =>
    id === null ? [] : editable.map((field) => changeWords(id, field)),
  );
  const reached = cells.includes(focused) ? focused : cells[0];
  const cell = (title: string, { id, fields }: Row): JSX.Element => {
    const json = fields.get(title);
    if (id === null || !editable.includes(title)) return <Value json={json} />;
    const label = changeWords(id, title);
    return (
      <span class="editable" onFocusIn={() => setFocused(label)}>
        <Cell
          label={label}
          json={json}
          column={valuesOf(rows, title)}
          reached={label === reached}
          onSave={(value) => change(id, title, value)}
        />
      </span>
    );
  };
  return (
    <div onKeyDown={step}>
      <Table
        label="Table of documents"
        class="table"
        rows={rows}
        keyOf={({ id }, position) => id ?? position}
        columns={[
          ...columns.map((title) => ({
            title,
            number: valuesOf(rows, title).some((json) => /^[-\d]/.test(json)),
            cell: (row: Row) => cell(title, row),
          })),
          {
            title: 'Actions',
            cell: ({ id }) =>
              id === null ? null : (
                <RowActions
                  of={id}
                  actions={[
                    { label: 'Edit', href: hrefOf(id) },
                    { label: 'Delete', danger: true, run: () => remove(id) },
                  ]}
                />
              ),
          },
        ]}
      />
    </div>
  );
}

function valuesOf(rows: readonly Row[], name: string): string[] {
  return rows.flatMap(({ fields }) => fields.get(name) ?? []);
}

const STEPS: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Arrow keys go from value to value. */
function step(event: TargetedKeyboardEvent<HTMLElement>): void {
  const by = STEPS[event.key];
  const from = (event.target as Element).closest('button.value')?.closest('td');
  if (by === undefined || from == null || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  const { rows } = from.closest('table')!;
  const row = rows.item(from.closest('tr')!.rowIndex + by[0]);
  const to = row?.cells.item(from.cellIndex + by[1]);
  to?.querySelector<HTMLElement>('button.value')?.focus();
}

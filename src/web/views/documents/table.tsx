import { RowActions, Table } from '../../parts/table.tsx';

type Document = Readonly<Record<string, unknown>>;

interface Props {
  documents: readonly Document[];
  columns: readonly string[];
  primaryKey: string | null;
  /** Where a document is edited. */
  hrefOf(id: string): string;
}

export function DocumentTable({ documents, columns, primaryKey, hrefOf }: Props): JSX.Element {
  const idOf = (document: Document): string | null => {
    const id = primaryKey === null ? undefined : document[primaryKey];
    return id === undefined ? null : String(id);
  };
  return (
    <Table
      label="Table of documents"
      class="table"
      rows={documents}
      keyOf={(document, position) => idOf(document) ?? position}
      columns={[
        ...columns.map((title) => ({
          title,
          number: documents.some((document) => typeof document[title] === 'number'),
          cell: (document: Document) => <Value value={document[title]} />,
        })),
        {
          title: 'Actions',
          cell: (document) => {
            const id = idOf(document);
            return id === null ? null : (
              <RowActions of={id} actions={[{ label: 'Edit', href: hrefOf(id) }]} />
            );
          },
        },
      ]}
    />
  );
}

/** Maximum number of characters of a value; the style shows as many as fit. */
const CHARACTERS_MAX = 300;

function Value({ value }: { value: unknown }): JSX.Element | null {
  if (value === undefined) return null;
  if (typeof value === 'number') return <>{String(value)}</>;
  const isText = typeof value === 'string';
  const text = isText ? value : listed(value);
  return <span class={isText ? 'clip' : 'clip other'}>{text.slice(0, CHARACTERS_MAX)}</span>;
}

/** A list of texts with commas; everything else as JSON. */
function listed(value: unknown): string {
  const isPlain = Array.isArray(value) && value.every((one) => typeof one === 'string');
  return isPlain ? value.join(', ') : JSON.stringify(value);
}

import type { JSX } from 'preact';

type Document = Readonly<Record<string, unknown>>;

interface Props {
  documents: readonly Document[];
  columns: readonly string[];
  primaryKey: string | null;
  /** Where a document is edited. */
  hrefOf(id: string): string;
}

export function DocumentTable({ documents, columns, primaryKey, hrefOf }: Props): JSX.Element {
  return (
    <div class="wide table" tabIndex={0} role="region" aria-label="Table of documents">
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
            <th scope="col">Actions</th>
          </tr>
        </thead>
        <tbody>
          {documents.map((document, position) => {
            const id = primaryKey === null ? undefined : document[primaryKey];
            return (
              <tr key={id === undefined ? position : String(id)}>
                {columns.map((column) => (
                  <Cell key={column} value={document[column]} />
                ))}
                <td>
                  {id === undefined ? null : (
                    <a href={hrefOf(String(id))}>
                      Edit<span class="unseen"> {String(id)}</span>
                    </a>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Maximum number of characters of a value; the style shows as many as fit. */
const CHARACTERS_MAX = 300;

function Cell({ value }: { value: unknown }): JSX.Element {
  if (value === undefined) return <td />;
  if (typeof value === 'number') return <td class="number">{String(value)}</td>;
  const isText = typeof value === 'string';
  const text = isText ? value : listed(value);
  return (
    <td class={isText ? '' : 'other'}>
      <span class="clip">{text.slice(0, CHARACTERS_MAX)}</span>
    </td>
  );
}

/** A list of texts with commas; everything else as JSON. */
function listed(value: unknown): string {
  const isPlain = Array.isArray(value) && value.every((one) => typeof one === 'string');
  return isPlain ? value.join(', ') : JSON.stringify(value);
}

import type { ComponentChildren } from 'preact';
import { download } from '../../download.ts';
import { counted } from '../../format.ts';
import { badRowsFile, type BadRow, type Mapping } from '../../import/columns.ts';

const SHOWN = 20;

interface Props {
  title: string;
  rows: readonly BadRow[];
  /** The number of bad rows, of which `rows` may be the first. */
  all?: number;
  /** Given: the rows can be downloaded. */
  mapping?: Mapping;
  children?: ComponentChildren;
}

/** Rows that cannot become documents, and why. */
export function BadRows({ title, rows, all, mapping, children }: Props): JSX.Element | null {
  if (rows.length === 0) return null;
  const more = (all ?? rows.length) - SHOWN;
  return (
    <section class="warning" aria-label="Bad rows">
      <h3>{title}</h3>
      <ul>
        {rows.slice(0, SHOWN).map(({ line, reason, text }) => (
          <li key={line}>
            Line {line}: {reason} <code class="clip">{text.slice(0, 200)}</code>
          </li>
        ))}
      </ul>
      {children}
      {more > 0 ? <p>And {counted(more, 'further row')}.</p> : null}
      {mapping === undefined ? null : (
        <p class="buttons">
          <button
            type="button"
            onClick={() => {
              const file = badRowsFile(mapping, rows);
              download(new Blob([file.text]), file.name);
            }}
          >
            Download {rows.length === 1 ? 'this row' : `these ${counted(rows.length, 'row')}`}
          </button>
          <span>Mend the file and add it like any other.</span>
        </p>
      )}
    </section>
  );
}

import type { ComponentChildren } from 'preact';
import { counted } from '../../format.ts';
import type { BadRow, Mapping, Mended } from '../../import/columns.ts';
import { RowMender } from './row-mender.tsx';

const SHOWN = 20;

interface Props {
  title: string;
  /** Also those that are mended by now. */
  rows: readonly BadRow[];
  /** The number of bad rows, of which `rows` may be the first. */
  all?: number;
  mapping: Mapping;
  mended: Mended;
  onMend(mended: Mended): void;
  children?: ComponentChildren;
}

/** Rows that cannot become documents, and why. */
export function BadRows(props: Props): JSX.Element | null {
  const { title, rows, all, mapping, mended, onMend, children } = props;
  if (rows.length === 0) return null;
  const more = (all ?? rows.length) - SHOWN;
  return (
    <section class="warning" aria-label="Bad rows">
      <h3>{title}</h3>
      <ul>
        {rows.slice(0, SHOWN).map((row) => (
          <RowMender
            key={row.position}
            row={row}
            mapping={mapping}
            before={mended.get(row.position)}
            onMend={(text) => {
              const others = [...mended].filter(([position]) => position !== row.position);
              onMend(new Map(text === undefined ? others : [...others, [row.position, text]]));
            }}
          />
        ))}
      </ul>
      {children}
      {more > 0 ? <p>And {counted(more, 'further row')}.</p> : null}
    </section>
  );
}

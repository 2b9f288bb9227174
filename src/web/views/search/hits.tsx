import { useState } from 'preact/hooks';
import { viewHref } from '../../address.ts';
import { indentJson, percent } from '../../format.ts';
import { arranged, isAddress, storedFields, type Layouted } from '../../hit-fields.ts';
import type { IndexEntry } from '../../indexes.ts';
import type { Marks } from '../../marks.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { useDragOrder } from '../../parts/drag-order.ts';
import { Icon } from '../../parts/icon.tsx';
import { JsonValue } from '../../parts/json-value.tsx';
import { Table } from '../../parts/table.tsx';
import type { Hit } from '../../search-request.ts';
import { useSession } from '../../session.ts';
import { HitMenu, PinBadge, type Curation } from './curate.tsx';
import { mayLoadImages, type Display } from './display.ts';
import { Reasons, Why } from './why.tsx';

interface HitsProps {
  hits: readonly Hit[];
  /** Position of the first hit, from 1. */
  first: number;
  index: IndexEntry;
  marks: Marks;
  display: Display;
  /** Given: hits can be pinned, moved and hidden. */
  curation?: Curation | null;
  onExplain(): void;
}

interface HitProps extends Omit<HitsProps, 'hits' | 'first'> {
  hit: Hit;
  /** Position among all hits, from 0. */
  at: number;
}

export function Hits(props: HitsProps): JSX.Element {
  const { hits, first, index, display, curation = null } = props;
  const ids = hits.map((hit, position) => String(hit[index.primaryKey ?? ''] ?? position));
  const drag = useDragOrder(ids, (from, to) =>
    curation?.put(ids[from]!, nameOf(hits[from]!, index), first - 1 + to),
  );
  if (display.layout === 'table') return <HitTable {...props} />;
  const Row = display.layout === 'compact' ? CompactHit : ComfortableHit;
  return (
    <ol class={`card list hits ${display.layout}`} start={first}>
      {hits.map((hit, position) => (
        <li
          key={ids[position]}
          class={drag.dragged === ids[position] ? 'dragged' : ''}
          {...drag.item(position)}
        >
          {curation?.idOf(hit) ? (
            <span class="grip" title="Drag to move" {...drag.handle(ids[position]!)}>
              <Icon name="grip" />
            </span>
          ) : null}
          <Row {...props} hit={hit} at={first - 1 + position} />
        </li>
      ))}
    </ol>
  );
}

function nameOf(hit: Hit, { primaryKey }: IndexEntry): string {
  const { title } = arranged(hit, primaryKey, null);
  return title === undefined ? 'Document' : String(hit[title]);
}

/** What can be done with a hit, and whether it is pinned. */
function HitTools(props: HitProps): JSX.Element {
  const { hit, index, curation, at } = props;
  return (
    <>
      <PinBadge curation={curation} hit={hit} />
      <DetailsButton {...props} />
      <HitMenu curation={curation} hit={hit} name={nameOf(hit, index)} at={at} />
    </>
  );
}

/** A field of a hit, with what matches marked. */
function Value({ hit, name, marks }: { hit: Hit; name: string; marks: Marks }): JSX.Element {
  return <JsonValue value={hit._formatted?.[name] ?? hit[name]} marks={marks} />;
}

function Score({ hit }: { hit: Hit }): JSX.Element | null {
  const { _rankingScore: score } = hit;
  return score === undefined ? null : (
    <span class="score" title="Ranking score">
      {percent(score)}
    </span>
  );
}

function Image({ hit, display: { image } }: { hit: Hit; display: Display }): JSX.Element | null {
  const address = hit[image];
  if (image === '' || !mayLoadImages() || !isAddress(address)) return null;
  return <img class="thumb" src={address} alt="" loading="lazy" referrerpolicy="no-referrer" />;
}

/** Short fields on a line. */
function Line({
  hit,
  marks,
  names,
}: {
  hit: Hit;
  marks: Marks;
  names: readonly string[];
}): JSX.Element {
  return (
    <span class="line">
      {names.map((name) => (
        <span key={name}>
          <span class="count">{name}</span> <Value hit={hit} name={name} marks={marks} />
        </span>
      ))}
    </span>
  );
}

function useArranged({ hit, index, display }: HitProps): Layouted {
  return arranged(hit, index.primaryKey, display.fields);
}

function ComfortableHit(props: HitProps): JSX.Element {
  const { hit, marks, display, onExplain } = props;
  const { title, line, text } = useArranged(props);
  return (
    <article>
      <Image hit={hit} display={display} />
      <div class="hit grow">
        <header>
          {title === undefined ? null : (
            <h3>
              <Value hit={hit} name={title} marks={marks} />
            </h3>
          )}
          <Score hit={hit} />
          <HitTools {...props} />
        </header>
        {text === undefined ? null : (
          <div class="snippet">
            <Value hit={hit} name={text} marks={marks} />
          </div>
        )}
        <Line hit={hit} marks={marks} names={line} />
        <Why hit={hit} onExplain={onExplain} />
      </div>
    </article>
  );
}

function CompactHit(props: HitProps): JSX.Element {
  const { hit, marks, display } = props;
  const { title, line } = useArranged(props);
  return (
    <article>
      <Image hit={hit} display={display} />
      <h3>{title === undefined ? '' : <Value hit={hit} name={title} marks={marks} />}</h3>
      <Line hit={hit} marks={marks} names={line} />
      <Score hit={hit} />
      <HitTools {...props} />
    </article>
  );
}

function HitTable(props: HitsProps): JSX.Element {
  const { hits, first, index, marks, display } = props;
  const sample = hits[0];
  if (sample === undefined) return <></>;
  const { title } = arranged(sample, index.primaryKey, null);
  const names = (display.fields ?? storedFields(sample)).filter((name) => name !== title);
  return (
    <Table
      label="Results as a table"
      rows={hits}
      keyOf={(hit, position) => `${String(hit[index.primaryKey ?? ''] ?? '')}:${position}`}
      columns={[
        { title: '#', number: true, cell: (_, position) => first + position },
        {
          title: title ?? 'document',
          names: true,
          cell: (hit) =>
            title === undefined ? null : <Value hit={hit} name={title} marks={marks} />,
        },
        ...names.map((name) => ({
          title: name,
          cell: (hit: Hit) => (
            <div class="cell">
              {name in hit ? <Value hit={hit} name={name} marks={marks} /> : null}
            </div>
          ),
        })),
        { title: 'Score', number: true, cell: (hit) => <Score hit={hit} /> },
        {
          title: 'Details',
          unseen: true,
          cell: (hit, position) => (
            <span class="buttons">
              <HitTools {...props} hit={hit} at={first - 1 + position} />
            </span>
          ),
        },
      ]}
    />
  );
}

function Fields({ hit, marks }: { hit: Hit; marks: Marks }): JSX.Element {
  return (
    <dl>
      {storedFields(hit).map((name) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Value hit={hit} name={name} marks={marks} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The stored document of a hit, as JSON. */
function jsonOf(hit: Hit): string {
  const stored = Object.fromEntries(storedFields(hit).map((name) => [name, hit[name]]));
  return indentJson(JSON.stringify(stored));
}

function EditLink({ hit, index }: Pick<HitProps, 'hit' | 'index'>): JSX.Element | null {
  const { rights } = useSession();
  const id = index.primaryKey === null ? undefined : hit[index.primaryKey];
  return id !== undefined && rights.has('indexes') ? (
    <a class="button" href={viewHref('documents', index.uid, { id: String(id) })}>
      Edit
    </a>
  ) : null;
}

/** Opens everything about a hit. */
function DetailsButton(props: HitProps): JSX.Element {
  const { hit, index, marks, onExplain } = props;
  const [open, setOpen] = useState(false);
  const name = nameOf(hit, index);
  return (
    <>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          setOpen(true);
          onExplain();
        }}
      >
        Details<span class="unseen"> of {name}</span>
      </button>
      {open ? (
        <Dialog title={name} onClose={() => setOpen(false)}>
          <Fields hit={hit} marks={marks} />
          <EditLink {...props} />
          <h3>Why is this here?</h3>
          <Reasons hit={hit} />
          <details>
            <summary>As JSON</summary>
            <pre tabIndex={0}>{jsonOf(hit)}</pre>
          </details>
        </Dialog>
      ) : null}
    </>
  );
}

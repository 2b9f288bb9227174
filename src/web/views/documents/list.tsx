import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { replaceAddress, useAddress, viewHref } from '../../address.ts';
import { fetchDocuments } from '../../documents.ts';
import { count, counted } from '../../format.ts';
import { useAction, useLoaded } from '../../hooks.ts';
import type { IndexEntry } from '../../indexes.ts';
import { useChanges } from '../../notices.ts';
import { Empty } from '../../parts/empty.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Outcome } from '../../parts/outcome.tsx';
import { Pages } from '../../parts/pages.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { useSession } from '../../session.ts';
import { useIndexes } from '../../shell/indexes-context.tsx';
import { isCommand } from '../../shell/slash.ts';
import { FilterBar } from '../filter-bar.tsx';
import { ColumnChoice, useColumns } from './columns.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { Editor } from './editor.tsx';
import { rowOf, useEdits, type Edits, type Row } from './edits.ts';
import { ExportMenu } from './export-menu.tsx';
import { DocumentTable } from './table.tsx';

const PAGE = 20;

export function DocumentList({ index }: { index: IndexEntry }): JSX.Element {
  const { uid, primaryKey } = index;
  const { client } = useSession();
  const { query } = useAddress();
  const changes = useChanges();
  const page = Math.max(1, Number(query.page ?? 1) || 1);
  const filter = query.filter ?? '';
  const loaded = useLoaded(
    (signal) =>
      fetchDocuments(client, uid, { filter, offset: (page - 1) * PAGE, limit: PAGE }, signal),
    [client, uid, page, filter, changes],
  );
  const show = (part: Record<string, string>): void =>
    replaceAddress(viewHref('documents', uid, { filter, ...part }));
  const { total = 0 } = loaded.value ?? {};
  const rows = useMemo(
    () => (loaded.value?.results ?? []).map((document) => rowOf(document, primaryKey)),
    [loaded.value, primaryKey],
  );
  const edits = useEdits(index, rows);
  const fields = useFields(index, rows);
  const table = useColumns(uid, fields);
  // What was found for another filter, or nothing, must not be taken for the documents to delete.
  const isKnown = loaded.value !== undefined && !loaded.loading;
  return (
    <section aria-label="Documents">
      <h2>
        {loaded.value === undefined
          ? 'Documents'
          : filter === ''
            ? counted(total, 'document')
            : `${count(total)} match the filter`}
      </h2>
      <FilterBar uid={uid} filter={filter} onFilter={(value) => show({ filter: value })} />
      <Tools index={index} filter={filter} mayDelete={isKnown} onAdd={() => show({ add: 'yes' })}>
        <ColumnChoice fields={fields} {...table} />
        <Undo edits={edits} />
      </Tools>
      {edits.failures.map((failure) => (
        <Problem key={failure.message} error={failure} uid={uid} />
      ))}
      <Problem uid={uid} error={loaded.error} onMended={loaded.reload} />
      {loaded.value === undefined && loaded.error === null ? <Skeleton rows={10} /> : null}
      {rows.length > 0 ? (
        <DocumentTable
          edits={edits}
          columns={table.columns}
          primaryKey={primaryKey}
          hrefOf={(id) => viewHref('documents', uid, { filter, page: String(page), id })}
        />
      ) : null}
      {loaded.value?.total === 0 ? <NoDocument filtered={filter !== ''} /> : null}
      <Pages
        page={page}
        pages={Math.ceil(total / PAGE)}
        onPage={(next) => show({ page: String(next) })}
      />
      {query.id !== undefined || query.add !== undefined ? (
        <Editor
          key={query.id ?? ''}
          index={index}
          id={query.id ?? null}
          onClose={() => show({ page: String(page) })}
        />
      ) : null}
    </section>
  );
}

/** The fields of the documents: the primary key first, then those that most documents have. */
function useFields({ uid, primaryKey }: IndexEntry, rows: readonly Row[]): string[] {
  const { stats } = useIndexes();
  const known = Object.entries(stats?.indexes[uid]?.fieldDistribution ?? {});
  const order = rows.flatMap((row) => [...row.fields.keys()]);
  // Those of this page come in the order in which its documents have them.
  const names = new Set([...order, ...known.map(([name]) => name)]);
  if (primaryKey !== null) names.delete(primaryKey);
  return primaryKey === null ? [...names] : [primaryKey, ...names];
}

interface ToolsProps {
  index: IndexEntry;
  filter: string;
  /** Whether it is known which documents match the filter. */
  mayDelete: boolean;
  onAdd(): void;
  children: ComponentChildren;
}

function Tools({ index, filter, mayDelete, onAdd, children }: ToolsProps): JSX.Element {
  const action = useAction();
  const [deleting, setDeleting] = useState(false);
  return (
    <>
      <div class="buttons">
        <button type="button" disabled={index.primaryKey === null} onClick={onAdd}>
          <Icon name="plus" />
          Add one
        </button>
        {children}
        <ExportMenu uid={index.uid} filter={filter} action={action} />
        <button
          type="button"
          class="danger"
          disabled={!mayDelete}
          onClick={() => setDeleting(true)}
        >
          <Icon name="trash" />
          {filter === '' ? 'Delete all' : 'Delete all that match'}
        </button>
      </div>
      <Outcome action={action} />
      {deleting ? (
        <DeleteDialog
          uid={index.uid}
          filter={filter}
          onClose={() => setDeleting(false)}
          onWrite={action.run}
        />
      ) : null}
    </>
  );
}

/** Takes back the last change, also with Ctrl-Z. */
function Undo({ edits }: { edits: Edits }): JSX.Element {
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (!isCommand(event, 'Ctrl z')) return;
      event.preventDefault();
      edits.undo();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  });
  return (
    <button
      type="button"
      class="quiet"
      disabled={edits.undoable === null}
      title="Ctrl Z"
      onClick={edits.undo}
    >
      <Icon name="undo" />
      <span class="clip">Undo {edits.undoable}</span>
    </button>
  );
}

function NoDocument({ filtered }: { filtered: boolean }): JSX.Element {
  return (
    <Empty icon="documents" title={filtered ? 'No document matches' : 'There is no document yet'}>
      <p>
        {filtered
          ? 'Change the filter, or empty it to see all documents.'
          : 'Drop a file above, or add one by hand.'}
      </p>
    </Empty>
  );
}

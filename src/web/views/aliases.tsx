import type { Alias } from '../../contract/responses.ts';
import { viewHref } from '../address.ts';
import { pathOf } from '../client.ts';
import { useBodySchema } from '../description.ts';
import { ago, moment } from '../format.ts';
import { Resource } from '../parts/resource.tsx';
import { NEW_UID, SchemaDialog } from '../parts/schema-dialog.tsx';
import { RowActions, Table, type TableColumn } from '../parts/table.tsx';

/** A page of the list: the server has 10,000 aliases at most. */
const SHOWN_MAX = 10_000;

export function AliasesView(): JSX.Element {
  const schema = useBodySchema('/aliases/{alias}', 'put');
  return (
    <Resource<Alias>
      noun="alias"
      icon="link"
      nothing="Create one to search an index by another name, and to point that name at another index later."
      load={async (client, signal) => {
        const path = pathOf(['aliases'], { limit: SHOWN_MAX });
        return (await client.send<{ results: Alias[] }>('GET', path, { signal })).results;
      }}
      list={(rows, open) => (
        <Table label="Aliases" columns={columnsOf(open)} rows={rows} keyOf={({ alias }) => alias} />
      )}
      dialogs={{
        create: (_, { close, send }) => (
          <SchemaDialog
            title="Create an alias"
            verb="Create"
            schema={schema}
            naming={{ ...NEW_UID, label: 'Alias' }}
            onSave={(body, _whole, name) => send('PUT', pathOf(['aliases', name]), body)}
            onClose={close}
          />
        ),
        edit: ({ alias, indexUid }, { close, send }) => (
          <SchemaDialog
            title={`Point ${alias} at another index`}
            verb="Save"
            schema={schema}
            value={{ indexUid }}
            onSave={(_change, body) => send('PUT', pathOf(['aliases', alias]), body)}
            onClose={close}
          />
        ),
      }}
      deletion={{
        warning: 'Requests that use this name will fail. The index stays.',
        nameOf: ({ alias }) => alias,
        pathOf: ({ alias }) => pathOf(['aliases', alias]),
        isTask: true,
      }}
    />
  );
}

function columnsOf(open: (kind: string, alias: Alias) => void): readonly TableColumn<Alias>[] {
  return [
    { title: 'Alias', cell: ({ alias }) => alias },
    { title: 'Index', cell: ({ indexUid: uid }) => <a href={viewHref('search', uid)}>{uid}</a> },
    {
      title: 'Changed',
      cell: ({ updatedAt }) => (
        <time dateTime={updatedAt} title={moment(updatedAt)}>
          {ago(updatedAt, Date.now())}
        </time>
      ),
    },
    {
      title: 'Actions',
      cell: (row) => (
        <RowActions
          of={row.alias}
          actions={[
            { label: 'Edit', run: () => open('edit', row) },
            { label: 'Delete', danger: true, run: () => open('delete', row) },
          ]}
        />
      ),
    },
  ];
}

import type { WebhookView } from '../../contract/responses.ts';
import { Figure } from '../chart.tsx';
import { pathOf } from '../client.ts';
import { useBodySchema } from '../description.ts';
import { Cards } from '../parts/card.tsx';
import { Resource } from '../parts/resource.tsx';
import { SchemaDialog } from '../parts/schema-dialog.tsx';

export function WebhooksView(): JSX.Element {
  const schema = useBodySchema('/webhooks', 'post');
  return (
    <Resource<WebhookView>
      noun="webhook"
      icon="bell"
      nothing="Create one to have a URL notified whenever tasks finish."
      load={async (client, signal) =>
        (await client.send<{ results: WebhookView[] }>('GET', '/webhooks', { signal })).results
      }
      list={(rows, open) => (
        <Cards
          label="Webhooks"
          rows={rows}
          nameOf={({ url }) => url}
          actions={(row) =>
            row.isEditable
              ? [
                  { label: 'Edit', run: () => open('edit', row) },
                  { label: 'Delete', danger: true, run: () => open('delete', row) },
                ]
              : []
          }
        >
          {(webhook) => <WebhookFacts webhook={webhook} />}
        </Cards>
      )}
      dialogs={{
        create: (_, { close, send }) => (
          <SchemaDialog
            title="Create a webhook"
            verb="Save"
            schema={schema}
            onSave={(body) => send('POST', '/webhooks', body, 'The webhook was saved.')}
            onClose={close}
          />
        ),
        edit: ({ uuid, url, headers }, { close, send }) => (
          <SchemaDialog
            title="Edit a webhook"
            verb="Save"
            schema={schema}
            value={{ url, headers }}
            onSave={(change) =>
              send('PATCH', pathOf(['webhooks', uuid]), change, 'The webhook was saved.')
            }
            onClose={close}
          />
        ),
      }}
      deletion={{
        warning: 'It will no longer be notified of finished tasks.',
        nameOf: ({ url }) => url,
        typed: 'delete',
        pathOf: ({ uuid }) => pathOf(['webhooks', uuid]),
        isTask: false,
      }}
    />
  );
}

function WebhookFacts({ webhook }: { webhook: WebhookView }): JSX.Element {
  const { headers, isEditable } = webhook;
  return (
    <>
      <dl>
        {Object.entries(headers).map(([name, value]) => (
          <Figure key={name} name={name} value={value} />
        ))}
      </dl>
      {isEditable ? null : (
        <p class="note">
          This webhook was set by an option of the server and cannot be changed here.
        </p>
      )}
    </>
  );
}

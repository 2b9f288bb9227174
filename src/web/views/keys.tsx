import { pathOf } from '../client.ts';
import { useBodySchema } from '../description.ts';
import { Resource } from '../parts/resource.tsx';
import { SchemaDialog } from '../parts/schema-dialog.tsx';
import { CreateDialog } from './keys/create-dialog.tsx';
import { listKeys, nameOfKey, type Key } from './keys/key.ts';
import { KeyRow } from './keys/key-row.tsx';
import { MadeDialog } from './keys/made-dialog.tsx';
import { RotateDialog } from './keys/rotate-dialog.tsx';

export function KeysView(): JSX.Element {
  const schema = useBodySchema('/keys/{key_or_uid}', 'patch');
  return (
    <Resource<Key>
      noun="key"
      icon="key"
      nothing="Create one to let a program in."
      load={listKeys}
      list={(rows, open) => (
        <ul class="card list" aria-label="Keys">
          {rows.map((key) => (
            <li key={key.uid} class="row">
              <KeyRow
                keyRecord={key}
                onEdit={() => open('edit', key)}
                onRotate={() => open('rotate', key)}
                onDelete={() => open('delete', key)}
              />
            </li>
          ))}
        </ul>
      )}
      dialogs={{
        create: (_, tools) => <CreateDialog tools={tools} />,
        made: (key, { close }) => <MadeDialog made={key} onClose={close} />,
        rotated: (key, { close }) => <MadeDialog made={key} isRotated onClose={close} />,
        rotate: (key, tools) => <RotateDialog keyRecord={key} tools={tools} />,
        edit: (key, { close, send }) => (
          <SchemaDialog
            title={`Edit ${nameOfKey(key)}`}
            verb="Save"
            schema={schema}
            value={{ ...key }}
            onSave={(change) =>
              send('PATCH', pathOf(['keys', key.uid]), change, `Key ${key.uid} was changed.`)
            }
            onClose={close}
          />
        ),
      }}
      deletion={{
        warning: 'Requests with this key will be refused.',
        nameOf: nameOfKey,
        pathOf: ({ uid }) => pathOf(['keys', uid]),
        isTask: false,
      }}
    />
  );
}

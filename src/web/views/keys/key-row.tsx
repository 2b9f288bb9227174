import { useState } from 'preact/hooks';
import { moment } from '../../format.ts';
import { purposeOf } from '../../key-presets.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import type { Key } from './key.ts';

interface Props {
  keyRecord: Key;
  onEdit(key: Key): void;
  onRotate(key: Key): void;
  onDelete(key: Key): void;
}

export function KeyRow({ keyRecord, onEdit, onRotate, onDelete }: Props): JSX.Element {
  const { name, description, key, uid, actions, indexes, expiresAt, previousExpiresAt } = keyRecord;
  const [shown, setShown] = useState(false);
  const title = name ?? uid;
  const isPast = expiresAt !== null && Date.parse(expiresAt) < Date.now();
  return (
    <>
      <div class="grow">
        <h2>
          {title} <span class="state">{purposeOf(actions)}</span>
          {isPast ? <span class="state failed">expired</span> : null}
        </h2>
        {description === null ? null : <p>{description}</p>}
        <p class="note">
          {actions.includes('*') ? '' : <>May {actions.join(', ')} · </>}
          {indexes.includes('*') ? 'all indexes' : `indexes ${indexes.join(', ')}`} ·{' '}
          {expiresAt === null
            ? 'never expires'
            : `${isPast ? 'expired' : 'expires'} ${moment(expiresAt)}`}
        </p>
        <p class="buttons">
          <code>{shown ? key : '••••••••••••'}</code>
          <button type="button" class="quiet" onClick={() => setShown(!shown)}>
            {shown ? 'Hide' : 'Show'}
            <span class="unseen"> the key {title}</span>
          </button>
          <CopyButton text={key} label="Copy" />
        </p>
        {previousExpiresAt === undefined ? null : (
          <p class="note">An earlier value works until {moment(previousExpiresAt)}.</p>
        )}
      </div>
      <p class="buttons">
        <button type="button" class="quiet" onClick={() => onEdit(keyRecord)}>
          Edit<span class="unseen"> {title}</span>
        </button>
        <button type="button" class="quiet" onClick={() => onRotate(keyRecord)}>
          Rotate<span class="unseen"> {title}</span>
        </button>
        <button type="button" class="danger" onClick={() => onDelete(keyRecord)}>
          Delete<span class="unseen"> {title}</span>
        </button>
      </p>
    </>
  );
}

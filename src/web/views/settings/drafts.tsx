import { useState } from 'preact/hooks';
import type { Branch } from '../../../contract/responses.ts';
import { viewHref } from '../../address.ts';
import { pathOf } from '../../client.ts';
import { draftHref, useDrafts } from '../../draft-hooks.ts';
import { ago, moment } from '../../format.ts';
import { useAction, type Action } from '../../hooks.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { Outcome } from '../../parts/outcome.tsx';
import { RowActions, Table } from '../../parts/table.tsx';
import { useSession } from '../../session.ts';
import { finish } from '../../tasks.ts';

interface Props {
  uid: string;
  /** The index that this one is a draft of; null: of none. */
  origin: string | null;
}

/** The drafts of an index, or of what the index is a draft. */
export function Drafts({ uid, origin }: Props): JSX.Element | null {
  const { rights } = useSession();
  const drafts = useDrafts(uid);
  const action = useAction();
  const [discarded, setDiscarded] = useState<string | null>(null);
  if (origin !== null) {
    return (
      <p class="note">
        This is a draft of <a href={viewHref('settings', origin)}>{origin}</a>: what you save
        changes the draft alone.{' '}
        <a href={draftHref(origin, uid)}>See its results next to those of {origin}</a>
      </p>
    );
  }
  if (drafts.length === 0) return <Outcome action={action} />;
  return (
    <section class="settings" aria-label="Drafts">
      <h2>Drafts</h2>
      <Outcome action={action} />
      <Table<Branch>
        label="Drafts, table"
        rows={drafts}
        keyOf={(draft) => draft.uid}
        columns={[
          { title: 'Draft', cell: (draft) => draft.uid },
          {
            title: 'Made',
            cell: ({ createdAt }) => (
              <time dateTime={createdAt} title={moment(createdAt)}>
                {ago(createdAt, Date.now())}
              </time>
            ),
          },
          {
            title: 'Actions',
            cell: (draft) => (
              <RowActions
                of={draft.uid}
                actions={[
                  { label: 'See results', href: draftHref(uid, draft.uid) },
                  { label: 'Settings', href: viewHref('settings', draft.uid) },
                  ...(rights.has('deletes')
                    ? [{ label: 'Discard', danger: true, run: () => setDiscarded(draft.uid) }]
                    : []),
                ]}
              />
            ),
          },
        ]}
      />
      {discarded === null ? null : (
        <DiscardDialog
          {...{ uid: discarded, origin: uid, action }}
          onClose={() => setDiscarded(null)}
        />
      )}
    </section>
  );
}

interface DiscardProps {
  /** The draft. */
  uid: string;
  origin: string;
  action: Action;
  onDiscarded?(): void;
  onClose(): void;
}

export function DiscardDialog(props: DiscardProps): JSX.Element {
  const { uid, origin, action, onDiscarded, onClose } = props;
  const { client } = useSession();
  return (
    <FormDialog
      title={`Discard ${uid}?`}
      verb="Discard the draft"
      isDangerous
      onSubmit={() =>
        action.run(async () => {
          await finish(client, 'DELETE', pathOf(['indexes', uid]));
          onDiscarded?.();
          return `${uid} was discarded.`;
        })
      }
      onClose={onClose}
    >
      <p>The draft and its settings are deleted. {origin} stays as it is. You cannot undo this.</p>
    </FormDialog>
  );
}

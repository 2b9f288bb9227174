import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { pathOf, type TaskReceipt } from '../client.ts';
import { count, counted, milliseconds, moment, percent } from '../format.ts';
import { useAction, useLoaded } from '../hooks.ts';
import { reachAll, type Network, type Reached, type Remote } from '../network.ts';
import { CheckBox } from '../parts/check-box.tsx';
import { Choice } from '../parts/choice.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { RowActions, Table } from '../parts/table.tsx';
import { TextField } from '../parts/text-field.tsx';
import { viewHref, replaceAddress, useAddress } from '../address.ts';
import { settingChange } from '../schema.ts';
import { useSession } from '../session.ts';
import type { Task, TaskPage } from '../task.ts';
import { ended } from '../tasks.ts';
import { ClusterNodes } from './cluster.tsx';
import { isOff, SwitchedOff } from './feature.tsx';
import { useIndexUids } from './index-picker.tsx';
import { Running, useRunning } from './tasks/running.tsx';

const REFRESH_MS = 5000;
const MOVES_REFRESH_MS = 1000;
const MOVES_SHOWN = 5;
const MOVE = 'networkTopologyChange';

type Open = { readonly kind: 'add' } | { readonly kind: 'edit' | 'remove'; readonly name: string };

type Patch = (body: unknown, done: string) => void;

export function NetworkView(): JSX.Element {
  const { rights } = useSession();
  return (
    <>
      {rights.has('cluster') ? <ClusterNodes /> : null}
      {rights.has('network') ? <NetworkServers /> : null}
    </>
  );
}

function NetworkServers(): JSX.Element {
  const { client } = useSession();
  const action = useAction();
  const [open, setOpen] = useState<Open | null>(null);
  const loaded = useLoaded(
    (signal) => client.send<Network>('GET', '/network', { signal }),
    [client, action.done],
  );
  const patch: Patch = (body, done) =>
    action.run(async () => {
      await client.send('PATCH', '/network', { body });
      return done;
    });
  if (isOff(loaded.error)) {
    return (
      <SwitchedOff
        feature="network"
        purpose="Several servers that are searched as one, or that distribute the documents among themselves."
        onSwitchedOn={loaded.reload}
      />
    );
  }
  const network = loaded.value;
  return (
    <>
      <Problem error={loaded.error} />
      {network === undefined || loaded.error !== null ? null : (
        <>
          <ThisServer
            key={JSON.stringify([network.self, network.sharding])}
            network={network}
            patch={patch}
          />
          <p class="buttons">
            <button type="button" class="primary" onClick={() => setOpen({ kind: 'add' })}>
              Add a server
            </button>
          </p>
          <Outcome action={action} />
          <Servers network={network} onOpen={setOpen} />
          {sharesOut(network) ? <Moves /> : null}
        </>
      )}
      {open === null || network === undefined ? null : (
        <OpenDialog open={open} network={network} patch={patch} onClose={() => setOpen(null)} />
      )}
    </>
  );
}

interface DialogProps {
  open: Open;
  network: Network;
  patch: Patch;
  onClose(): void;
}

function OpenDialog({ open, network, patch, onClose }: DialogProps): JSX.Element {
  return open.kind === 'remove' ? (
    <Confirm
      title={`Remove ${open.name} from the network`}
      warning="This server no longer searches it or sends writes to it. Its documents stay where they are. Remove it on the other servers as well."
      name={open.name}
      verb="Remove the server"
      onClose={onClose}
      onConfirm={() =>
        patch({ remotes: { [open.name]: null } }, `${open.name} was removed from the network.`)
      }
    />
  ) : (
    <RemoteDialog
      name={open.kind === 'add' ? null : open.name}
      remote={open.kind === 'add' ? null : network.remotes[open.name]!}
      onClose={onClose}
      onSave={(name, change) => patch({ remotes: { [name]: change } }, `${name} was saved.`)}
    />
  );
}

/** A form for this server. It is mounted again when the stored values change. */
function ThisServer({ network, patch }: { network: Network; patch: Patch }): JSX.Element {
  const [self, setSelf] = useState(network.self ?? '');
  const [sharding, setSharding] = useState(network.sharding);
  const changed = self !== (network.self ?? '') || sharding !== network.sharding;
  return (
    <form
      class="panel"
      aria-label="This server"
      onSubmit={(event) => {
        event.preventDefault();
        patch({ self: self === '' ? null : self, sharding }, 'The network was changed.');
      }}
    >
      <TextField
        label="Name of this server"
        hint="The name by which the other servers know it. Configure each server separately: the same list of servers, and its own name."
        value={self}
        onInput={setSelf}
      />
      <CheckBox
        label="Sharding: each write is sent to all servers, and each server keeps its own share of the documents"
        checked={sharding}
        onChange={setSharding}
      />
      {sharding && (self === '' || network.remotes[self] === undefined) ? (
        <p class="note">
          This server keeps all documents until its name is in the list of servers.
        </p>
      ) : null}
      <button type="submit" disabled={!changed}>
        Save
      </button>
    </form>
  );
}

interface ServersProps {
  network: Network;
  onOpen(open: Open): void;
}

function Servers({ network, onOpen }: ServersProps): JSX.Element {
  const { client } = useSession();
  const { query } = useAddress();
  const uids = useIndexUids();
  const index = query.index ?? uids[0] ?? null;
  const reached = useLoaded(
    (signal) =>
      index === null ? Promise.resolve(undefined) : reachAll(client, network, index, signal),
    [client, JSON.stringify(network), index],
    REFRESH_MS,
  );
  const names = Object.keys(network.remotes);
  const responses = Object.values(reached.value ?? {}).filter((one) => one.kind === 'responded');
  const total = responses.reduce((sum, { documents }) => sum + documents, 0);
  if (names.length === 0) {
    return (
      <Empty icon="network" title="The network has no servers yet.">
        <p>Add this server, under its own name, and those that it searches.</p>
      </Empty>
    );
  }
  return (
    <section aria-label="Servers">
      {uids.length === 0 ? (
        <p class="note">
          Create an index on this server to check whether the other servers respond.
        </p>
      ) : (
        <Choice
          label="Documents of the index"
          hint="Each server is asked every few seconds, using the search key configured here."
          value={index ?? ''}
          options={uids.map((uid) => [uid, uid])}
          onChoose={(uid) => replaceAddress(viewHref('network', null, { index: uid }))}
        />
      )}
      <Problem error={reached.error} />
      <ServerTable network={network} reached={reached.value} total={total} onOpen={onOpen} />
      {reached.value === undefined ? null : (
        <p class="note">
          {counted(total, 'document')} on {counted(responses.length, 'server')}
        </p>
      )}
    </section>
  );
}

interface Server {
  readonly name: string;
  readonly remote: Remote;
  /** undefined: not checked yet. */
  readonly reached: Reached | undefined;
  /** null: not known. */
  readonly documents: number | null;
}

interface TableProps extends ServersProps {
  reached: Readonly<Record<string, Reached>> | undefined;
  /** Documents on all servers. */
  total: number;
}

function ServerTable({ network, reached = {}, total, onOpen }: TableProps): JSX.Element {
  const servers = Object.entries(network.remotes).map(([name, remote]): Server => {
    const one = reached[name];
    return {
      name,
      remote,
      reached: one,
      documents: one?.kind === 'responded' ? one.documents : null,
    };
  });
  const keysOf = ({ searchApiKey, writeApiKey }: Remote): string =>
    [searchApiKey === null ? '' : 'search', writeApiKey === null ? '' : 'write']
      .filter((key) => key !== '')
      .join(', ') || 'none';
  return (
    <Table
      label="Servers of the network"
      rows={servers}
      keyOf={({ name }) => name}
      columns={[
        {
          title: 'Server',
          cell: ({ name, remote }) => (
            <>
              {name}
              {name === network.self ? ' (this server)' : ''}
              <br />
              <span class="count">{remote.url}</span>
            </>
          ),
        },
        { title: 'State', cell: (server) => <State reached={server.reached} /> },
        {
          title: 'Documents',
          number: true,
          cell: ({ documents }) => (documents === null ? null : count(documents)),
        },
        {
          title: 'Share',
          number: true,
          cell: ({ documents }) =>
            documents === null || total === 0 ? null : percent(documents / total),
        },
        { title: 'Keys', cell: ({ remote }) => keysOf(remote) },
        {
          title: 'Actions',
          cell: ({ name }) => (
            <RowActions
              of={name}
              actions={[
                { label: 'Edit', run: () => onOpen({ kind: 'edit', name }) },
                { label: 'Remove', danger: true, run: () => onOpen({ kind: 'remove', name }) },
              ]}
            />
          ),
        },
      ]}
    />
  );
}

function State({ reached }: { reached: Reached | undefined }): JSX.Element | null {
  if (reached === undefined) return null;
  return reached.kind === 'responded' ? (
    <>
      <span class="state succeeded">responds</span> in {milliseconds(reached.ms)}
    </>
  ) : (
    <>
      <span class="state failed">fails</span>: {reached.message}
    </>
  );
}

interface RemoteProps {
  /** null: a new server. */
  name: string | null;
  remote: Remote | null;
  onClose(): void;
  onSave(name: string, change: unknown): void;
}

/** Members that can be null, so that only changed members are sent. */
const REMOTE_SCHEMA = { additionalProperties: { type: ['string', 'null'] } };

function RemoteDialog({ name, remote, onClose, onSave }: RemoteProps): JSX.Element {
  const [typed, setTyped] = useState(name ?? '');
  const [after, setAfter] = useState<Partial<Remote>>(remote ?? {});
  const field = (member: keyof Remote, label: string, hint: string): JSX.Element => (
    <TextField
      label={label}
      hint={hint}
      type={member === 'url' ? 'url' : 'password'}
      required={member === 'url'}
      value={after[member] ?? ''}
      onInput={(text) => setAfter({ ...after, [member]: text === '' ? null : text })}
    />
  );
  return (
    <Dialog
      title={name === null ? 'Add a server' : `Edit ${name}`}
      dirty={typed !== (name ?? '') || JSON.stringify(after) !== JSON.stringify(remote ?? {})}
      onClose={onClose}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSave(typed, settingChange(REMOTE_SCHEMA, remote ?? {}, after));
          onClose();
        }}
      >
        {name === null ? (
          <TextField
            label="Name"
            hint="Use the same name on all servers. The list must contain this server too, under its own name."
            required
            value={typed}
            onInput={setTyped}
          />
        ) : null}
        {field('url', 'Address', 'For example http://10.0.0.2:7700.')}
        {field('searchApiKey', 'Key for searches', 'A key of that server with the action search.')}
        {field(
          'writeApiKey',
          'Key for writes',
          'A key of that server with the action documents.*. Needed for sharding.',
        )}
        <button type="submit">{name === null ? 'Add' : 'Save'}</button>
      </form>
    </Dialog>
  );
}

function sharesOut({ self, remotes, sharding }: Network): boolean {
  return sharding && self !== null && remotes[self] !== undefined;
}

/** Moves documents to the servers that own them. */
function Moves(): JSX.Element {
  const { client, rights } = useSession();
  const action = useAction();
  const [progress, setProgress] = useState<number | null>(null);
  const moves = useLoaded(
    (signal) =>
      rights.has('tasks')
        ? client.send<TaskPage<Task>>(
            'GET',
            pathOf(['tasks'], { types: MOVE, limit: MOVES_SHOWN }),
            { signal },
          )
        : Promise.resolve(undefined),
    [client, action.done, action.running],
    MOVES_REFRESH_MS,
  );
  const start = (): void =>
    action.run(async () => {
      try {
        const receipt = await client.send<TaskReceipt>('POST', '/network/rebalance');
        return await ended(client, receipt, setProgress);
      } finally {
        setProgress(null);
      }
    });
  return (
    <section aria-label="Moving documents">
      <h2>Moving documents</h2>
      <p>
        After the list of servers changes, documents are still on their previous servers. Moving
        sends them to their new owners while searches and writes continue. Change the network on
        every server first.
      </p>
      <p class="buttons">
        <button type="button" disabled={action.running} onClick={start}>
          Move documents
        </button>
      </p>
      {progress === null ? null : <progress max="100" value={progress} aria-label="Progress" />}
      <Outcome action={action} />
      {rights.has('tasks') ? <RunningMoves /> : null}
      <Problem error={moves.error} />
      <ul class="card list tasks" aria-label="Moves">
        {moves.value?.results.map((task) => (
          <MoveRow key={task.uid} task={task} />
        ))}
      </ul>
    </section>
  );
}

function RunningMoves(): JSX.Element | null {
  return <Running batches={useRunning(MOVE)} />;
}

function MoveRow({ task }: { task: Task }): JSX.Element {
  const { uid, status, details, error, startedAt, network } = task;
  const { remotes = {}, origin } = network ?? {};
  const failed = Object.entries(remotes).filter(([, { error: fault }]) => fault !== undefined);
  return (
    <li>
      <span class={`state ${status}`}>{status}</span>
      <span class="what">
        {uid}: {counted(Number(details?.movedDocuments ?? 0), 'document')} moved from this server
        {origin === undefined ? '' : `, requested by ${origin.remoteName}`}
        {error === null ? null : <span class="problem">{error.message}</span>}
        {failed.map(([name, { error: fault }]) => (
          <span key={name} class="problem">
            {name}: {fault}
          </span>
        ))}
      </span>
      <span class="count">{moment(startedAt)}</span>
    </li>
  );
}

import { useState } from 'preact/hooks';
import type { Network, Remote } from '../../contract/responses.ts';
import { pathOf, type TaskReceipt } from '../client.ts';
import { useBodySchema } from '../description.ts';
import { count, counted, milliseconds, moment, percent } from '../format.ts';
import { useAction, useGet, useLoaded } from '../hooks.ts';
import { reachAll, type Reached } from '../network.ts';
import { Choice } from '../parts/choice.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Empty } from '../parts/empty.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { SchemaDialog } from '../parts/schema-dialog.tsx';
import { Members } from '../parts/schema-field.tsx';
import { RowActions, Table } from '../parts/table.tsx';
import { viewHref, replaceAddress, useAddress } from '../address.ts';
import { changedMembers, type Schema, type Values } from '../schema.ts';
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
  const schema = useBodySchema('/network', 'patch');
  const { client } = useSession();
  const action = useAction();
  const [open, setOpen] = useState<Open | null>(null);
  const loaded = useGet<Network>('/network', 0, [action.done]);
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
            schema={schema}
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
        <OpenDialog
          open={open}
          network={network}
          schema={schema}
          patch={patch}
          onClose={() => setOpen(null)}
        />
      )}
    </>
  );
}

interface DialogProps {
  open: Open;
  network: Network;
  schema: Schema | undefined;
  patch: Patch;
  onClose(): void;
}

function OpenDialog({ open, network, schema, patch, onClose }: DialogProps): JSX.Element {
  const remote = schema?.properties?.remotes?.additionalProperties;
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
    <SchemaDialog
      title={open.kind === 'add' ? 'Add a server' : `Edit ${open.name}`}
      verb={open.kind === 'add' ? 'Add' : 'Save'}
      schema={typeof remote === 'object' ? remote : undefined}
      required={['url']}
      {...(open.kind === 'add'
        ? { naming: { label: 'Name', hint: NAME_HINT } }
        : { value: { ...network.remotes[open.name]! } })}
      onSave={(change, _, typed) => {
        const name = open.kind === 'add' ? typed : open.name;
        patch({ remotes: { [name]: change } }, `${name} was saved.`);
      }}
      onClose={onClose}
    />
  );
}

const NAME_HINT =
  'Use the same name on all servers. The list must contain this server too, under its own name.';

/** A form for this server. It is mounted again when the stored values change. */
function ThisServer({ network, schema, patch }: ThisProps): JSX.Element {
  const { self, sharding } = network;
  const [after, setAfter] = useState<Values>({ self, sharding });
  const change = changedMembers(schema, { self, sharding }, after);
  const isKnown = typeof after.self === 'string' && network.remotes[after.self] !== undefined;
  return (
    <form
      class="panel"
      aria-label="This server"
      onSubmit={(event) => {
        event.preventDefault();
        patch(change, 'The network was changed.');
      }}
    >
      {schema === undefined ? null : (
        <Members
          schema={schema}
          value={after}
          names={['self', 'sharding']}
          onChange={(next) => setAfter(next as Values)}
        />
      )}
      {after.sharding === true && !isKnown ? (
        <p class="note">
          This server keeps all documents until its name is in the list of servers.
        </p>
      ) : null}
      <button type="submit" disabled={Object.keys(change).length === 0}>
        Save
      </button>
    </form>
  );
}

interface ThisProps {
  network: Network;
  schema: Schema | undefined;
  patch: Patch;
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
    <span>
      <span class="state succeeded">responds</span> in {milliseconds(reached.ms)}
    </span>
  ) : (
    <span>
      <span class="state failed">fails</span> {reached.message}
    </span>
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
  const path = pathOf(['tasks'], { types: MOVE, limit: MOVES_SHOWN });
  const moves = useGet<TaskPage<Task>>(rights.has('tasks') ? path : null, MOVES_REFRESH_MS, [
    action.done,
    action.running,
  ]);
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
  const remotes = network !== undefined && 'remotes' in network ? network.remotes : {};
  const origin = network !== undefined && 'origin' in network ? network.origin : undefined;
  const failed = Object.entries(remotes).flatMap(([name, one]) =>
    'error' in one ? [[name, one.error] as const] : [],
  );
  return (
    <li>
      <span class={`state ${status}`}>{status}</span>
      <span class="what">
        {uid}: {counted(Number(details?.movedDocuments ?? 0), 'document')} moved from this server
        {origin === undefined ? '' : `, requested by ${origin.remoteName}`}
        {error === null ? null : <span class="problem">{error.message}</span>}
        {failed.map(([name, fault]) => (
          <span key={name} class="problem">
            {name}: {fault}
          </span>
        ))}
      </span>
      <span class="count">{moment(startedAt)}</span>
    </li>
  );
}

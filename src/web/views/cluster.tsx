import type { Cluster } from '../../contract/responses.ts';
import { count, counted, milliseconds, size } from '../format.ts';
import { useGet } from '../hooks.ts';
import { Problem } from '../parts/problem.tsx';
import { Table, type TableColumn } from '../parts/table.tsx';

const REFRESH_MS = 5000;

type Node = Cluster['nodes'][number];

/** The nodes of the cluster. Nothing on a server without one. */
export function ClusterNodes(): JSX.Element | null {
  const loaded = useGet<Cluster>('/cluster', REFRESH_MS);
  const cluster = loaded.value;
  if (cluster === undefined) return <Problem error={loaded.error} />;
  if (cluster.nodes.length === 0 && cluster.fault === null) return null;
  return (
    <section aria-label="Cluster">
      <h2>Cluster</h2>
      <Problem error={loaded.error ?? (cluster.fault === null ? null : new Error(cluster.fault))} />
      <p class="note">
        {counted(cluster.nodes.length, 'node')} with the same data.{' '}
        {cluster.leader === null
          ? 'No node leads: searches continue, writes are refused.'
          : `${cluster.leader} leads.`}
      </p>
      <Table
        label="Nodes of the cluster"
        columns={columnsOf(cluster.head)}
        rows={cluster.nodes}
        keyOf={({ name }) => name}
      />
    </section>
  );
}

/** @param head the number of the last record in the log */
function columnsOf(head: number): readonly TableColumn<Node>[] {
  return [
    {
      title: 'Node',
      cell: ({ name, url }) => (
        <>
          {name}
          <br />
          <span class="count">{url}</span>
        </>
      ),
    },
    {
      title: 'Role',
      cell: ({ role }) => (
        <span class={role === 'leader' ? 'state succeeded' : 'state'}>{role}</span>
      ),
    },
    { title: 'Behind', number: true, cell: ({ lagSeconds }) => milliseconds(lagSeconds * 1000) },
    {
      title: 'Writes to apply',
      number: true,
      cell: ({ applied }) => count(Math.max(0, head - applied)),
    },
    { title: 'To fetch', number: true, cell: ({ bytesToFetch }) => size(bytesToFetch) },
  ];
}

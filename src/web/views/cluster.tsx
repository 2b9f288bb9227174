import type { JSX } from 'preact';
import { count, counted, milliseconds, size } from '../format.ts';
import { useLoaded } from '../hooks.ts';
import { Problem } from '../parts/problem.tsx';
import { useSession } from '../session.ts';

const REFRESH_MS = 5000;

interface Node {
  readonly name: string;
  readonly url: string;
  readonly role: string;
  readonly applied: number;
  readonly lagSeconds: number;
  readonly bytesToFetch: number;
}

interface Cluster {
  readonly leader: string | null;
  /** The number of the last record in the log. */
  readonly head: number;
  readonly fault: string | null;
  readonly nodes: readonly Node[];
}

/** The nodes of the cluster. Nothing on a server without one. */
export function ClusterNodes(): JSX.Element | null {
  const { client } = useSession();
  const loaded = useLoaded(
    (signal) => client.send<Cluster>('GET', '/cluster', { signal }),
    [client],
    REFRESH_MS,
  );
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
      <div class="wide" tabIndex={0} role="region" aria-label="Nodes of the cluster">
        <table>
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">Role</th>
              <th scope="col" class="number">
                Behind
              </th>
              <th scope="col" class="number">
                Writes to apply
              </th>
              <th scope="col" class="number">
                To fetch
              </th>
            </tr>
          </thead>
          <tbody>
            {cluster.nodes.map((node) => (
              <NodeRow key={node.name} node={node} head={cluster.head} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function NodeRow({ node, head }: { node: Node; head: number }): JSX.Element {
  const { name, url, role, applied, lagSeconds, bytesToFetch } = node;
  return (
    <tr>
      <th scope="row">
        {name}
        <br />
        <span class="count">{url}</span>
      </th>
      <td>
        <span class={role === 'leader' ? 'state succeeded' : 'state'}>{role}</span>
      </td>
      <td class="number">{milliseconds(lagSeconds * 1000)}</td>
      <td class="number">{count(Math.max(0, head - applied))}</td>
      <td class="number">{size(bytesToFetch)}</td>
    </tr>
  );
}

/** A node of a cluster: writes go to its leader, and requests wait for what it has yet to apply. */
import { ApiError, noLeader } from '../../contract/errors.ts';
import type { Connection } from '../connection.ts';
import { COMMIT, forward } from '../forward.ts';
import type { RouteResponse } from '../route.ts';
import { isClusterWrite, type Cluster, type Pending } from './pending.ts';
import type { Responses } from './responses.ts';

/** How long the response to a forwarded write waits until its commit is applied here. */
const OWN_WRITE_MS = 2000;
/** How long a request waits for a commit, or the end of a task, that this node has yet to apply. */
const WAIT_FOR_MS = 10_000;
/** Longest time between two looks at a task that a request waits for. */
const LOOK_MS = 100;
/** A write gets an error when the log of the cluster has not responded for so long. */
const LOG_SILENT_MS = 7000;
/** How often that is checked while a write is under way. */
const CHECK_LOG_MS = 500;

export class LeaderStage<S> {
  readonly #cluster: Cluster;
  readonly #responses: Responses<S>;

  constructor(cluster: Cluster, responses: Responses<S>) {
    this.#cluster = cluster;
    this.#responses = responses;
  }

  /** Whether a write goes to the leader of the cluster; it gets its response then. */
  forwards(pending: Pending<S>): boolean {
    const { connection } = pending;
    if (!isClusterWrite(pending.route)) return false;
    const { member } = this.#cluster;
    const route = member.node.route(connection.headers.forwarded !== undefined);
    if (route.kind === 'here') return false;
    if (route.kind === 'no_leader') this.#responses.fail(pending, noLeader());
    else {
      this.#forwarded(connection, route.url).then(
        (response) => this.#responses.send(pending, response),
        (error: unknown) => this.#responses.fail(pending, error),
      );
    }
    return true;
  }

  /**
   * The response of the leader, once this node has applied it: its client finds here what it has
   * written here.
   */
  async #forwarded(connection: Connection, url: string): Promise<RouteResponse> {
    const { client, node } = this.#cluster.member;
    const response = await forward(connection, url, client, node.leaderSignal);
    const commit = response.headers?.find(([name]) => name === COMMIT)?.[1];
    if (commit !== undefined) {
      await node.waitFor(Number(commit), OWN_WRITE_MS, new AbortController().signal);
    }
    return response;
  }

  /**
   * Resolves once this node has applied the commit, or the end of the task, that the client has
   * named. Throws `ApiError`.
   */
  async applied({ connection }: Pending<S>, awaited: string): Promise<void> {
    const match = /^(task:)?(\d{1,15})$/.exec(awaited);
    if (match === null) {
      throw new ApiError(
        'bad_request',
        'The header `Gannet-Wait-For` must be the number of a commit, as `Gannet-Commit` has it, ' +
          'or `task:` and the uid of a task.',
      );
    }
    const number = Number(match[2]);
    const { node } = this.#cluster.member;
    const ending = new AbortController();
    connection.onAbort(() => ending.abort());
    if (match[1] === undefined) {
      if (await node.waitFor(number, WAIT_FOR_MS, ending.signal)) return;
      throw new ApiError('cluster_unavailable', `This node has not applied commit ${number} yet.`);
    }
    if (await this.#ended(number, ending.signal)) return;
    throw new ApiError('cluster_unavailable', `Task ${number} has not ended on this node yet.`);
  }

  async #ended(taskUid: number, signal: AbortSignal): Promise<boolean> {
    const { member, tasks } = this.#cluster;
    const { node } = member;
    for (const begin = performance.now(); !signal.aborted;) {
      const { applied } = node;
      const status = tasks.get(taskUid, null)?.status;
      if (status !== undefined && status !== 'enqueued' && status !== 'processing') return true;
      if (performance.now() - begin > WAIT_FOR_MS) return false;
      // The leader shows the end of a task a moment after it has applied it.
      await node.waitFor(applied + 1, LOOK_MS, signal);
    }
    return false;
  }

  /**
   * Ends a write with an error while the log does not respond: its outcome is known only once the
   * log is back.
   */
  watchLog(pending: Pending<S>): void {
    if (!isClusterWrite(pending.route)) return;
    const { node } = this.#cluster.member;
    const begun = performance.now();
    const timer = setInterval(() => {
      if (!pending.open) clearInterval(timer);
      else if (Math.min(node.silentMs, performance.now() - begun) >= LOG_SILENT_MS) {
        clearInterval(timer);
        const reason = 'The write may have happened: etcd does not respond.';
        this.#responses.fail(pending, new ApiError('cluster_unavailable', reason));
      }
    }, CHECK_LOG_MS);
  }
}

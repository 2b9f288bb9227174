import { NETWORK, TASK_SUMMARY, type TaskView } from '../../contract/responses.ts';
import { ApiError } from '../../contract/errors.ts';
import { type NetworkPatch, networkView, PATCH_NETWORK } from '../../contract/network.ts';
import type { TaskFilter } from '../../contract/tasks.ts';
import { originOf } from '../../network/origin.ts';
import { shardOf } from '../../network/owner.ts';
import type { Dependencies } from '../dependencies.ts';
import { needFeature } from '../need-feature.ts';
import {
  bodyOf,
  json,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';

export const NETWORK_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/network',
    action: 'network.get',
    summary: 'Shows the network.',
    success: 200,
    response: NETWORK,
    handle: showNetwork,
  }),
  route({
    method: 'PATCH',
    path: '/network',
    action: 'network.update',
    summary: 'Changes the network.',
    body: bodyOf(PATCH_NETWORK),
    success: 200,
    response: NETWORK,
    handle: changeNetwork,
  }),
  route({
    method: 'POST',
    path: '/network/rebalance',
    action: 'network.update',
    summary: 'Moves documents to the servers of the network that they belong to.',
    success: 202,
    response: TASK_SUMMARY,
    handle: moveDocuments,
  }),
];

function showNetwork(_: RequestContext, server: Dependencies): RouteResponse {
  needFeature(server, 'network', 'Reading the network');
  return json(200, networkView(server.network.get()));
}

async function changeNetwork(
  { body }: RequestContext<unknown, NetworkPatch>,
  server: Dependencies,
): Promise<RouteResponse> {
  needFeature(server, 'network', 'Changing the network');
  await refuseWhileMoving(server);
  return json(200, networkView(await server.network.patch(body)));
}

async function moveDocuments(
  { connection }: RequestContext,
  server: Dependencies,
): Promise<RouteResponse> {
  const { network, replication } = server;
  const { tasks } = server.services;
  needFeature(server, 'network', 'Moving documents in the network');
  if (shardOf(network.get()) === null) {
    throw new ApiError(
      'bad_request',
      'The network does not distribute documents: `sharding` is off, or `self` is not one of the remotes.',
    );
  }
  const origin = originOf(connection.headers);
  const summary = await tasks.register({
    type: 'networkTopologyChange',
    ...(origin === null ? {} : { network: origin }),
  });
  if (origin !== null) return json(202, summary);
  const { path } = connection;
  const sent = await replication.send(
    { method: 'POST', path, query: '', contentType: null, body: null },
    summary.taskUid,
  );
  if (sent !== null) await tasks.setNetwork(summary.taskUid, sent).catch(() => {});
  return json(202, summary);
}

/** A document that is being moved belongs to the server that the network names. */
async function refuseWhileMoving({ network, services: { tasks } }: Dependencies): Promise<void> {
  const unfinished: TaskFilter = { statuses: ['enqueued', 'processing'] };
  const moves = { ...unfinished, types: ['networkTopologyChange' as const] };
  const { self } = network.get();
  const deletions = await tasks.page(
    { ...unfinished, types: ['documentDeletion'] },
    { limit: 1000, from: null, reverse: false },
    null,
  );
  const isOfMove = ({ network: of }: TaskView): boolean =>
    of !== undefined && 'origin' in of && of.origin.remoteName === self;
  const moving = await tasks.countMatching(moves, null);
  if (moving === 0 && !deletions.results.some(isOfMove)) return;
  throw new ApiError(
    'unprocessed_network_task',
    'Documents are being moved between the servers of the network. Wait until the move has ended.',
  );
}

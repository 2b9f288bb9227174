import { CLUSTER } from '../../contract/responses.ts';
import type { Dependencies } from '../dependencies.ts';
import { json, route, type RouteResponse, type RequestContext, type Route } from '../route.ts';

export const CLUSTER_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/cluster',
    action: 'cluster.get',
    summary: 'Shows the nodes of the cluster, and how far behind each is.',
    success: 200,
    response: CLUSTER,
    handle: showCluster,
  }),
];

/** A server without a cluster shows one without nodes. */
async function showCluster(_: RequestContext, { cluster }: Dependencies): Promise<RouteResponse> {
  if (cluster === null) {
    return json(200, { leader: null, epoch: null, head: 0, applied: 0, fault: null, nodes: [] });
  }
  const { leader, head, nodes, fault } = await cluster.node.status();
  return json(200, {
    leader: leader?.node ?? null,
    epoch: leader?.epoch ?? null,
    head,
    applied: cluster.node.applied,
    fault,
    nodes: nodes.map(({ name, url, applied, lagMs, bytesToFetch }) => ({
      ...{ name, url, applied, bytesToFetch },
      role: name === leader?.node ? 'leader' : 'follower',
      lagSeconds: Math.round(lagMs) / 1000,
    })),
  });
}

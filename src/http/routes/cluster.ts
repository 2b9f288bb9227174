import { integer, object, optionals, string, type Static } from '../../contract/declare.ts';
import { EVENTS_PATH, POSITION, positionOf, ROWS_PATH, textOf } from '../../analytics/peers.ts';
import type { RecordedEvent } from '../../analytics/recorder.ts';
import { ApiError } from '../../contract/errors.ts';
import { queryParser } from '../../contract/query.ts';
import { CLUSTER } from '../../contract/responses.ts';
import type { Analytics, Dependencies } from '../dependencies.ts';
import { json, route, type RouteResponse, type RequestContext, type Route } from '../route.ts';

const ROWS_QUERY = object(
  optionals({
    // ms since 1970.
    from: integer({ minimum: 0 }),
    to: integer({ minimum: 0 }),
    // Begin with this number of the last chunks.
    last: integer({ minimum: 0, maximum: 10_000 }),
    position: string(),
  }),
);
type RowsQuery = Static<typeof ROWS_QUERY>;

/** `event`: JSON of a `RecordedEvent` with a member `records`. */
const PEER_EVENT_QUERY = object({ event: string() });
type PeerEventQuery = Static<typeof PEER_EVENT_QUERY>;

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
  route({
    method: 'GET',
    path: ROWS_PATH,
    action: null,
    forNodes: true,
    summary: 'Sends some rows of recorded searches and events.',
    query: queryParser(ROWS_QUERY),
    success: 200,
    handle: sendRows,
  }),
  route({
    method: 'POST',
    path: EVENTS_PATH,
    action: null,
    forNodes: true,
    summary: 'Finds the search of an event, and records the event.',
    query: queryParser(PEER_EVENT_QUERY),
    success: 200,
    handle: takeEvent,
  }),
];

/** Throws `ApiError` when the request does not come from a node of the cluster. */
function ofNode({ connection }: RequestContext, { analytics }: Dependencies): Analytics {
  if (analytics?.peers?.isOfNode(connection.headers.authorization) === true) return analytics;
  throw new ApiError('invalid_api_key', 'Only other nodes of the cluster may send this request.');
}

async function sendRows(
  context: RequestContext<RowsQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { recorder, store } = ofNode(context, server);
  const { from, to = Infinity, last, position } = context.query;
  if (from !== undefined && position === undefined) await recorder.flushed();
  const begin =
    (position === undefined ? null : positionOf(position)) ??
    store.positionAt(from ?? store.startOfLast(last ?? 0));
  const { text, after } = store.rowsAfter(begin, to) ?? { text: '', after: begin };
  return { status: 200, body: `[${text}]`, headers: [[POSITION, textOf(after)]] };
}

async function takeEvent(
  context: RequestContext<PeerEventQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { recorder } = ofNode(context, server);
  const { records, ...event } = JSON.parse(context.query.event) as RecordedEvent & {
    records: boolean;
  };
  const found = recorder.searchOf(event);
  if (records) await recorder.event(event);
  return json(200, { at: found?.at ?? null, isNamed: found?.isNamed ?? false });
}

const NO_FAULTS = { fault: null, damagedObjects: [] };

/** A server without a cluster shows one without nodes. */
async function showCluster(_: RequestContext, { cluster }: Dependencies): Promise<RouteResponse> {
  if (cluster === null) {
    return json(200, { leader: null, epoch: null, head: 0, applied: 0, ...NO_FAULTS, nodes: [] });
  }
  const { leader, head, nodes, fault, damagedObjects } = await cluster.node.status();
  return json(200, {
    leader: leader?.node ?? null,
    epoch: leader?.epoch ?? null,
    head,
    applied: cluster.node.applied,
    fault,
    damagedObjects,
    nodes: nodes.map(({ name, url, applied, lagMs, bytesToFetch, storeFault }) => ({
      name,
      url,
      applied,
      bytesToFetch,
      storeFault,
      role: name === leader?.node ? 'leader' : 'follower',
      lagSeconds: Math.round(lagMs) / 1000,
    })),
  });
}

import { INDEX, INDEXES, TASK_SUMMARY } from '../../contract/responses.ts';
import { ApiError, indexNotFound } from '../../contract/errors.ts';
import {
  CREATE_INDEX,
  LIST_INDEXES_QUERY,
  SWAP_INDEXES,
  UPDATE_INDEX,
  type CreateIndexRequest,
  type SwapElement,
  type UpdateIndexRequest,
} from '../../contract/indexes.ts';
import { pageOf, type Pagination } from '../../contract/pages.ts';
import { queryParser } from '../../contract/query.ts';
import type { IndexSwapPair } from '../../contract/tasks.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  bodyOf,
  json,
  longJson,
  registered,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';

/** One page of a list that is held in memory. */
export function page<T>(
  all: readonly T[],
  query: Pagination,
): { results: T[]; offset: number; limit: number; total: number } {
  const { offset, limit } = pageOf(query);
  return { results: all.slice(offset, offset + limit), offset, limit, total: all.length };
}

export const INDEX_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/indexes',
    action: 'indexes.get',
    summary: 'Lists the indexes.',
    query: queryParser(LIST_INDEXES_QUERY),
    success: 200,
    response: INDEXES,
    handle: listIndexes,
  }),
  route({
    method: 'POST',
    path: '/indexes/:index_uid/compact',
    action: 'indexes.compact',
    summary: 'Merges the segments of an index and releases its free space.',
    success: 202,
    response: TASK_SUMMARY,
    handle: compactIndex,
  }),
  route({
    method: 'POST',
    path: '/indexes',
    action: 'indexes.create',
    summary: 'Creates an index.',
    body: bodyOf(CREATE_INDEX),
    success: 202,
    response: TASK_SUMMARY,
    handle: createIndex,
  }),
  route({
    method: 'GET',
    path: '/indexes/:index_uid',
    action: 'indexes.get',
    summary: 'Shows an index.',
    success: 200,
    response: INDEX,
    handle: showIndex,
  }),
  route({
    method: 'PATCH',
    path: '/indexes/:index_uid',
    action: 'indexes.update',
    summary: 'Changes the primary key or the uid of an index.',
    body: bodyOf(UPDATE_INDEX),
    success: 202,
    response: TASK_SUMMARY,
    handle: changeIndex,
  }),
  route({
    method: 'DELETE',
    path: '/indexes/:index_uid',
    action: 'indexes.delete',
    summary: 'Deletes an index.',
    success: 202,
    response: TASK_SUMMARY,
    handle: deleteIndex,
  }),
  route({
    method: 'POST',
    path: '/swap-indexes',
    action: 'indexes.swap',
    summary: 'Swaps pairs of indexes, or renames indexes.',
    body: bodyOf(SWAP_INDEXES),
    success: 202,
    response: TASK_SUMMARY,
    handle: swapIndexes,
  }),
];

function listIndexes(
  { access, query }: RequestContext<Pagination>,
  { services }: Dependencies,
): RouteResponse | Promise<RouteResponse> {
  const seen = services.indexes.list().filter(({ uid }) => access.mayAccess(uid));
  return longJson(page(seen, query));
}

function compactIndex({ params }: RequestContext, server: Dependencies): Promise<RouteResponse> {
  return registered(server, { type: 'indexCompaction', indexUid: params.index_uid! });
}

async function createIndex(
  { access, body }: RequestContext<unknown, CreateIndexRequest>,
  server: Dependencies,
): Promise<RouteResponse> {
  if (!access.mayAccess(body.uid)) throw access.refusal(body.uid);
  const primaryKey = body.primaryKey ?? null;
  return registered(server, { type: 'indexCreation', indexUid: body.uid, primaryKey });
}

function showIndex({ params }: RequestContext, { services }: Dependencies): RouteResponse {
  const uid = params.index_uid!;
  const index = services.indexes.get(uid);
  if (index === undefined) throw indexNotFound(uid);
  return json(200, index);
}

async function changeIndex(
  { access, params, body }: RequestContext<unknown, UpdateIndexRequest>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { primaryKey, uid: newUid } = body;
  if (typeof newUid === 'string' && !access.mayAccess(newUid)) throw access.refusal(newUid);
  return registered(server, {
    type: 'indexUpdate',
    indexUid: params.index_uid!,
    ...(typeof primaryKey === 'string' ? { primaryKey } : {}),
    ...(typeof newUid === 'string' ? { newUid } : {}),
  });
}

function deleteIndex({ params }: RequestContext, server: Dependencies): Promise<RouteResponse> {
  return registered(server, { type: 'indexDeletion', indexUid: params.index_uid! });
}

async function swapIndexes(
  { access, body }: RequestContext<unknown, SwapElement[]>,
  server: Dependencies,
): Promise<RouteResponse> {
  const swaps = body.map((element): IndexSwapPair => {
    const { indexes: pair } = element;
    for (const uid of pair) if (!access.mayAccess(uid)) throw access.refusal(uid);
    const rename = element.rename ?? false;
    const [first, second] = pair.map((uid) => server.aliases.targetOf(uid) ?? uid);
    // The second one is a new name.
    return { indexes: [first!, rename ? pair[1]! : second!], rename };
  });
  refuseRepeated(swaps.flatMap((swap) => swap.indexes));
  return registered(server, { type: 'indexSwap', swaps });
}

function refuseRepeated(uids: string[]): void {
  const seen = new Set<string>();
  const repeated = uids.filter((uid) => seen.size === seen.add(uid).size);
  if (repeated.length === 0) return;
  throw new ApiError(
    'invalid_swap_duplicate_index_found',
    `An index may be named only once in a swap, but these are named more often: ${[...new Set(repeated)].map((uid) => `\`${uid}\``).join(', ')}.`,
  );
}

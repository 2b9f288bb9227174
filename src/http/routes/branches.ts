import {
  CREATE_BRANCH,
  LIST_BRANCHES_QUERY,
  notABranch,
  type CreateBranch,
} from '../../contract/branches.ts';
import { ApiError, indexNotFound } from '../../contract/errors.ts';
import type { Pagination } from '../../contract/pages.ts';
import { queryParser } from '../../contract/query.ts';
import {
  type Branch,
  BRANCH_DIFFERENCES,
  BRANCHES,
  TASK_SUMMARY,
} from '../../contract/responses.ts';
import { renderSetting, renderSettings, type SettingName } from '../../contract/settings.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  bodyOf,
  longJson,
  registered,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';
import { page } from './indexes.ts';

export const BRANCH_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/indexes/:index_uid/branch',
    action: 'indexes.create',
    summary: 'Makes a branch: an index with the same content, which shares the files.',
    body: bodyOf(CREATE_BRANCH),
    success: 202,
    response: TASK_SUMMARY,
    handle: makeBranch,
  }),
  route({
    method: 'GET',
    path: '/indexes/:index_uid/branches',
    action: 'indexes.get',
    summary: 'Lists the branches of an index.',
    query: queryParser(LIST_BRANCHES_QUERY),
    success: 200,
    response: BRANCHES,
    handle: listBranches,
  }),
  route({
    method: 'GET',
    path: '/indexes/:index_uid/branch/diff',
    action: 'settings.get',
    summary: 'Shows the settings in which a branch differs from its origin.',
    success: 200,
    response: BRANCH_DIFFERENCES,
    handle: showDifferences,
  }),
  route({
    method: 'POST',
    path: '/indexes/:index_uid/promote',
    action: 'indexes.swap',
    summary: 'Swaps a branch with its origin.',
    success: 202,
    response: TASK_SUMMARY,
    handle: promote,
  }),
];

async function makeBranch(
  { access, params, body }: RequestContext<unknown, CreateBranch>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { uid: branch } = body;
  const follow = body.follow === true;
  if (!access.mayAccess(branch)) throw access.refusal(branch);
  const indexUid = params.index_uid!;
  // Otherwise a key that may not read the documents could do so in a branch.
  if (!access.mayRead(indexUid)) {
    throw new ApiError('invalid_api_key', 'A branch needs the action `documents.get` as well.');
  }
  return registered(server, { type: 'indexBranch', indexUid, branch, follow });
}

function listBranches(
  { access, params, query }: RequestContext<Pagination>,
  server: Dependencies,
): RouteResponse | Promise<RouteResponse> {
  const uid = targetOf(params.index_uid!, server);
  if (server.services.indexes.get(uid) === undefined) throw indexNotFound(uid);
  const seen = server.branches.of(uid).filter((branch) => access.mayAccess(branch.uid));
  return longJson(page(seen, query));
}

function showDifferences(
  { access, params }: RequestContext,
  server: Dependencies,
): RouteResponse | Promise<RouteResponse> {
  const { uid, origin } = branchOf({ access, params }, server);
  const { indexes, features } = server.services;
  const [before, after] = [origin, uid].map((name) => {
    const settings = indexes.settings(name);
    if (settings === undefined) throw indexNotFound(name);
    return settings;
  });
  // Either may leave out what the other shows.
  const shown = [before!, after!].map((settings) => renderSettings(settings, features.get()));
  const differences = Object.keys({ ...shown[0], ...shown[1] })
    .map((name) => ({
      name,
      origin: renderSetting(before!, name as SettingName),
      branch: renderSetting(after!, name as SettingName),
    }))
    .filter(({ origin: a, branch: b }) => JSON.stringify(a) !== JSON.stringify(b))
    .map(({ name, ...values }) => [name, values] as const);
  return longJson({ uid, origin, settings: Object.fromEntries(differences) });
}

async function promote(
  { access, params }: RequestContext,
  server: Dependencies,
): Promise<RouteResponse> {
  const { uid, origin } = branchOf({ access, params }, server);
  return registered(server, {
    type: 'indexSwap',
    swaps: [{ indexes: [uid, origin], rename: false }],
  });
}

/** The branch in the path, whose origin the caller may access too. */
function branchOf(
  { access, params }: Pick<RequestContext, 'access' | 'params'>,
  server: Dependencies,
): Branch & { origin: string } {
  const uid = targetOf(params.index_uid!, server);
  if (server.services.indexes.get(uid) === undefined) throw indexNotFound(uid);
  const branch = server.branches.get(uid);
  if (branch === undefined) throw notABranch(uid);
  const { origin } = branch;
  if (origin === null) throw notABranch(uid);
  if (!access.mayAccess(origin)) throw access.refusal(origin);
  return { ...branch, origin };
}

function targetOf(name: string, { aliases }: Dependencies): string {
  return aliases.targetOf(name) ?? name;
}

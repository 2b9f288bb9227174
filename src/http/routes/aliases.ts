import {
  aliasNotFound,
  LIST_ALIASES_QUERY,
  PUT_ALIAS,
  type PutAlias,
} from '../../contract/aliases.ts';
import type { Pagination } from '../../contract/pages.ts';
import { queryParser } from '../../contract/query.ts';
import { ALIAS, ALIASES, TASK_SUMMARY } from '../../contract/responses.ts';
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
import { page } from './indexes.ts';

export const ALIAS_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/aliases',
    action: 'aliases.get',
    summary: 'Lists the aliases.',
    query: queryParser(LIST_ALIASES_QUERY),
    success: 200,
    response: ALIASES,
    handle: listAliases,
  }),
  route({
    method: 'GET',
    path: '/aliases/:alias',
    action: 'aliases.get',
    summary: 'Shows an alias.',
    success: 200,
    response: ALIAS,
    handle: showAlias,
  }),
  route({
    method: 'PUT',
    path: '/aliases/:alias',
    action: 'aliases.update',
    summary: 'Creates an alias of an index, or points it at another one.',
    body: bodyOf(PUT_ALIAS),
    success: 202,
    response: TASK_SUMMARY,
    handle: putAlias,
  }),
  route({
    method: 'DELETE',
    path: '/aliases/:alias',
    action: 'aliases.delete',
    summary: 'Deletes an alias. Its index stays.',
    success: 202,
    response: TASK_SUMMARY,
    handle: deleteAlias,
  }),
];

function listAliases(
  { access, query }: RequestContext<Pagination>,
  { aliases }: Dependencies,
): RouteResponse | Promise<RouteResponse> {
  return longJson(
    page(
      aliases.list().filter(({ alias }) => access.mayAccess(alias)),
      query,
    ),
  );
}

function showAlias({ params }: RequestContext, { aliases }: Dependencies): RouteResponse {
  const alias = aliases.get(params.alias!);
  if (alias === undefined) throw aliasNotFound(params.alias!);
  return json(200, alias);
}

async function putAlias(
  { access, params, body }: RequestContext<unknown, PutAlias>,
  server: Dependencies,
): Promise<RouteResponse> {
  // Otherwise a key could make any index its own.
  if (!access.mayAccess(body.indexUid)) throw access.refusal(body.indexUid);
  const request = { alias: params.alias!, indexUid: body.indexUid };
  return registered(server, { type: 'aliasUpdate', ...request });
}

function deleteAlias({ params }: RequestContext, server: Dependencies): Promise<RouteResponse> {
  return registered(server, { type: 'aliasDeletion', alias: params.alias! });
}

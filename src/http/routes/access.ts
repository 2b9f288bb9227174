/** What the credential of a request may do. */
import { compareUtf8 } from '../../base/json.ts';
import { ACTIONS, type Action } from '../../contract/actions.ts';
import { ACCESS } from '../../contract/responses.ts';
import type { Dependencies } from '../dependencies.ts';
import { json, route, type RequestContext, type Route, type RouteResponse } from '../route.ts';

/** Maximum number of indexes that a response lists. */
const INDEXES_MAX = 1000;

const SINGLE_ACTIONS: readonly Action[] = ACTIONS.filter((action) => !action.includes('*'));

export const ACCESS_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/access',
    // A client learns here that it needs a key.
    action: null,
    summary:
      'Shows what the key of the request may do, and with which indexes. An index that it may use only by aliases has their names.',
    success: 200,
    response: ACCESS,
    handle: showAccess,
  }),
];

function showAccess({ connection }: RequestContext, server: Dependencies): RouteResponse {
  const { authorizer, services, aliases } = server;
  const { authorization, legacyKey } = connection.headers;
  const credentials = { authorization, legacyKey };
  const actions = SINGLE_ACTIONS.filter(
    (action) => authorizer.authorize(credentials, action, null).ok,
  );
  const access = actions.length === 0 ? null : authorizer.authorize(credentials, actions[0]!, null);
  const indexes =
    access?.ok === true
      ? services.indexes
          .list()
          .flatMap(({ uid }) => aliases.usable(uid, (name) => access.value.mayAccess(name)))
          .sort(compareUtf8)
          .slice(0, INDEXES_MAX)
      : [];
  return json(200, { hasMasterKey: authorizer.masterKey !== null, actions, indexes });
}

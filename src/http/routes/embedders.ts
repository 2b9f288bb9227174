import { ApiError, indexNotFound } from '../../contract/errors.ts';
import { EMBEDDER_STATUS, type EmbedderStatus } from '../../contract/responses.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  json,
  NO_CONTENT,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';

export const EMBEDDER_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/indexes/:index_uid/embedders/:embedder',
    action: 'settings.get',
    summary:
      'Shows how many documents an embedder has embedded, which wait, and which have failed.',
    success: 200,
    response: EMBEDDER_STATUS,
    handle: showStatus,
  }),
  route({
    method: 'POST',
    path: '/indexes/:index_uid/embedders/:embedder/retry',
    action: 'settings.update',
    summary: 'Tries documents that an embedder has failed to embed again.',
    success: 204,
    handle: retry,
  }),
];

async function showStatus(context: RequestContext, server: Dependencies): Promise<RouteResponse> {
  return json(200, await statusOf(context, server));
}

async function retry(context: RequestContext, server: Dependencies): Promise<RouteResponse> {
  await statusOf(context, server);
  server.background.retry(context.params.index_uid!, context.params.embedder!);
  return NO_CONTENT;
}

/** Throws when the index or the embedder does not exist. */
async function statusOf(
  { params }: RequestContext,
  { services, background }: Dependencies,
): Promise<EmbedderStatus> {
  const uid = params.index_uid!;
  if (services.indexes.settings(uid) === undefined) throw indexNotFound(uid);
  const name = params.embedder!;
  const status = await background.status(uid, name);
  if (status !== null) return status;
  throw new ApiError('embedder_not_found', `The index \`${uid}\` has no embedder \`${name}\`.`);
}

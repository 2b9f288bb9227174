import { KEY, KEYS, type KeyView } from '../../contract/responses.ts';
import { findKey, keyView, newKey, patchedKey, rotatedKey } from '../../auth/keys.ts';
import { unwrap } from '../../base/result.ts';
import { ApiError } from '../../contract/errors.ts';
import type { Pagination } from '../../contract/pages.ts';
import {
  CREATE_KEY,
  LIST_KEYS_QUERY,
  PATCH_KEY,
  ROTATE_KEY,
  type CreateKeyRequest,
  type KeyRecord,
  type PatchKeyRequest,
  type RotateKeyRequest,
} from '../../contract/keys.ts';
import { queryParser } from '../../contract/query.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  bodyOf,
  json,
  longJson,
  NO_CONTENT,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';
import { page } from './indexes.ts';

export const KEY_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/keys',
    action: 'keys.get',
    summary: 'Lists the API keys, the newest first.',
    query: queryParser(LIST_KEYS_QUERY),
    success: 200,
    response: KEYS,
    handle: listKeys,
  }),
  route({
    method: 'POST',
    path: '/keys',
    action: 'keys.create',
    summary: 'Creates an API key.',
    body: bodyOf(CREATE_KEY),
    success: 201,
    errors: ['api_key_already_exists'],
    response: KEY,
    handle: createKey,
  }),
  route({
    method: 'GET',
    path: '/keys/:key_or_uid',
    action: 'keys.get',
    summary: 'Shows an API key.',
    success: 200,
    response: KEY,
    handle: showKey,
  }),
  route({
    method: 'PATCH',
    path: '/keys/:key_or_uid',
    action: 'keys.update',
    summary: 'Changes the name or the description of an API key.',
    body: bodyOf(PATCH_KEY),
    success: 200,
    response: KEY,
    handle: changeKey,
  }),
  route({
    method: 'POST',
    path: '/keys/:key_or_uid/rotate',
    action: 'keys.update',
    summary: 'Gives an API key another value. The earlier one is accepted for a while.',
    body: bodyOf(ROTATE_KEY, { optional: true }),
    success: 200,
    response: KEY,
    handle: rotateKey,
  }),
  route({
    method: 'DELETE',
    path: '/keys/:key_or_uid',
    action: 'keys.delete',
    summary: 'Deletes an API key.',
    success: 204,
    handle: deleteKey,
  }),
];

function listKeys(
  { query }: RequestContext<Pagination>,
  server: Dependencies,
): RouteResponse | Promise<RouteResponse> {
  const { results, ...rest } = page(server.services.keys.list(), query);
  return longJson({ results: results.map((record) => view(record, server)), ...rest });
}

async function createKey(
  { body }: RequestContext<unknown, CreateKeyRequest>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { keys } = server.services;
  const record = unwrap(newKey(body, keys, server.clock));
  await keys.put(record);
  return json(201, view(record, server));
}

function showKey({ params }: RequestContext, server: Dependencies): RouteResponse {
  return json(200, view(existing(params.key_or_uid!, server), server));
}

async function changeKey(
  { params, body }: RequestContext<unknown, PatchKeyRequest>,
  server: Dependencies,
): Promise<RouteResponse> {
  const record = patchedKey(existing(params.key_or_uid!, server), body, server.clock);
  await server.services.keys.put(record);
  return json(200, view(record, server));
}

async function rotateKey(
  { params, body }: RequestContext<unknown, RotateKeyRequest | undefined>,
  server: Dependencies,
): Promise<RouteResponse> {
  const record = unwrap(rotatedKey(existing(params.key_or_uid!, server), body ?? {}, server.clock));
  await server.services.keys.put(record);
  return json(200, view(record, server));
}

async function deleteKey({ params }: RequestContext, server: Dependencies): Promise<RouteResponse> {
  await server.services.keys.remove(existing(params.key_or_uid!, server).uid);
  return NO_CONTENT;
}

function view(record: KeyRecord, { authorizer, clock }: Dependencies): KeyView {
  return keyView(record, authorizer.values.of(record), clock);
}

function existing(segment: string, { services, authorizer }: Dependencies): KeyRecord {
  const record = findKey(segment, services.keys, authorizer.values);
  if (record === undefined) {
    throw new ApiError('api_key_not_found', `No API key has the uid or value \`${segment}\`.`);
  }
  return record;
}

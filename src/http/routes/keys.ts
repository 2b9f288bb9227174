import { KEY, KEYS } from '../../contract/answers.ts';
import { findKey, keyView, newKey, patchedKey } from '../../auth/keys.ts';
import { unwrap } from '../../base/result.ts';
import { ApiError } from '../../contract/errors.ts';
import type { Pagination } from '../../contract/indexes.ts';
import {
  CREATE_KEY,
  LIST_KEYS_QUERY,
  PATCH_KEY,
  type CreateKeyRequest,
  type KeyRecord,
  type KeyView,
  type PatchKeyRequest,
} from '../../contract/keys.ts';
import { queryParser } from '../../contract/query.ts';
import type { Dependencies } from '../dependencies.ts';
import { bodyOf, json, longJson, NO_CONTENT, route, type Route } from '../route.ts';
import { page } from './indexes.ts';

export function keyRoutes({ services, authorizer, clock }: Dependencies): Route[] {
  const { keys } = services;
  const { values } = authorizer;
  const view = (record: KeyRecord): KeyView => keyView(record, values.of(record.uid));

  function existing(segment: string): KeyRecord {
    const record = findKey(segment, keys, values);
    if (record === undefined) {
      throw new ApiError('api_key_not_found', `No API key has the uid or value \`${segment}\`.`);
    }
    return record;
  }

  return [
    route<Pagination, unknown>({
      method: 'GET',
      path: '/keys',
      action: 'keys.get',
      summary: 'Lists the API keys, the newest first.',
      query: queryParser(LIST_KEYS_QUERY),
      success: 200,
      answer: KEYS,
      handle: ({ query }) => {
        const { results, ...rest } = page(keys.list(), query);
        return longJson({ results: results.map(view), ...rest });
      },
    }),
    route<unknown, CreateKeyRequest>({
      method: 'POST',
      path: '/keys',
      action: 'keys.create',
      summary: 'Creates an API key.',
      body: bodyOf(CREATE_KEY),
      success: 201,
      answer: KEY,
      handle: async ({ body }) => {
        const record = unwrap(newKey(body, keys, clock));
        await keys.put(record);
        return json(201, view(record));
      },
    }),
    route({
      method: 'GET',
      path: '/keys/:key_or_uid',
      action: 'keys.get',
      summary: 'Shows an API key.',
      success: 200,
      answer: KEY,
      handle: ({ params }) => json(200, view(existing(params.key_or_uid!))),
    }),
    route<unknown, PatchKeyRequest>({
      method: 'PATCH',
      path: '/keys/:key_or_uid',
      action: 'keys.update',
      summary: 'Changes the name or the description of an API key.',
      body: bodyOf(PATCH_KEY),
      success: 200,
      answer: KEY,
      handle: async ({ params, body }) => {
        const record = patchedKey(existing(params.key_or_uid!), body, clock);
        await keys.put(record);
        return json(200, view(record));
      },
    }),
    route({
      method: 'DELETE',
      path: '/keys/:key_or_uid',
      action: 'keys.delete',
      summary: 'Deletes an API key.',
      success: 204,
      handle: async ({ params }) => {
        await keys.remove(existing(params.key_or_uid!).uid);
        return NO_CONTENT;
      },
    }),
  ];
}

import { FIELDS_RESPONSE } from '../../contract/responses.ts';
import { compareUtf8 } from '../../base/json.ts';
import { indexNotFound } from '../../contract/errors.ts';
import { FIELDS, type FieldsRequest, fieldView, meets } from '../../contract/fields.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  bodyOf,
  json,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';
import { page } from './indexes.ts';

export const FIELD_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/indexes/:index_uid/fields',
    action: 'fields.post',
    summary: 'Lists the fields of an index and the settings that apply to each.',
    body: bodyOf(FIELDS),
    anyUid: true,
    success: 200,
    response: FIELDS_RESPONSE,
    handle: listFields,
  }),
];

function listFields(
  { params, body }: RequestContext<unknown, FieldsRequest>,
  { services: { indexes } }: Dependencies,
): RouteResponse {
  const uid = params.index_uid!;
  const names = indexes.fields(uid);
  const settings = indexes.settings(uid);
  if (names === undefined || settings === undefined) throw indexNotFound(uid);
  // The primary key is known before any document has it.
  const primaryKey = indexes.get(uid)?.primaryKey ?? null;
  const all =
    primaryKey === null || names.includes(primaryKey) ? names : withName(names, primaryKey);
  const views = all.map((name) => fieldView(name, settings));
  const found = views.filter((view) => meets(view, body.filter));
  return json(200, page(found, body));
}

function withName(names: readonly string[], name: string): string[] {
  return [...names, name].sort(compareUtf8);
}

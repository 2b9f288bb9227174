import { WEBHOOK, WEBHOOKS } from '../../contract/responses.ts';
import { randomUUID } from 'node:crypto';
import { maskedHeaders, maskedUrl, unmaskedHeaders, unmaskedUrl } from '../../base/secrets.ts';
import { ApiError } from '../../contract/errors.ts';
import { headersFault, normalizeUuid } from '../../contract/formats.ts';
import {
  CREATE_WEBHOOK,
  LAUNCH_WEBHOOK_UUID,
  PATCH_WEBHOOK,
  WEBHOOKS_MAX,
  type CreateWebhook,
  type PatchWebhook,
  type WebhookRecord,
} from '../../contract/webhooks.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  bodyOf,
  json,
  NO_CONTENT,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';

export const WEBHOOK_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/webhooks',
    action: 'webhooks.get',
    summary: 'Lists the webhooks.',
    success: 200,
    response: WEBHOOKS,
    handle: listWebhooks,
  }),
  route({
    method: 'POST',
    path: '/webhooks',
    action: 'webhooks.create',
    summary: 'Creates a webhook.',
    body: bodyOf(CREATE_WEBHOOK),
    success: 200,
    response: WEBHOOK,
    handle: createWebhook,
  }),
  route({
    method: 'GET',
    path: '/webhooks/:uuid',
    action: 'webhooks.get',
    summary: 'Shows a webhook.',
    success: 200,
    response: WEBHOOK,
    handle: showWebhook,
  }),
  route({
    method: 'PATCH',
    path: '/webhooks/:uuid',
    action: 'webhooks.update',
    summary: 'Changes a webhook; a header set to null is removed.',
    body: bodyOf(PATCH_WEBHOOK),
    success: 200,
    response: WEBHOOK,
    handle: changeWebhook,
  }),
  route({
    method: 'DELETE',
    path: '/webhooks/:uuid',
    action: 'webhooks.delete',
    summary: 'Deletes a webhook.',
    success: 204,
    handle: deleteWebhook,
  }),
];

function listWebhooks(_: RequestContext, { webhooks }: Dependencies): RouteResponse {
  return json(200, { results: webhooks.list().map(view) });
}

async function createWebhook(
  { body }: RequestContext<unknown, CreateWebhook>,
  { webhooks }: Dependencies,
): Promise<RouteResponse> {
  if (webhooks.size >= WEBHOOKS_MAX) {
    throw new ApiError(
      'invalid_webhooks',
      `At most ${WEBHOOKS_MAX} webhooks are possible; delete one first.`,
    );
  }
  const record = {
    uuid: randomUUID(),
    url: body.url,
    headers: mergedHeaders({}, body.headers),
  };
  await webhooks.put(record);
  return json(200, view(record));
}

function showWebhook({ params }: RequestContext, { webhooks }: Dependencies): RouteResponse {
  return json(200, view(existing(params.uuid!, webhooks)));
}

async function changeWebhook(
  { params, body }: RequestContext<unknown, PatchWebhook>,
  { webhooks }: Dependencies,
): Promise<RouteResponse> {
  const record = editable(params.uuid!, webhooks);
  const changed = {
    uuid: record.uuid,
    url: body.url === undefined ? record.url : unmaskedUrl(body.url, record.url),
    headers: mergedHeaders(record.headers, body.headers),
  };
  await webhooks.put(changed);
  return json(200, view(changed));
}

async function deleteWebhook(
  { params }: RequestContext,
  { webhooks }: Dependencies,
): Promise<RouteResponse> {
  await webhooks.remove(editable(params.uuid!, webhooks).uuid);
  return NO_CONTENT;
}

type Webhooks = Dependencies['webhooks'];

function existing(segment: string, webhooks: Webhooks): WebhookRecord {
  const uuid = pathUuid(segment);
  const record = webhooks.get(uuid);
  if (record === undefined) {
    throw new ApiError('webhook_not_found', `No webhook has the uuid \`${uuid}\`.`);
  }
  return record;
}

function editable(segment: string, webhooks: Webhooks): WebhookRecord {
  const uuid = pathUuid(segment);
  if (uuid === LAUNCH_WEBHOOK_UUID) {
    throw new ApiError(
      'immutable_webhook',
      `The webhook \`${uuid}\` was given at launch and cannot be changed or deleted.`,
    );
  }
  return existing(segment, webhooks);
}

function pathUuid(segment: string): string {
  const uuid = normalizeUuid(segment);
  if (uuid !== undefined) return uuid;
  throw new ApiError(
    'invalid_webhook_uuid',
    `\`${segment}\` is not a UUID of 32 hexadecimal digits.`,
  );
}

function mergedHeaders(
  stored: Record<string, string>,
  change: PatchWebhook['headers'],
): Record<string, string> {
  if (change === undefined) return stored;
  if (change === null) return {};
  const merged = new Map(Object.entries(stored));
  for (const [name, value] of Object.entries(unmaskedHeaders(change, stored))) {
    if (value === null) merged.delete(name);
    else merged.set(name, value);
  }
  const headers = Object.fromEntries(merged);
  const fault = headersFault(headers);
  if (fault === null) return headers;
  throw new ApiError('invalid_webhook_headers', `Invalid value at \`.headers\`: ${fault}.`);
}

function view({ uuid, url, headers }: WebhookRecord): Record<string, unknown> {
  return {
    uuid,
    isEditable: uuid !== LAUNCH_WEBHOOK_UUID,
    url: maskedUrl(url),
    headers: maskedHeaders(headers),
  };
}

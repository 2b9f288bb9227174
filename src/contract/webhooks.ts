import { immutable, map, nullable, object, optional, string, type Static } from './declare.ts';
import type { WebhookView } from './responses.ts';

export type WebhookRecord = Omit<WebhookView, 'isEditable'>;

/** Uuid of the webhook given at launch. */
export const LAUNCH_WEBHOOK_UUID = '00000000-0000-0000-0000-000000000000';
export const WEBHOOKS_MAX = 20;

/** Maximum number of headers that one request sets or removes. */
const CHANGED_HEADERS_MAX = 1_000;

const URL = string({
  title: 'Address',
  format: 'http-url',
  'x-secret': true,
  'x-code': 'invalid_webhook_url',
  'x-missing-code': 'invalid_webhook_url',
});

const OTHERS = {
  headers: optional(
    nullable(
      map(nullable(string({ format: 'header-value', 'x-secret': true })), {
        propertyNames: { type: 'string', format: 'header-name' },
        title: 'Headers',
        description: 'Sent with each request, for example Authorization.',
        'x-secret': true,
        maxProperties: CHANGED_HEADERS_MAX,
        'x-code': 'invalid_webhook_headers',
      }),
    ),
  ),
  uuid: immutable('immutable_webhook_uuid'),
  isEditable: immutable('immutable_webhook_is_editable'),
};

export const CREATE_WEBHOOK = object({ url: URL, ...OTHERS });
export const PATCH_WEBHOOK = object({ url: optional(URL), ...OTHERS });
export type CreateWebhook = Static<typeof CREATE_WEBHOOK>;
export type PatchWebhook = Static<typeof PATCH_WEBHOOK>;

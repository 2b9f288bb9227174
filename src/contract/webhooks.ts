import type { Schema } from './schema.ts';

export interface WebhookRecord {
  uuid: string;
  url: string;
  headers: Record<string, string>;
}

/** Uuid of the webhook given at launch. */
export const LAUNCH_WEBHOOK_UUID = '00000000-0000-0000-0000-000000000000';
export const WEBHOOKS_MAX = 20;

export interface WebhookBody {
  url?: string;
  headers?: Record<string, string | null> | null;
}

/** Maximum number of headers that one request sets or removes. */
const CHANGED_HEADERS_MAX = 1_000;

const PROPERTIES: Record<string, Schema> = {
  url: {
    type: 'string',
    format: 'http-url',
    'x-secret': true,
    'x-code': 'invalid_webhook_url',
    'x-missing-code': 'invalid_webhook_url',
  },
  headers: {
    type: ['object', 'null'],
    propertyNames: { type: 'string', format: 'header-name' },
    additionalProperties: { type: ['string', 'null'], format: 'header-value', 'x-secret': true },
    'x-secret': true,
    maxProperties: CHANGED_HEADERS_MAX,
    'x-code': 'invalid_webhook_headers',
  },
  uuid: { not: {}, 'x-immutable-code': 'immutable_webhook_uuid' },
  isEditable: { not: {}, 'x-immutable-code': 'immutable_webhook_is_editable' },
};

export const CREATE_WEBHOOK: Schema = {
  type: 'object',
  properties: PROPERTIES,
  required: ['url'],
  additionalProperties: false,
};

export const PATCH_WEBHOOK: Schema = {
  type: 'object',
  properties: PROPERTIES,
  additionalProperties: false,
};

/** Bodies of the routes behind experimental features: logs, export. */
import { INDEX_UID_SCHEMA, type Schema } from './schema.ts';

export interface LogStreamBody {
  mode?: 'human' | 'json';
  target?: string;
}

export const LOG_STREAM: Schema = {
  type: 'object',
  properties: {
    target: { type: 'string', default: 'info' },
    mode: { type: 'string', enum: ['human', 'json'], default: 'human' },
    profileMemory: { type: 'boolean', default: false },
  },
  additionalProperties: false,
};

export interface LogLevelBody {
  target?: string;
}

export const LOG_LEVEL: Schema = {
  type: 'object',
  properties: { target: { type: 'string', default: 'info' } },
  additionalProperties: false,
};

export interface ExportBody {
  url: string;
  apiKey?: string | null;
  payloadSize?: string | number | null;
  indexes?: Record<string, { filter?: unknown; overrideSettings?: boolean }> | null;
}

export const EXPORT: Schema = {
  type: 'object',
  properties: {
    url: {
      type: 'string',
      format: 'http-url',
      'x-code': 'invalid_export_url',
      'x-missing-code': 'invalid_export_url',
    },
    apiKey: { type: ['string', 'null'], 'x-code': 'invalid_export_api_key' },
    payloadSize: {
      type: ['string', 'integer', 'null'],
      default: '50 MiB',
      'x-code': 'invalid_export_payload_size',
    },
    indexes: {
      type: ['object', 'null'],
      propertyNames: { ...INDEX_UID_SCHEMA, format: 'index-pattern', 'x-code': 'bad_request' },
      additionalProperties: {
        type: 'object',
        properties: {
          filter: {},
          overrideSettings: {
            type: 'boolean',
            default: false,
            'x-code': 'invalid_export_index_override_settings',
          },
        },
        additionalProperties: false,
      },
    },
  },
  required: ['url'],
  additionalProperties: false,
};

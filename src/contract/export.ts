/** Body of an export. */
import { INDEX_UID_SCHEMA, type Schema } from './schema.ts';

/** Maximum number of index patterns in one export, and of values in their filters together. */
const EXPORTED_PATTERNS_MAX = 1_000;
const EXPORT_VALUES_MAX = 20_000;

export interface ExportBody {
  url: string;
  apiKey?: string | null;
  payloadSize?: string | number | null;
  indexes?: Record<string, { filter?: unknown; overrideSettings?: boolean | null }> | null;
}

export const EXPORT: Schema = {
  type: 'object',
  properties: {
    url: {
      type: 'string',
      format: 'http-url',
      'x-secret': true,
      'x-code': 'invalid_export_url',
      'x-missing-code': 'invalid_export_url',
    },
    apiKey: { type: ['string', 'null'], 'x-secret': true, 'x-code': 'invalid_export_api_key' },
    payloadSize: {
      type: ['string', 'integer', 'null'],
      minimum: 0,
      format: 'size',
      default: '50 MiB',
      'x-code': 'invalid_export_payload_size',
    },
    indexes: {
      type: ['object', 'null'],
      propertyNames: { ...INDEX_UID_SCHEMA, format: 'index-pattern', 'x-code': 'bad_request' },
      maxProperties: EXPORTED_PATTERNS_MAX,
      'x-values-max': EXPORT_VALUES_MAX,
      additionalProperties: {
        type: 'object',
        properties: {
          filter: {},
          overrideSettings: {
            type: ['boolean', 'null'],
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

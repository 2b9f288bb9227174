/** Body of an export. */
import {
  boolean,
  declared,
  indexUid,
  map,
  nullable,
  object,
  optionals,
  string,
  type Static,
} from './declare.ts';

/** Maximum number of index patterns in one export, and of values in their filters together. */
const EXPORTED_PATTERNS_MAX = 1_000;
const EXPORT_VALUES_MAX = 20_000;

const EXPORTED = object(
  optionals({
    filter: declared<unknown>({}),
    overrideSettings: nullable(
      boolean({ default: false, 'x-code': 'invalid_export_index_override_settings' }),
    ),
  }),
);

export const EXPORT = object({
  url: string({
    format: 'http-url',
    'x-secret': true,
    'x-code': 'invalid_export_url',
    'x-missing-code': 'invalid_export_url',
  }),
  ...optionals({
    apiKey: nullable(string({ 'x-secret': true, 'x-code': 'invalid_export_api_key' })),
    payloadSize: declared<string | number | null>({
      type: ['string', 'integer', 'null'],
      minimum: 0,
      format: 'size',
      default: '50 MiB',
      'x-code': 'invalid_export_payload_size',
    }),
    indexes: nullable(
      map(EXPORTED, {
        propertyNames: indexUid({ format: 'index-pattern', 'x-code': 'bad_request' }),
        maxProperties: EXPORTED_PATTERNS_MAX,
        'x-values-max': EXPORT_VALUES_MAX,
      }),
    ),
  }),
});
export type ExportBody = Static<typeof EXPORT>;

import { ok } from '../../base/result.ts';
import { canonicalLocale, LOCALES } from '../locales.ts';
import type { Schema } from '../schema.ts';
import { isObject, PATTERNS, setting } from './setting.ts';

export interface LocalizedRule {
  attributePatterns: string[];
  locales: string[];
}

const SCHEMA: Schema = {
  type: ['array', 'null'],
  items: {
    type: 'object',
    properties: {
      attributePatterns: PATTERNS,
      locales: { type: 'array', items: { type: 'string', enum: LOCALES } },
    },
    required: ['attributePatterns', 'locales'],
    additionalProperties: false,
  },
};

export const localizedAttributes = setting({
  name: 'localizedAttributes',
  group: 'Words',
  explanation: 'The languages of fields, if their characters alone do not identify them.',
  methods: ['PUT'],
  code: 'invalid_settings_localized_attributes',
  schema: SCHEMA,
  touches: ['text'],
  initial: (): LocalizedRule[] => [],
  // The value wrapped in an object of one member is accepted as well.
  childSchema: {
    oneOf: [
      { ...SCHEMA },
      {
        type: 'object',
        properties: { localizedAttributes: SCHEMA },
        required: ['localizedAttributes'],
        additionalProperties: false,
      },
    ],
  },
  fromChildBody: (body: unknown) => (isObject(body) ? body.localizedAttributes : body),
  merge(_current: LocalizedRule[], change: LocalizedRule[]) {
    return ok(
      change.map(({ attributePatterns, locales }) => ({
        attributePatterns,
        locales: locales.map(canonicalLocale),
      })),
    );
  },
});

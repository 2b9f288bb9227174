/**
 * Settings that the API has in addition, none at its default: copies of an index must have them.
 */
import assert from 'node:assert/strict';
import { SETTING_ENTRIES } from '../../src/contract/settings.ts';

export const ADDED_SETTINGS = {
  expiresAtAttribute: 'until',
  substringAttributes: ['sku', 'title'],
  semanticCutoff: 0.25,
  rerankers: {
    cross: {
      source: 'rest',
      url: 'http://127.0.0.1:1/rerank',
      request: { query: '{{query}}', documents: ['{{text}}', '{{..}}'] },
      response: [{ index: '{{index}}', score: '{{score}}' }, '{{..}}'],
      documentTemplate: '{{doc.title}}',
      documentTemplateMaxBytes: 300,
    },
  },
  defaultMatchingStrategy: 'natural',
  suggestions: { attributes: ['kind'], minUsers: 3 },
};

/** Rules of `filterableAttributes` with features that are additions. */
export const ADDED_FILTERS = [
  { attributePatterns: ['items'], features: { filter: { elements: true } } },
  { attributePatterns: ['released'], features: { filter: { date: true } } },
];

/** Asserts that the settings, as a route shows them, are these. */
export function assertAddedSettings(shown: Record<string, any>): void {
  const names = SETTING_ENTRIES.filter(({ addition }) => addition === true).map(({ name }) => name);
  assert.deepEqual(names.toSorted(), Object.keys(ADDED_SETTINGS).toSorted());
  for (const [name, value] of Object.entries(ADDED_SETTINGS)) {
    assert.deepEqual(shown[name], value, name);
  }
  const rules = JSON.stringify(shown.filterableAttributes);
  for (const feature of ['"elements":true', '"date":true']) assert.ok(rules.includes(feature));
}

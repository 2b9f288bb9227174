/** The limits of members that schemas declare, in docs/limits/requests.md. */
import assert from 'node:assert/strict';
import type { Schema } from '../../../src/contract/schema.ts';
import { allRoutes } from '../../../src/http/server.ts';
import { assertGenerated, table } from '../../support/generated.ts';

const UNITS = {
  maxLength: 'characters',
  maxItems: 'elements',
  maxProperties: 'members',
  maximum: '',
  'x-values-max': 'values',
} as const;

/** Ranges of numbers with a fixed meaning, and lengths that are part of the form. */
const OF_THE_FORM = [1, 2, 255, 2 ** 32 - 1];

/** By its name in a message: the limits of a member, such as "256 elements", and the routes. */
type Limits = Map<string, Map<string, string[]>>;

function collect(schema: Schema, member: string, route: string, limits: Limits): void {
  for (const [keyword, unit] of Object.entries(UNITS)) {
    const max = schema[keyword as keyof typeof UNITS];
    if (max === undefined || OF_THE_FORM.includes(max)) continue;
    const text = `${max.toLocaleString('en')} ${unit}`.trim();
    const known = limits.get(member) ?? new Map<string, string[]>();
    known.set(text, [...(known.get(text) ?? []), route]);
    limits.set(member, known);
  }
  const inside = (one: Schema, step: string): void => collect(one, member + step, route, limits);
  const dot = member === '' ? '' : '.';
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    inside(property, dot + name);
  if (schema.items !== undefined) inside(schema.items, '[]');
  if (typeof schema.additionalProperties === 'object') inside(schema.additionalProperties, '.*');
}

function declaredLimits(): Limits {
  const limits: Limits = new Map();
  for (const { method, path, query, body, forNodes } of allRoutes()) {
    // The page about settings has theirs.
    if (forNodes === true || path.includes('/settings')) continue;
    const route = `${method} ${path.replace(/:(\w+)/g, '{$1}')}`;
    if (query !== undefined) collect(query.schema, '', route, limits);
    if (body !== undefined && body !== 'upload') collect(body.schema, '', route, limits);
  }
  return limits;
}

/** Members with the same limits share a row; a route is named where others have another limit. */
function rows(): string[][] {
  const members = new Map<string, Set<string>>();
  for (const [member, limits] of declaredLimits()) {
    const name = `\`${member.replace(/^queries\[\]\.|^federation\./, '')}\``;
    for (const [limit, routes] of limits) {
      const unit = (text: string): string => text.replace(/^[\d,]+/, '');
      const differs = [...limits.keys()].some((one) => one !== limit && unit(one) === unit(limit));
      const named = routes.map((route) =>
        member === '' ? `\`${route}\`` : `${name} of \`${route}\``,
      );
      const shown = differs || member === '' ? named : [name];
      members.set(limit, new Set([...(members.get(limit) ?? []), ...shown]));
    }
  }
  const sorted = [...members].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([limit, names]) => [limit, [...names].toSorted().join(', ')]);
}

describe('docs/limits/requests.md', () => {
  it('has the limits that schemas declare', () => {
    const all = rows();
    assert.ok(all.length > 10);
    assertGenerated('docs/limits/requests.md', (page) =>
      page.replace(/(?<=^## Members\n[^|]*)\|.*(?:\n\|.*)*/m, () => table(['Maximum', 'Of'], all)),
    );
  });
});

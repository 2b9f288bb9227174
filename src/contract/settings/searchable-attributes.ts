import { ok } from '../../base/result.ts';
import { number, object, string, type Static } from '../declare.ts';
import { setting } from './setting.ts';

/**
 * An attribute and what an occurrence of a word in it counts in a question
 * (docs/behaviour/relevance.md).
 */
const WEIGHTED = object({
  attribute: string(),
  weight: number({ minimum: 0.01, maximum: 1000 }),
});
export type SearchableAttribute = string | Static<typeof WEIGHTED>;

export function attributeName(entry: SearchableAttribute): string {
  return typeof entry === 'string' ? entry : entry.attribute;
}

/** The names alone, as they are without weights. */
export function attributeNames(setting: readonly SearchableAttribute[]): string[] {
  const names = setting.map(attributeName);
  return names.includes('*') ? ['*'] : names;
}

export const searchableAttributes = setting({
  name: 'searchableAttributes',
  group: 'Fields',
  explanation:
    'Fields whose text is searched, the most important first. `*` means all, in the order in which they first appeared. An entry may have a weight, which `matchingStrategy: "natural"` uses.',
  methods: ['PUT'],
  code: 'invalid_settings_searchable_attributes',
  schema: { type: ['array', 'null'], items: { oneOf: [{ type: 'string' }, WEIGHTED] } },
  touches: ['text'],
  initial: (): SearchableAttribute[] => ['*'],
  resetForm: () => ['*'],
  /** Each name once; the star stands for all that have no weight. */
  merge(_current: SearchableAttribute[], change: SearchableAttribute[]) {
    const entries = new Map<string, SearchableAttribute>();
    for (const entry of change) {
      const name = attributeName(entry);
      if (!entries.has(name)) entries.set(name, entry);
    }
    const all = [...entries.values()];
    if (!entries.has('*')) return ok(all);
    const weighted = all.filter((entry) => typeof entry !== 'string' && entry.attribute !== '*');
    return ok([...weighted, '*']);
  },
});

/** Dynamic search rules: what the form sends, and their conditions in words. Pure functions. */
import type { SearchRuleView } from '../contract/search-rules.ts';
import type { Values } from './schema.ts';

/** The request that makes the rule as the form is: conditions that are empty are left out. */
export function ruleBody(schemaMembers: readonly string[], draft: Values): Values {
  const known = schemaMembers.filter((name) => name in draft);
  const body = Object.fromEntries(known.map((name) => [name, draft[name]]));
  return { ...body, conditions: withoutEmpty(draft.conditions) ?? {} };
}

/** undefined: nothing is left. Values by field are the user's, and stay. */
function withoutEmpty(value: unknown, depth = 2): unknown {
  if (depth < 0) return value;
  if (typeof value !== 'object' || value === null) return value ?? undefined;
  const kept = Object.entries(value)
    .map(([name, member]) => [name, withoutEmpty(member, depth - 1)] as const)
    .filter(([, member]) => member !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Describes the conditions of a rule, one sentence each. */
export function conditionWords(
  { conditions }: SearchRuleView,
  shown: (moment: string) => string,
): string[] {
  const { time, query, filter } = conditions;
  const values = Object.entries(filter?.values ?? {});
  return [
    ...(time?.start === undefined ? [] : [`Starts at ${shown(time.start)}.`]),
    ...(time?.end === undefined ? [] : [`Ends at ${shown(time.end)}.`]),
    ...(query?.isEmpty === undefined
      ? []
      : [query.isEmpty ? 'The query is empty.' : 'The query is not empty.']),
    ...(query?.words === undefined
      ? []
      : [`The query contains each of the words “${query.words}”.`]),
    ...values.map(
      ([field, value]) => `The filter restricts ${field}, and ${JSON.stringify(value)} passes it.`,
    ),
  ];
}

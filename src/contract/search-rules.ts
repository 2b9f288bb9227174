/**
 * Dynamic search rules: while conditions hold, they put documents at fixed positions of search
 * results, or hide them.
 */
import {
  boolean,
  declared,
  indexUid,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  optionals,
  string,
  type Static,
  type TProperties,
} from './declare.ts';
import { pageMembers } from './pages.ts';
import type { Schema } from './schema.ts';
import { ApiError, type ErrorCode } from './errors.ts';
import { isIndexUid } from './formats.ts';

const SHOWN_CONDITIONS = object(
  optionals({
    time: object(optionals({ start: string(), end: string() })),
    query: object(optionals({ isEmpty: boolean(), words: string() })),
    filter: declared<{ values: Record<string, unknown> }>({ type: 'object' }),
  }),
);

/** A rule in responses. Moments are RFC 3339. */
export const SEARCH_RULE = object({
  uid: string(),
  lastUpdatedAt: string(),
  active: boolean(),
  conditions: SHOWN_CONDITIONS,
  actions: list(
    object({
      selector: object({ id: string(), indexUid: optional(string()) }),
      action: object({
        type: declared<'pin' | 'hide'>(string()),
        position: optional(integer({ minimum: 0 })),
      }),
    }),
  ),
  description: optional(string()),
  /** Lower comes first; absent comes last. */
  precedence: optional(integer({ minimum: 0 })),
});
export type SearchRuleView = Static<typeof SEARCH_RULE>;

/** As stored. */
export interface SearchRule extends SearchRuleView {
  createdAt: string;
}

/** The patch as tasks show it: conditions that it removes are absent, a filter has values. */
export function shownRulePatch(patch: SearchRulePatch): object {
  if (!patch.conditions) return patch;
  const { filter } = patch.conditions;
  const conditions = {
    ...patch.conditions,
    ...(filter && { filter: { values: filter.values ?? {} } }),
  };
  return { ...patch, conditions: withoutNulls(conditions, 1) };
}

/** The object without null members, `depth` levels down. */
function withoutNulls(object: object, depth: number): object {
  const kept = Object.entries(object).filter(([, value]) => value !== null);
  if (depth === 0) return Object.fromEntries(kept);
  return Object.fromEntries(
    kept.map(([name, value]) => [name, withoutNulls(value as object, depth - 1)]),
  );
}

const CONDITIONS = 'invalid_dynamic_search_rule_conditions';
const ACTIONS = 'invalid_dynamic_search_rule_actions';
const POSITION_MAX = 2 ** 32 - 1;

/** Maximum number of stored rules, and of actions of one. */
export const RULES_MAX = 75_000;
const RULE_ACTIONS_MAX = 1_000;

/** Maximum JSON size of one rule, and of all together, bytes. */
export const RULE_BYTES_MAX = 1024 * 1024;
export const RULES_BYTES_MAX = 64 * 1024 * 1024;

/** Maximum number of rules in one page of the list. */
export const LISTED_RULES_MAX = 1_000;

/** One code for every fault at a value and inside it. */
function coded(code: ErrorCode) {
  return { 'x-code': code, 'x-key-code': code, 'x-missing-code': code } as const;
}
const OF_CONDITIONS = coded(CONDITIONS);
const OF_ACTIONS = coded(ACTIONS);

/** An object whose members stand among those around it in a form. */
const UNTITLED = { title: '' };

/** A part of the conditions; its members and itself may be absent or null. */
function conditions<P extends TProperties>(members: P, options: Pick<Schema, 'title'> = {}) {
  return nullable(object(optionals(members), { ...OF_CONDITIONS, ...options }));
}

function moment(title: string) {
  return nullable(string({ title, format: 'moment', ...OF_CONDITIONS }));
}

const ACTION = object(
  {
    selector: object(
      {
        indexUid: optional(nullable(indexUid({ title: 'Index', ...OF_ACTIONS }))),
        id: string({ title: 'Document id', ...OF_ACTIONS }),
      },
      { ...UNTITLED, ...OF_ACTIONS },
    ),
    action: object(
      {
        type: oneOf(['pin', 'hide'], { title: 'Action', ...OF_ACTIONS }),
        position: optional(
          nullable(
            integer({
              title: 'Position',
              description: 'Of a pin: 0 is the first position.',
              minimum: 0,
              maximum: POSITION_MAX,
              ...OF_ACTIONS,
            }),
          ),
        ),
      },
      { ...UNTITLED, ...OF_ACTIONS },
    ),
  },
  { title: 'Document', ...OF_ACTIONS },
);

export const PATCH_RULE = object(
  optionals({
    description: nullable(string({ 'x-code': 'invalid_dynamic_search_rule_description' })),
    precedence: nullable(
      integer({
        title: 'Precedence',
        description: 'A whole number. Lower numbers take precedence; empty comes last.',
        minimum: 0,
        'x-code': 'invalid_dynamic_search_rule_priority',
      }),
    ),
    active: nullable(boolean({ 'x-code': 'invalid_dynamic_search_rule_active' })),
    conditions: conditions(
      {
        time: conditions({ start: moment('From'), end: moment('Until') }, UNTITLED),
        query: conditions(
          {
            isEmpty: nullable(
              boolean({
                title: 'The query',
                'x-words': { '': 'can be anything', true: 'is empty', false: 'is not empty' },
                ...OF_CONDITIONS,
              }),
            ),
            words: nullable(
              string({
                title: 'Words of the query',
                description: 'The query must contain each of these as whole words, in any order.',
                ...OF_CONDITIONS,
              }),
            ),
          },
          UNTITLED,
        ),
        filter: conditions(
          {
            values: nullable(
              declared<Record<string, unknown>>({
                title: 'Values that must pass the filter',
                description: 'As JSON, by field, for example {"genre": "shoes"}.',
                type: 'object',
                ...OF_CONDITIONS,
              }),
            ),
          },
          UNTITLED,
        ),
      },
      { title: 'Applies when' },
    ),
    actions: nullable(
      list(ACTION, { title: 'Documents', maxItems: RULE_ACTIONS_MAX, ...OF_ACTIONS }),
    ),
  }),
);
export type SearchRulePatch = Static<typeof PATCH_RULE>;

const RULE_FILTER = 'invalid_dynamic_search_rule_filter';

export const LIST_RULES = object(
  optionals({
    ...pageMembers('invalid_dynamic_search_rule_offset', 'invalid_dynamic_search_rule_limit'),
    filter: nullable(
      object(
        optionals({
          query: nullable(string({ 'x-code': 'invalid_dynamic_search_rule_filter_query' })),
          active: nullable(boolean({ 'x-code': 'invalid_dynamic_search_rule_filter_active' })),
        }),
        { 'x-code': RULE_FILTER, 'x-key-code': RULE_FILTER },
      ),
    ),
  }),
);
export type ListRulesRequest = Static<typeof LIST_RULES>;

/** Letters, digits, `-` and `_`, at most 512. */
export function isRuleUid(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,512}$/.test(text);
}

const RFC3339 =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** Milliseconds since 1970 of a moment; NaN when the text is none. */
export function momentOf(text: string): number {
  return RFC3339.test(text) ? Date.parse(text.toUpperCase().replace(' ', 'T')) : NaN;
}

/** Returns what is wrong with a body beyond the types of its values, including its index uids. */
export function rulePatchFault({ conditions, actions }: SearchRulePatch): ApiError | null {
  const { start, end } = conditions?.time ?? {};
  for (const [name, text] of Object.entries({ start, end })) {
    if (text === undefined || text === null || !Number.isNaN(momentOf(text))) continue;
    return new ApiError(
      CONDITIONS,
      `\`.conditions.time.${name}\`: \`${text}\` is not a date (RFC 3339).`,
    );
  }
  if (start && end && momentOf(start) > momentOf(end)) {
    return new ApiError('bad_request', '`.conditions.time`: `start` is after `end`.');
  }
  const { isEmpty, words } = conditions?.query ?? {};
  if (isEmpty === true && words !== undefined && words !== null) {
    return new ApiError('bad_request', '`.conditions.query`: an empty query has no `words`.');
  }
  for (const [n, { selector, action }] of (actions ?? []).entries()) {
    const at = `\`.actions[${n}].`;
    const hasPosition = (action.position ?? null) !== null;
    if ((action.type === 'pin') !== hasPosition) {
      return new ApiError(ACTIONS, `${at}action\`: a pin has a \`position\`, a hide none.`);
    }
    const uid = selector.indexUid ?? null;
    if (uid === null || isIndexUid(uid)) continue;
    const isNone = `\`${uid}\` is not the uid of an index.`;
    return new ApiError(ACTIONS, `${at}selector.indexUid\`: ${isNone}`);
  }
  return null;
}

/** The rule with a change applied: absent members stay, null resets. */
export function changedRule(
  uid: string,
  rule: SearchRule | undefined,
  patch: SearchRulePatch,
  now: string,
): SearchRule {
  const before = rule ?? { active: true, conditions: {}, actions: [], createdAt: now };
  const description = patch.description === undefined ? rule?.description : patch.description;
  const precedence = patch.precedence === undefined ? rule?.precedence : patch.precedence;
  return {
    uid,
    ...(description === undefined || description === null ? {} : { description }),
    lastUpdatedAt: now,
    ...(precedence === undefined || precedence === null ? {} : { precedence }),
    active: patch.active === undefined ? before.active : (patch.active ?? true),
    conditions: patch.conditions === undefined ? before.conditions : present(patch.conditions),
    actions:
      patch.actions === undefined ? before.actions : (patch.actions ?? []).map(completeAction),
    createdAt: before.createdAt,
  };
}

function completeAction({
  selector,
  action,
}: Static<typeof ACTION>): SearchRule['actions'][number] {
  const { indexUid, id } = selector;
  const { type } = action;
  const position = action.position ?? null;
  const named = indexUid === undefined || indexUid === null ? { id } : { indexUid, id };
  return { selector: named, action: position === null ? { type } : { type, position } };
}

/** The parts that are present, in the order in which they are shown. */
function present(conditions: SearchRulePatch['conditions']): SearchRule['conditions'] {
  const shown: SearchRule['conditions'] = {};
  const { time, query, filter } = conditions ?? {};
  if (time) shown.time = given(time, ['start', 'end']);
  if (query) shown.query = given(query, ['isEmpty', 'words']);
  if (filter) shown.filter = { values: filter.values ?? {} };
  return shown;
}

function given(value: Record<string, unknown>, names: string[]): Record<string, never> {
  const kept = names.filter((name) => value[name] !== undefined && value[name] !== null);
  return Object.fromEntries(kept.map((name) => [name, value[name]])) as Record<string, never>;
}

export function ruleView(rule: SearchRule): Record<string, unknown> {
  const shown: Partial<SearchRule> = { ...rule };
  delete shown.createdAt;
  return shown;
}

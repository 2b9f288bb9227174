/**
 * Dynamic search rules: they put documents at fixed positions of search results while conditions
 * hold.
 */
import { ApiError } from './errors.ts';
import { isIndexUid } from './formats.ts';
import { INDEX_UID_SCHEMA, type Schema } from './schema.ts';

export interface RuleConditions {
  time?: { start?: string; end?: string };
  query?: { isEmpty?: boolean; words?: string };
  filter?: { values: Record<string, unknown> };
}

export interface RuleAction {
  selector: { indexUid?: string; id: string };
  action: { type: 'pin'; position: number };
}

/** As stored and, except for `createdAt`, shown. Moments are RFC 3339. */
export interface SearchRule {
  uid: string;
  description?: string;
  lastUpdatedAt: string;
  /** Lower comes first; absent comes last. */
  precedence?: number;
  active: boolean;
  conditions: RuleConditions;
  actions: RuleAction[];
  createdAt: string;
}

export interface SearchRulePatch {
  description?: string | null;
  precedence?: number | null;
  active?: boolean | null;
  conditions?: {
    time?: { start?: string | null; end?: string | null } | null;
    query?: { isEmpty?: boolean | null; words?: string | null } | null;
    filter?: { values?: Record<string, unknown> | null } | null;
  } | null;
  actions?: RuleAction[] | null;
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

const MOMENT: Schema = { type: ['string', 'null'], format: 'moment' };
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

/** Uses one code for every fault inside. */
function coded(code: string, schema: Schema): Schema {
  const inner: Schema = {
    ...schema,
    'x-code': code,
    'x-key-code': code,
    'x-missing-code': code,
  } as Schema;
  if (schema.properties !== undefined) {
    inner.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, child]) => [name, coded(code, child)]),
    );
  }
  if (schema.items !== undefined) inner.items = coded(code, schema.items);
  return inner;
}

function object(properties: Record<string, Schema>, required: string[], nullable: boolean): Schema {
  return {
    type: nullable ? ['object', 'null'] : 'object',
    properties,
    required,
    additionalProperties: false,
  };
}

export const PATCH_RULE: Schema = {
  type: 'object',
  properties: {
    description: { type: ['string', 'null'], 'x-code': 'invalid_dynamic_search_rule_description' },
    precedence: {
      type: ['integer', 'null'],
      minimum: 0,
      'x-code': 'invalid_dynamic_search_rule_priority',
    },
    active: { type: ['boolean', 'null'], 'x-code': 'invalid_dynamic_search_rule_active' },
    conditions: coded(
      CONDITIONS,
      object(
        {
          time: object({ start: MOMENT, end: MOMENT }, [], true),
          query: object(
            { isEmpty: { type: ['boolean', 'null'] }, words: { type: ['string', 'null'] } },
            [],
            true,
          ),
          filter: object({ values: { type: ['object', 'null'] } }, [], true),
        },
        [],
        true,
      ),
    ),
    actions: coded(ACTIONS, {
      type: ['array', 'null'],
      maxItems: RULE_ACTIONS_MAX,
      items: object(
        {
          selector: object(
            {
              indexUid: { ...INDEX_UID_SCHEMA, type: ['string', 'null'], 'x-code': ACTIONS },
              id: { type: 'string' },
            },
            ['id'],
            false,
          ),
          action: object(
            {
              type: { type: 'string', enum: ['pin'] },
              position: { type: 'integer', minimum: 0, maximum: POSITION_MAX },
            },
            ['type', 'position'],
            false,
          ),
        },
        ['selector', 'action'],
        false,
      ),
    }),
  },
  additionalProperties: false,
};

export interface ListRulesRequest {
  offset?: number;
  limit?: number;
  filter?: { query?: string | null; active?: boolean | null } | null;
}

export const LIST_RULES: Schema = {
  type: 'object',
  properties: {
    offset: {
      type: 'integer',
      minimum: 0,
      default: 0,
      'x-code': 'invalid_dynamic_search_rule_offset',
    },
    limit: {
      type: 'integer',
      minimum: 0,
      default: 20,
      'x-code': 'invalid_dynamic_search_rule_limit',
    },
    filter: {
      type: ['object', 'null'],
      properties: {
        query: { type: ['string', 'null'], 'x-code': 'invalid_dynamic_search_rule_filter_query' },
        active: {
          type: ['boolean', 'null'],
          'x-code': 'invalid_dynamic_search_rule_filter_active',
        },
      },
      additionalProperties: false,
      'x-code': 'invalid_dynamic_search_rule_filter',
      'x-key-code': 'invalid_dynamic_search_rule_filter',
    },
  },
  additionalProperties: false,
};

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
  for (const [n, { selector }] of (actions ?? []).entries()) {
    const uid = selector.indexUid ?? null;
    if (uid === null || isIndexUid(uid)) continue;
    return new ApiError(
      ACTIONS,
      `\`.actions[${n}].selector.indexUid\`: \`${uid}\` is not the uid of an index.`,
    );
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

function completeAction({ selector, action }: RuleAction): RuleAction {
  const { indexUid, id } = selector;
  const { type, position } = action;
  const named = indexUid === undefined || indexUid === null ? { id } : { indexUid, id };
  return { selector: named, action: { type, position } };
}

/** The parts that are present, in the order in which they are shown. */
function present(conditions: SearchRulePatch['conditions']): RuleConditions {
  const shown: RuleConditions = {};
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

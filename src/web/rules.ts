/** Dynamic search rules: conversion between the API and the form on the page. */
export interface Rule {
  readonly uid: string;
  readonly description?: string;
  readonly precedence?: number;
  readonly active: boolean;
  readonly conditions: {
    readonly time?: { readonly start?: string; readonly end?: string };
    readonly query?: { readonly isEmpty?: boolean; readonly words?: string };
    readonly filter?: { readonly values: Readonly<Record<string, unknown>> };
  };
  readonly actions: readonly {
    readonly selector: { readonly indexUid?: string; readonly id: string };
    readonly action: { readonly type: 'pin'; readonly position: number };
  }[];
}

/** The form fields of a pin. */
export interface PinDraft {
  /** Empty: any index. */
  readonly indexUid: string;
  readonly id: string;
  readonly position: string;
}

/** The form fields of a rule. An empty field adds no condition. */
export interface RuleDraft {
  readonly uid: string;
  readonly description: string;
  readonly precedence: string;
  readonly active: boolean;
  /** Local time, `YYYY-MM-DDTHH:MM`. */
  readonly start: string;
  readonly end: string;
  readonly query: '' | 'empty' | 'given';
  readonly words: string;
  /** A JSON object, by field. */
  readonly values: string;
  readonly pins: readonly PinDraft[];
}

export const NEW_PIN: PinDraft = { indexUid: '', id: '', position: '0' };

export function draftOf(rule: Rule | null): RuleDraft {
  const { time, query, filter } = rule?.conditions ?? {};
  return {
    uid: rule?.uid ?? '',
    description: rule?.description ?? '',
    precedence: String(rule?.precedence ?? ''),
    active: rule?.active ?? true,
    start: localMoment(time?.start),
    end: localMoment(time?.end),
    query: query?.isEmpty === undefined ? '' : query.isEmpty ? 'empty' : 'given',
    words: query?.words ?? '',
    values: filter === undefined ? '' : JSON.stringify(filter.values, null, 2),
    pins: rule?.actions.map(({ selector, action }) => ({
      indexUid: selector.indexUid ?? '',
      id: selector.id,
      position: String(action.position),
    })) ?? [NEW_PIN],
  };
}

/**
 * The request body that changes `rule` (null: a new rule) to what was typed. Throws an error when
 * `values` is not a JSON object.
 */
export function ruleChange(rule: Rule | null, draft: RuleDraft): Record<string, unknown> {
  const { description, precedence, active, start, end, query, words, values, pins } = draft;
  const time = rule?.conditions.time;
  const moments = {
    ...(start !== '' && { start: sentMoment(start, time?.start) }),
    ...(end !== '' && { end: sentMoment(end, time?.end) }),
  };
  const ofQuery = {
    ...(query !== '' && { isEmpty: query === 'empty' }),
    ...(words !== '' && { words }),
  };
  return {
    description: description === '' ? null : description,
    precedence: precedence === '' ? null : Number(precedence),
    active,
    conditions: {
      ...(Object.keys(moments).length > 0 && { time: moments }),
      ...(Object.keys(ofQuery).length > 0 && { query: ofQuery }),
      ...(values.trim() !== '' && { filter: { values: valuesOf(values) } }),
    },
    actions: pins.map(({ indexUid, id, position }) => ({
      selector: { ...(indexUid !== '' && { indexUid }), id },
      action: { type: 'pin', position: Number(position) },
    })),
  };
}

function valuesOf(text: string): object {
  const value: unknown = parsed(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new Error('The values by field must be a JSON object, such as {"genre": "shoes"}.');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The values by field are not valid JSON: ${(error as Error).message}`);
  }
}

/** Keeps the stored time, including seconds and time zone, unless a different time was typed. */
function sentMoment(typed: string, before: string | undefined): string {
  return before !== undefined && localMoment(before) === typed
    ? before
    : new Date(typed).toISOString();
}

function localMoment(text: string | undefined): string {
  if (text === undefined) return '';
  const date = new Date(text);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Describes the conditions of a rule, one sentence each. */
export function conditionWords({ conditions }: Rule, shown: (moment: string) => string): string[] {
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

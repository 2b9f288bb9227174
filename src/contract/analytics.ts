/** Usage events, the recorded data of searches, and the queries of the reports on both. */
import {
  boolean,
  date,
  declared,
  indexUid,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  optionals,
  starList,
  string,
  type Static,
} from './declare.ts';
import { pageMembers } from './pages.ts';
import { ApiError } from './errors.ts';

const EVENT_TYPES = ['click', 'conversion'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

const POSITION_MAX = 2 ** 32 - 1;
/** Characters of event names and ids. */
const EVENT_TEXT_MAX = 512;
/** The primary key of the document, as a number or a text; both spellings are accepted. */
const ID = declared<string | number | null>({
  type: ['string', 'integer', 'null'],
  maxLength: EVENT_TEXT_MAX,
});
const TEXT = nullable(string({ maxLength: EVENT_TEXT_MAX }));

/** The body of `POST /events`. */
export const USAGE_EVENT = object({
  eventType: oneOf(EVENT_TYPES),
  eventName: string({ minLength: 1, maxLength: EVENT_TEXT_MAX }),
  indexUid: indexUid({ 'x-missing-code': 'missing_index_uid' }),
  ...optionals({
    objectId: ID,
    objectID: ID,
    objectName: nullable(string()),
    // In the results, as the front end counts.
    position: nullable(integer({ minimum: 0, maximum: POSITION_MAX })),
    // Used when the header `X-SVC-USER-ID` is absent.
    userId: TEXT,
    // `metadata.queryUid` of the response that the user clicked in.
    queryUid: TEXT,
  }),
});
export type UsageEvent = Static<typeof USAGE_EVENT>;

/** Returns what is wrong with an event beyond its schema. */
export function usageEventFault(event: UsageEvent): ApiError | null {
  const { objectId = null, objectID = null } = event;
  if (objectId !== null && objectID !== null && String(objectId) !== String(objectID)) {
    return new ApiError(
      'bad_request',
      `\`objectId\` and \`objectID\` name different documents: \`${objectId}\` and \`${objectID}\`.`,
    );
  }
  return null;
}

/** Maximum number of rows in one report. */
const REPORT_ROWS_MAX = 1000;

const RANGE = optionals({
  indexUids: starList(indexUid(), 'invalid_index_uid'),
  // A plain date means its start, inclusive; as an end it means its end, exclusive.
  from: date('date-before'),
  to: date('date-after'),
  format: oneOf(['json', 'csv'], { default: 'json' }),
});

const PAGE = optionals(pageMembers(undefined, undefined, REPORT_ROWS_MAX));

export const QUERY_REPORT_QUERY = object({
  ...RANGE,
  // Leave out the partial queries that a user typed before a longer one.
  finalQueries: optional(boolean({ default: false })),
  ...PAGE,
});
export type QueryReportQuery = Static<typeof QUERY_REPORT_QUERY>;

export const FILTER_REPORT_QUERY = object({ ...RANGE, ...PAGE });

const GROUPINGS = ['index', 'day'] as const;
export type Grouping = (typeof GROUPINGS)[number];

export const SUMMARY_QUERY = object({
  ...RANGE,
  groupBy: optional(list(oneOf(GROUPINGS), { 'x-query': 'comma-list' })),
});
export type SummaryQuery = Static<typeof SUMMARY_QUERY>;

/** One search as stored: its values in this order. */
export type SearchRow = [
  kind: typeof SEARCH_ROW,
  at: number,
  id: number,
  indexUid: string,
  query: string,
  /** JSON, or null. */
  filter: string | null,
  /** Total hits; -1: unknown. */
  hits: number,
  /** Microseconds. */
  duration: number,
  user: string,
  interleaved?: Interleaved,
];

/**
 * Which documents of the page each index has given, by the beginnings of their keys: those of the
 * index that was searched, then those of the other one.
 */
export type Interleaved = [uid: string, own: string, others: string];

/** One event. */
export type EventRow = [
  kind: typeof CLICK_ROW | typeof CONVERSION_ROW,
  at: number,
  /** Id of the search that the event belongs to; -1: none. */
  search: number,
  indexUid: string,
  /** The query of that search. */
  query: string | null,
  name: string,
  objectId: string | null,
  /** -1: not given. */
  position: number,
  user: string,
  /** 1: the first of its kind for its search. */
  first: 0 | 1,
  /**
   * The other index of an interleaved search, which one has given the document, and the user who
   * has searched: the event may not name that one.
   */
  credit?: [uid: string, team: 0 | 1, user: string],
];

export type AnalyticsRow = SearchRow | EventRow;

export const SEARCH_ROW = 0;
export const CLICK_ROW = 1;
export const CONVERSION_ROW = 2;

export function isSearchRow(row: AnalyticsRow): row is SearchRow {
  return row[0] === SEARCH_ROW;
}

/** @param text JSON texts of rows, separated by commas, as stored */
export function parseRows(text: string): AnalyticsRow[] {
  return JSON.parse(`[${text}]`) as AnalyticsRow[];
}

/** The same, of another server. null: they are none, or not ordered by time. */
export function checkedRows(text: string): AnalyticsRow[] | null {
  let rows: unknown;
  try {
    rows = JSON.parse(`[${text}]`);
  } catch {
    return null;
  }
  let last = 0;
  for (const row of rows as unknown[]) {
    if (!isRow(row) || row[1] < last) return null;
    last = row[1];
  }
  return rows as AnalyticsRow[];
}

type Kind = 'number' | 'string' | 'text or null' | 'credit' | 'uid and texts';
const SEARCH_KINDS: readonly Kind[] = [
  ...(['number', 'number', 'number', 'string', 'string'] as const),
  ...(['text or null', 'number', 'number', 'string', 'uid and texts'] as const),
];
const EVENT_KINDS: readonly Kind[] = [
  ...(['number', 'number', 'number', 'string', 'text or null'] as const),
  ...(['string', 'text or null', 'number', 'string', 'number', 'credit'] as const),
];

function isRow(row: unknown): row is AnalyticsRow {
  if (!Array.isArray(row) || ![SEARCH_ROW, CLICK_ROW, CONVERSION_ROW].includes(row[0]))
    return false;
  const kinds = row[0] === SEARCH_ROW ? SEARCH_KINDS : EVENT_KINDS;
  // The last value is that of interleaved searches.
  const isWhole = row.length === kinds.length || row.length === kinds.length - 1;
  return isWhole && row.every((value, n) => isOf(kinds[n]!, value));
}

function isOf(kind: Kind, value: unknown): boolean {
  if (kind === 'text or null') return value === null || typeof value === 'string';
  if (kind === 'number' || kind === 'string') return typeof value === kind;
  if (!Array.isArray(value) || typeof value[0] !== 'string') return false;
  if (value.length !== 3 || typeof value[2] !== 'string') return false;
  return kind === 'credit' ? value[1] === 0 || value[1] === 1 : typeof value[1] === 'string';
}

/** Usage events, the recorded data of searches, and the queries of the reports on both. */
import { ApiError } from './errors.ts';
import { INDEX_UID_SCHEMA, type Schema } from './schema.ts';

const EVENT_TYPES = ['click', 'conversion'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The body of `POST /events`. */
export interface UsageEvent {
  eventType: EventType;
  eventName: string;
  indexUid: string;
  /** The primary key of the document, as a number or a text; both spellings are accepted. */
  objectId?: string | number | null;
  objectID?: string | number | null;
  objectName?: string | null;
  /** Position in the results, as the front end counts. */
  position?: number | null;
  /** Used when the header `X-SVC-USER-ID` is absent. */
  userId?: string | null;
  /** `metadata.queryUid` of the response that the user clicked in. */
  queryUid?: string | null;
}

const POSITION_MAX = 2 ** 32 - 1;
/** Characters of event names and ids. */
const EVENT_TEXT_MAX = 512;
const ID: Schema = { type: ['string', 'integer', 'null'], maxLength: EVENT_TEXT_MAX };
const TEXT: Schema = { type: ['string', 'null'], maxLength: EVENT_TEXT_MAX };

export const USAGE_EVENT: Schema = {
  type: 'object',
  properties: {
    eventType: { type: 'string', enum: EVENT_TYPES },
    eventName: { type: 'string', minLength: 1, maxLength: EVENT_TEXT_MAX },
    indexUid: { ...INDEX_UID_SCHEMA, 'x-missing-code': 'missing_index_uid' },
    objectId: ID,
    objectID: ID,
    objectName: { type: ['string', 'null'] },
    position: { type: ['integer', 'null'], minimum: 0, maximum: POSITION_MAX },
    userId: TEXT,
    queryUid: TEXT,
  },
  required: ['eventType', 'eventName', 'indexUid'],
  additionalProperties: false,
};

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

export interface ReportQuery {
  indexUids?: string[];
  /** Milliseconds since the epoch, inclusive. */
  from?: number;
  /** Milliseconds since the epoch, exclusive. */
  to?: number;
  format?: 'json' | 'csv';
}

const RANGE: Record<string, Schema> = {
  indexUids: {
    type: 'array',
    items: { type: 'string', format: 'index-uid', 'x-code': 'invalid_index_uid' },
    'x-query': 'star-list',
    'x-code': 'invalid_index_uid',
  },
  // A plain date means its start; as an end it means its end.
  from: { type: 'string', 'x-query': 'date-before' },
  to: { type: 'string', 'x-query': 'date-after' },
  format: { type: 'string', enum: ['json', 'csv'], default: 'json' },
};

export interface QueryReportQuery extends ReportQuery {
  /** Leave out the partial queries that a user typed before a longer one. */
  finalQueries?: boolean;
  offset?: number;
  limit?: number;
}

const PAGE: Record<string, Schema> = {
  offset: { type: 'integer', minimum: 0, default: 0 },
  limit: { type: 'integer', minimum: 0, maximum: REPORT_ROWS_MAX, default: 20 },
};

export const QUERY_REPORT_QUERY: Schema = {
  type: 'object',
  properties: { ...RANGE, finalQueries: { type: 'boolean', default: false }, ...PAGE },
  additionalProperties: false,
};

export const FILTER_REPORT_QUERY: Schema = {
  type: 'object',
  properties: { ...RANGE, ...PAGE },
  additionalProperties: false,
};

const GROUPINGS = ['index', 'day'] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface SummaryQuery extends ReportQuery {
  groupBy?: Grouping[];
}

export const SUMMARY_QUERY: Schema = {
  type: 'object',
  properties: {
    ...RANGE,
    groupBy: {
      type: 'array',
      items: { type: 'string', enum: GROUPINGS },
      'x-query': 'comma-list',
    },
  },
  additionalProperties: false,
};

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
];

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

type Kind = 'number' | 'string' | 'text or null';
const SEARCH_KINDS: readonly Kind[] = [
  ...(['number', 'number', 'number', 'string', 'string'] as const),
  ...(['text or null', 'number', 'number', 'string'] as const),
];
const EVENT_KINDS: readonly Kind[] = [
  ...(['number', 'number', 'number', 'string', 'text or null'] as const),
  ...(['string', 'text or null', 'number', 'string', 'number'] as const),
];

function isRow(row: unknown): row is AnalyticsRow {
  if (!Array.isArray(row) || ![SEARCH_ROW, CLICK_ROW, CONVERSION_ROW].includes(row[0]))
    return false;
  const kinds = row[0] === SEARCH_ROW ? SEARCH_KINDS : EVENT_KINDS;
  return (
    row.length === kinds.length &&
    kinds.every((kind, n) =>
      kind === 'text or null'
        ? row[n] === null || typeof row[n] === 'string'
        : typeof row[n] === kind,
    )
  );
}

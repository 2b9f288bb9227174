/**
 * Formats of texts in requests. Each check returns the violated rule, as the end of a sentence
 * about the value, or null.
 */
import { parseSize } from '../base/size.ts';

export type FormatName =
  | 'index-uid'
  | 'index-pattern'
  | 'uuid'
  | 'key-date'
  | 'http-url'
  | 'document-id'
  | 'ranking-rule'
  | 'csv-delimiter'
  | 'size'
  | 'sort-criterion'
  | 'moment'
  | 'rule-uid'
  | 'header-name'
  | 'header-value'
  | 'auto';

export const INDEX_UID_RULE =
  'an index uid has 1 to 400 bytes, each an ASCII letter, a digit, a hyphen (-) or an underscore (_)';

const INDEX_UID = /^[A-Za-z0-9_-]{1,400}$/;

export function isIndexUid(text: string): boolean {
  return INDEX_UID.test(text);
}

export function isIndexPattern(text: string): boolean {
  if (text === '*') return true;
  return isIndexUid(text.endsWith('*') ? text.slice(0, -1) : text);
}

/** Characters allowed in a header name and a header value (RFC 9110, 5.1 and 5.5). */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers that say where a request goes and where it ends. Only the HTTP client sets them. */
const HEADERS_OF_CLIENT = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'keep-alive', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
]);

/** Maximum number of headers that are stored for one receiver. */
export const STORED_HEADERS_MAX = 200;

/** Why headers cannot be stored to be sent with requests, or null. Values are not quoted. */
export function headersFault(headers: Readonly<Record<string, string>>): string | null {
  const entries = Object.entries(headers);
  if (entries.length > STORED_HEADERS_MAX) {
    return `at most ${STORED_HEADERS_MAX} headers are possible`;
  }
  for (const [name, value] of entries) {
    if (!HEADER_NAME.test(name)) return `\`${name}\` is not a header name`;
    if (HEADERS_OF_CLIENT.has(name.toLowerCase())) {
      return `the header \`${name}\` cannot be set: the server sets it for each request`;
    }
    if (!HEADER_VALUE.test(value)) return `the value of \`${name}\` has illegal characters`;
  }
  return null;
}

const UUID =
  /^(?:urn:uuid:)?(?:([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})|([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12}))$/i;

/** The hyphenated lower-case form of a UUID in any of its text forms; undefined when it is none. */
export function normalizeUuid(text: string): string | undefined {
  const bare = text.startsWith('{') && text.endsWith('}') ? text.slice(1, -1) : text;
  const match = UUID.exec(bare);
  if (match === null) return undefined;
  const groups = match.slice(1).filter((group) => group !== undefined);
  return groups.join('-').toLowerCase();
}

export const DOCUMENT_ID_RULE =
  'a document id is an integer, or a string of 1 to 511 bytes, each an ASCII letter, a digit, a hyphen (-) or an underscore (_)';

const DOCUMENT_ID = /^[A-Za-z0-9_-]{1,511}$/;

export function isDocumentId(text: string): boolean {
  return DOCUMENT_ID.test(text);
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d+)?(?:([Zz])|([+-])(\d\d):(\d\d))?$/;

/** Milliseconds of midnight UTC of a calendar day, or undefined. */
export function parsePlainDate(text: string): number | undefined {
  const match = DATE.exec(text);
  return match === null ? undefined : dayStart(match);
}

function dayStart(match: RegExpExecArray): number | undefined {
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (month < 1 || month > 12 || day < 1) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 ? date.getTime() : undefined;
}

function parseDateTime(text: string, offsetRequired: boolean): number | undefined {
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const start = dayStart(match);
  const [hour, minute, second] = [Number(match[4]), Number(match[5]), Number(match[6])];
  if (start === undefined || hour > 23 || minute > 59 || second > 59) return undefined;
  let offset = 0;
  if (match[9] !== undefined) {
    const [hours, minutes] = [Number(match[10]), Number(match[11])];
    if (hours > 23 || minutes > 59) return undefined;
    offset = (match[9] === '-' ? -1 : 1) * (hours * 60 + minutes);
  } else if (match[8] === undefined && offsetRequired) return undefined;
  const whole = start + ((hour * 60 + minute - offset) * 60 + second) * 1000;
  return match[7] === undefined ? whole : (whole * 1000 + microseconds(match[7])) / 1000;
}

/**
 * Converts the digits of a fraction of a second. Finer digits become half a microsecond: a value
 * between those of any two tasks.
 */
function microseconds(fraction: string): number {
  const finer = /[1-9]/.test(fraction.slice(7));
  return Number(fraction.slice(1, 7).padEnd(6, '0')) + (finer ? 0.5 : 0);
}

/** RFC 3339 with an offset. Milliseconds with microseconds as fraction, like the times of tasks. */
export function parseRfc3339(text: string): number | undefined {
  return text[10] === ' ' ? undefined : parseDateTime(text, true);
}

/** The forms of a key's expiry: with or without offset (then UTC), or a plain day. */
export function parseKeyDate(text: string): number | undefined {
  return parsePlainDate(text) ?? parseDateTime(text, false);
}

/** A valid expiry as RFC 3339: with the offset it was sent with, or `Z`. */
export function canonicalKeyDate(text: string): string {
  if (DATE.test(text)) return `${text}T00:00:00Z`;
  const [, year, month, day, hour, minute, second, fraction = '', utc, sign, hours, minutes] =
    DATE_TIME.exec(text)!;
  const digits = fraction.slice(0, 10).replace(/\.?0*$/, '');
  const offset =
    utc !== undefined || sign === undefined || `${hours}${minutes}` === '0000'
      ? 'Z'
      : `${sign}${hours}:${minutes}`;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${digits}${offset}`;
}

export const KEY_DATE_RULE =
  'accepted are RFC 3339 (`2042-05-23T12:00:00Z`), `YYYY-MM-DDTHH:MM:SS`, `YYYY-MM-DD HH:MM:SS` and `YYYY-MM-DD`';

/** The rules declared by the engine, in `native/search/ranking/rules/`, that settings may name. */
export const RANKING_RULES = [
  'words',
  'typo',
  'proximity',
  'attribute',
  'attributeRank',
  'wordPosition',
  'sort',
  'exactness',
] as const;

const RESERVED_SORT_FIELD =
  /^(?:_geo|_geojson|_geoDistance|_geoPoint|_geoRadius|_geoBoundingBox|_geoPolygon)$|^(?:_geo|_geoDistance|_geoPoint|_geoRadius|_geoBoundingBox|_geoPolygon)\(.*\)$/s;

export function isReservedSortField(field: string): boolean {
  return RESERVED_SORT_FIELD.test(field);
}

function rankingRuleFault(text: string): string | null {
  if ((RANKING_RULES as readonly string[]).includes(text)) return null;
  const colon = text.lastIndexOf(':');
  const field = text.slice(0, colon);
  const direction = text.slice(colon + 1);
  if (colon <= 0 || (direction !== 'asc' && direction !== 'desc')) {
    return `accepted are ${RANKING_RULES.map((rule) => `\`${rule}\``).join(', ')}, and \`<attribute>:asc\` or \`<attribute>:desc\``;
  }
  if (isReservedSortField(field)) {
    return `\`${field}\` is reserved and cannot be used in a ranking rule`;
  }
  return null;
}

export const FORMATS: Readonly<Record<FormatName, (text: string) => string | null>> = {
  'index-uid': (text) => (isIndexUid(text) ? null : INDEX_UID_RULE),
  'index-pattern': (text) =>
    isIndexPattern(text)
      ? null
      : `an index pattern is \`*\`, or an index uid that may end in one \`*\`; ${INDEX_UID_RULE}`,
  uuid: (text) =>
    normalizeUuid(text) === undefined ? 'a UUID of 32 hexadecimal digits is expected' : null,
  'key-date': (text) => (parseKeyDate(text) === undefined ? KEY_DATE_RULE : null),
  'http-url': (text) => urlFault(text),
  'document-id': (text) => (isDocumentId(text) ? null : DOCUMENT_ID_RULE),
  'ranking-rule': rankingRuleFault,
  'csv-delimiter': csvDelimiterFault,
  size: (text) => (parseSize(text) === undefined ? 'a size is for instance `20 MiB`' : null),
  // Faults of these are reported after all fields of the request are valid, with a text that
  // depends on the parameter.
  'sort-criterion': () => null,
  moment: () => null,
  'rule-uid': () => null,
  'header-name': () => null,
  'header-value': () => null,
  auto: (text) => (text === 'auto' ? null : 'the only text here is `auto`'),
};

/** The form as published: a regular expression, or a format known to JSON Schema. */
export interface PublishedForm {
  readonly pattern?: string;
  readonly format?: 'uuid' | 'uri';
}

const DAY =
  '(?:\\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)' +
  '|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)';
const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?';
const OFFSET = '(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)';

/** A day, or a moment with an offset. */
export const DATE_PATTERN = `^(?:${DAY}(?:[Tt]${TIME}${OFFSET})?)$`;

/**
 * Each form for readers of the published description: as strict as {@link FORMATS}, except that a
 * uuid is a little stricter.
 */
export const PUBLISHED_FORMS: Readonly<Record<FormatName, PublishedForm>> = {
  'index-uid': { pattern: INDEX_UID.source },
  'index-pattern': { pattern: '^(?:\\*|[A-Za-z0-9_-]{1,400}\\*?)$' },
  uuid: { format: 'uuid' },
  'key-date': { pattern: `^${DAY}(?:[Tt ]${TIME}${OFFSET}?)?$` },
  'http-url': { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s/?#]' },
  'document-id': { pattern: DOCUMENT_ID.source },
  'ranking-rule': {
    pattern: `^(?:${RANKING_RULES.join('|')}|(?!_geo)[\\s\\S]+:(?:asc|desc))$`,
  },
  'csv-delimiter': { pattern: '^[\\x00-\\x7f]$' },
  size: { pattern: '^\\s*\\d+(?:\\.\\d+)?\\s*(?:[Bb]|[KkMmGgTtPp](?:[Ii]?[Bb])?)?\\s*$' },
  'sort-criterion': { pattern: '^[\\s\\S]+:(?:asc|desc)$' },
  moment: { pattern: `^${DAY}[Tt ]${TIME}${OFFSET}$` },
  'rule-uid': { pattern: '^[A-Za-z0-9_-]{1,512}$' },
  'header-name': { pattern: HEADER_NAME.source },
  'header-value': { pattern: HEADER_VALUE.source },
  auto: { pattern: '^auto$' },
};

function csvDelimiterFault(text: string): string | null {
  const [first, second] = text;
  if (first === undefined) return 'it is empty, but one ASCII character is expected';
  if (second !== undefined) return 'it is longer than the one ASCII character that is expected';
  return first > '\x7f' ? 'it is not an ASCII character' : null;
}

function urlFault(text: string): string | null {
  const expected = 'an absolute URL such as `https://example.com` is expected';
  try {
    const { protocol } = new URL(text);
    return protocol === 'http:' || protocol === 'https:' ? null : expected;
  } catch {
    return expected;
  }
}

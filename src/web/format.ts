/** Formats numbers, sizes and times for people; parses and indents JSON. */

const COUNT = new Intl.NumberFormat('en');
const SIZE = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
/** Between a number and its unit, which stay on one line. */
const NO_BREAK = '\u00a0';
const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

export function count(value: number): string {
  return COUNT.format(value);
}

/** `3 documents`, `1 document`. */
export function counted(value: number, one: string, several = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : several}`;
}

export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${SIZE.format(value)}${NO_BREAK}${UNITS[unit]}`;
}

export function percent(ratio: number): string {
  return `${Math.round(ratio * 1000) / 10}${NO_BREAK}%`;
}

/** @param text RFC 3339 or null */
export function moment(text: string | null): string {
  return text === null ? '' : MOMENT.format(new Date(text));
}

/** A moment as `YYYY-MM-DDTHH:MM`, in the time zone of the browser. */
export function localMoment(text: string): string {
  if (text === '') return '';
  const date = new Date(text);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** The inverse of `localMoment`, as RFC 3339. null: the text is empty. */
export function momentFrom(typed: string): string | null {
  return typed === '' ? null : new Date(typed).toISOString();
}

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** @param ms since 1970 */
export function day(ms: number): string {
  return DAY.format(new Date(ms));
}

const AGO = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const AGO_UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;
const DAYS_AGO_MAX = 30;

/** `5 minutes ago`, `yesterday`; the date of what is older than a month. */
export function ago(text: string, now: number): string {
  const ms = Date.parse(text) - now;
  const unit = AGO_UNITS.find(([, length]) => -ms >= length);
  if (unit === undefined) return 'just now';
  const [name, length] = unit;
  const value = Math.ceil(ms / length);
  if (name === 'day' && -value > DAYS_AGO_MAX) return text.slice(0, 10);
  return AGO.format(value, name);
}

const DURATION = /^P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?$/;

/**
 * Milliseconds of an ISO 8601 duration without years and months; null when the text is not a
 * duration.
 */
export function durationMs(text: string | null): number | null {
  const parts = text === null ? null : DURATION.exec(text);
  if (parts === null) return null;
  const [days, hours, minutes, seconds] = parts.slice(1).map((part) => Number(part ?? 0));
  return (((days! * 24 + hours!) * 60 + minutes!) * 60 + seconds!) * 1000;
}

export function milliseconds(ms: number | null): string {
  if (ms === null) return '';
  if (ms < 1000) return `${SIZE.format(ms)}${NO_BREAK}ms`;
  if (ms < 60_000) return `${SIZE.format(ms / 1000)}${NO_BREAK}s`;
  const minutes = Math.floor(ms / 60_000);
  return `${count(minutes)}${NO_BREAK}min ${Math.round((ms % 60_000) / 1000)}${NO_BREAK}s`;
}

/** Throws an error with a message for the person who typed the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Error(`This is not valid JSON: ${(error as Error).message}`);
  }
}

/**
 * Adds line breaks and indentation between the tokens of a JSON text. Tokens stay unchanged, so no
 * number loses digits.
 */
export function indentJson(text: string): string {
  let indented = '';
  let depth = 0;
  const line = (): string => `\n${'  '.repeat(depth)}`;
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? [];
  tokens.forEach((token, position) => {
    const next = tokens[position + 1];
    if (token === '{' || token === '[') {
      depth++;
      indented += token;
      if (next !== '}' && next !== ']') indented += line();
    } else if (token === '}' || token === ']') {
      depth--;
      const before = tokens[position - 1];
      indented += before === '{' || before === '[' ? token : line() + token;
    } else if (token === ',') indented += token + line();
    else indented += token === ':' ? ': ' : token;
  });
  return indented;
}

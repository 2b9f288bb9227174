/** The ways of searching that are measured: parameters, and perhaps settings or another index. */
import { bad, BadOption } from '../../base/options.ts';
import { isObject } from '../../contract/settings/setting.ts';

/** Maximum number of ways in one run. */
const WAYS_MAX = 50;
/** Paths of a sweep that begin so are those of settings. */
const SETTINGS = 'settings.';
const TAKEN = ['q', 'limit', 'offset', 'page', 'hitsPerPage', 'attributesToRetrieve'];

export type Members = Readonly<Record<string, unknown>>;

export interface Way {
  readonly name: string;
  readonly index: string;
  readonly search: Members;
  /** Settings to change on a branch of the index; null: it is searched as it is. */
  readonly settings: Members | null;
}

export interface WayOptions {
  readonly index: string;
  /** Each as given, null: not given. */
  readonly search: string | null;
  readonly with: string | null;
  readonly withIndex: string | null;
  readonly settings: string | null;
  readonly sweep: string | null;
}

/** The index as it is comes first. Throws `BadOption`. */
export function waysOf(given: WayOptions): Way[] {
  const search = searchOf('search', given.search);
  const present: Way = { name: 'present', index: given.index, search, settings: null };
  const isChanged = [given.with, given.withIndex, given.settings].some((one) => one !== null);
  const changed: Way = {
    name: 'changed',
    index: given.withIndex ?? given.index,
    search: { ...search, ...searchOf('with', given.with) },
    settings: given.settings === null ? null : membersOf('settings', given.settings),
  };
  if (given.sweep === null) return isChanged ? [present, changed] : [present];
  const ways = swept(changed, given.sweep);
  if (ways.length >= WAYS_MAX) {
    throw new BadOption(`--sweep names ${ways.length} ways; at most ${WAYS_MAX - 1} are measured.`);
  }
  if (new Set(ways.map(({ name }) => name)).size < ways.length) {
    throw new BadOption('--sweep names a value twice.');
  }
  return [present, ...ways];
}

function membersOf(option: string, text: string): Members {
  const value = jsonOf(text);
  return isObject(value) ? value : bad(option, text, 'a JSON object');
}

function searchOf(option: string, text: string | null): Members {
  const search = text === null ? {} : membersOf(option, text);
  for (const name of Object.keys(search)) refuseTaken(option, name);
  return search;
}

function refuseTaken(option: string, name: string): void {
  if (isTaken(name)) throw new BadOption(`--${option} may not set \`${name}\`.`);
}

/** Whether the command itself sends this parameter. */
export function isTaken(name: string): boolean {
  return TAKEN.includes(name);
}

/** undefined: it is not JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** All combinations of the values of `path=value,value; path=value`. */
function swept(way: Way, sweep: string): Way[] {
  let ways: Way[] = [{ ...way, name: '' }];
  for (const part of sweep.split(/;\s*(?=[\w.]+=)/)) {
    const match = /^\s*([\w.]+)=(.+)$/s.exec(part);
    if (match === null) bad('sweep', part, 'a list such as `hybrid.semanticRatio=0.3,0.5`');
    const path = match[1]!;
    refuseTaken('sweep', path);
    const values = valuesOf(match[2]!);
    ways = ways.flatMap((one) => values.map((value) => changedBy(one, path, value)));
  }
  return ways;
}

/** Values of JSON, or else texts, separated by commas. */
function valuesOf(text: string): unknown[] {
  const list = jsonOf(`[${text}]`);
  if (Array.isArray(list)) return list;
  return text.split(',').map((part) => jsonOf(part) ?? part.trim());
}

function changedBy(way: Way, path: string, value: unknown): Way {
  const shown = typeof value === 'string' ? value : JSON.stringify(value);
  const name = `${way.name === '' ? '' : `${way.name}, `}${path}=${shown}`;
  if (!path.startsWith(SETTINGS)) {
    return { ...way, name, search: withValue(way.search, path.split('.'), value) };
  }
  const names = path.slice(SETTINGS.length).split('.');
  return { ...way, name, settings: withValue(way.settings ?? {}, names, value) };
}

function withValue(object: Members, [first, ...rest]: readonly string[], value: unknown): Members {
  const inner = object[first!];
  const changed = rest.length === 0 ? value : withValue(isObject(inner) ? inner : {}, rest, value);
  return { ...object, [first!]: changed };
}

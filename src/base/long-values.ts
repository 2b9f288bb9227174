/**
 * Long values are stored separately: a value that is only passed on as JSON ({@link RawJson}) gets
 * a key of its own, and reading the rest does not read its bytes. The object has null instead of
 * it, and its first member `long` names it with its size in bytes:
 * `{"long":{"settings/synonyms":52031},"type":"settingsUpdate","settings":{"synonyms":null}}`.
 */
import { RawJson } from './json.ts';

/** The first bytes of the JSON of an object with long values. */
export const LONG_MARK = Buffer.from('{"long":{');

type Members = Readonly<Record<string, unknown>>;

export interface Apart {
  /** The object itself when it has no long values. */
  readonly rest: Members;
  /** By path: a name, or two with a slash between. */
  readonly long: ReadonlyMap<string, RawJson>;
}

/**
 * Separates the long values, which are members of the object or of one of these. REQUIRES: no
 * member is called `long`
 */
export function longApart(whole: Members): Apart {
  const long = new Map<string, RawJson>();
  for (const [name, value] of Object.entries(whole)) {
    if (value instanceof RawJson) long.set(name, value);
    else if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
    else {
      for (const [inner, part] of Object.entries(value)) {
        if (part instanceof RawJson) long.set(`${name}/${inner}`, part);
      }
    }
  }
  if (long.size === 0) return { rest: whole, long };
  const sizes = [...long].map(([path, { bytes }]) => [path, bytes.length]);
  const rest = { long: Object.fromEntries(sizes), ...whole };
  for (const path of long.keys()) put(rest, path, null);
  return { rest, long };
}

/** The object from which `longApart` made `rest`. */
export function longTogether(rest: Members, bytesOf: (path: string) => Buffer): Members {
  if (rest.long === undefined) return rest;
  const { long, ...whole } = rest;
  for (const path of Object.keys(long as object)) put(whole, path, new RawJson(bytesOf(path)));
  return whole;
}

function put(whole: Record<string, unknown>, path: string, value: unknown): void {
  const [name, inner] = path.split('/') as [string, string?];
  whole[name] = inner === undefined ? value : { ...(whole[name] as object), [inner]: value };
}

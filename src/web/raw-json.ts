/**
 * The parts of a JSON text as they are written, so that no number loses digits. Pure functions for
 * texts that JSON.parse accepts.
 */

const TOKENS = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

export interface Member {
  /** null: an element of a list. */
  readonly name: string | null;
  readonly text: string;
}

/** The members of an object or the elements of a list, in order; of anything else, none. */
export function members(json: string): Member[] {
  const found: Member[] = [];
  let depth = 0;
  let isObject = false;
  let name: string | null = null;
  let begin = -1;
  for (const { 0: token, index } of json.matchAll(TOKENS)) {
    const closes = token === '}' || token === ']';
    if (depth === 1 && begin >= 0 && (closes || token === ',')) {
      found.push({ name, text: json.slice(begin, index).trim() });
      name = null;
      begin = -1;
    } else if (depth === 1 && !closes && token !== ',') {
      if (isObject && name === null) name = JSON.parse(token) as string;
      else if (token !== ':' && begin < 0) begin = index;
    }
    if (token === '{' || token === '[') {
      if (depth === 0) isObject = token === '{';
      depth++;
    } else if (closes) depth--;
  }
  return found;
}

export function member(json: string, name: string): string | undefined {
  // The last of two members with one name is the one that counts.
  return members(json).findLast((one) => one.name === name)?.text;
}

/** The object without one of its members. */
export function withoutMember(json: string, name: string): string {
  return objectOf(members(json).filter((one) => one.name !== name));
}

export function objectOf(parts: readonly Member[]): string {
  return `{${parts.map(({ name, text }) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/**
 * What the pages of the guide say: the commands of a page, and what it shows of their responses.
 */
import { readFileSync } from 'node:fs';

export interface Block {
  /** Its line on the page, from 1. */
  line: number;
  commands: string;
  /** Part of the response of the last command, if the page shows it. */
  shown: unknown;
}

const FENCE = /^```(\w*)$/;

/** The blocks in the language `sh`; one in `json` right behind it shows its response. */
export function blocksOf(file: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; line: number; lines: string[] } | null = null;
  let follows = false;
  for (const [n, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const fence = FENCE.exec(line);
    if (open === null) {
      if (fence !== null) open = { language: fence[1]!, line: n + 1, lines: [] };
      else if (line.trim() !== '') follows = false;
      continue;
    }
    if (line !== '```') {
      open.lines.push(line);
      continue;
    }
    const text = open.lines.join('\n');
    if (open.language === 'sh') {
      blocks.push({ line: open.line, commands: text, shown: undefined });
      follows = true;
    } else {
      if (open.language === 'json') {
        if (!follows)
          throw new Error(
            `${file}:${open.line}: it is not clear which command this is the response of`,
          );
        blocks.at(-1)!.shown = JSON.parse(text);
      }
      follows = false;
    }
    open = null;
  }
  return blocks;
}

/** The last JSON value of what was printed, which begins a line; undefined: there is none. */
export function lastJson(printed: string): unknown {
  const lines = printed.trimEnd().split('\n');
  for (let n = lines.length - 1; n >= 0; n--) {
    try {
      return JSON.parse(lines.slice(n).join('\n'));
    } catch {
      // It begins farther up.
    }
  }
  return undefined;
}

/**
 * Where `response` does not hold what is shown, or null: of objects the keys that are shown, of
 * arrays all elements.
 */
export function difference(shown: unknown, response: unknown, path = ''): string | null {
  if (typeof shown !== 'object' || shown === null) {
    return Object.is(shown, response)
      ? null
      : `${path}: shown ${JSON.stringify(shown)}, is ${JSON.stringify(response)}`;
  }
  if (
    typeof response !== 'object' ||
    response === null ||
    Array.isArray(shown) !== Array.isArray(response)
  )
    return `${path}: shown ${JSON.stringify(shown)}, is ${JSON.stringify(response)}`;
  if (Array.isArray(shown) && shown.length !== (response as unknown[]).length) {
    return `${path}: ${shown.length} elements are shown, there are ${(response as unknown[]).length}`;
  }
  for (const [name, value] of Object.entries(shown)) {
    const fault = difference(value, (response as Record<string, unknown>)[name], `${path}.${name}`);
    if (fault !== null) return fault;
  }
  return null;
}

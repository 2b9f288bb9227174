/**
 * Syntax of document templates (Liquid): whether a text is a template at all. Variables are not looked
 * up here; an unknown one is a fault of rendering.
 */

const BLOCK_TAGS = new Set(['if', 'unless', 'case', 'for', 'capture', 'tablerow', 'ifchanged']);
const PLAIN_TAGS = new Set(['assign', 'increment', 'decrement', 'cycle', 'break', 'continue']);
/** Inside which blocks a middle tag may stand. */
const MIDDLE_TAGS: Readonly<Record<string, readonly string[]>> = {
  elsif: ['if', 'unless'],
  else: ['if', 'unless', 'case', 'for'],
  when: ['case'],
};
const FILTERS = new Set(
  (
    'abs append at_least at_most capitalize ceil compact concat date default divided_by downcase ' +
    'escape escape_once first floor join last lstrip map minus modulo newline_to_br plus prepend ' +
    'remove remove_first replace replace_first reverse round rstrip size slice sort sort_natural ' +
    'split strip strip_html strip_newlines times truncate truncatewords uniq upcase url_decode ' +
    'url_encode where'
  ).split(' '),
);

/** The reason why `text` is not a template, or null. */
export function templateFault(text: string): string | null {
  const open: string[] = [];
  let at = 0;
  while (true) {
    const next = text.slice(at).search(/\{\{|\{%/);
    if (next < 0) break;
    const start = at + next;
    const isTag = text[start + 1] === '%';
    const end = text.indexOf(isTag ? '%}' : '}}', start + 2);
    if (end < 0)
      return `\`${text.slice(start, start + 2)}\` at character ${start + 1} is not closed`;
    const inner = text
      .slice(start + 2, end)
      .replace(/^-|-$/g, '')
      .trim();
    at = end + 2;
    if (!isTag) {
      const fault = expressionFault(inner);
      if (fault !== null) return `${fault} at character ${start + 1}`;
      continue;
    }
    const name = /^\w+/.exec(inner)?.[0] ?? '';
    if (name === 'raw' || name === 'comment') {
      const close = new RegExp(`\\{%-?\\s*end${name}\\s*-?%\\}`).exec(text.slice(at));
      if (close === null) return `the tag \`${name}\` at character ${start + 1} is not closed`;
      at += close.index + close[0].length;
      continue;
    }
    const fault = tagFault(name, inner.slice(name.length).trim(), open);
    if (fault !== null) return `${fault} at character ${start + 1}`;
  }
  return open.length === 0 ? null : `the tag \`${open.at(-1)}\` is not closed`;
}

function tagFault(name: string, rest: string, open: string[]): string | null {
  if (BLOCK_TAGS.has(name)) {
    const fault = blockFault(name, rest);
    if (fault === null) open.push(name);
    return fault;
  }
  if (name.startsWith('end') && BLOCK_TAGS.has(name.slice(3))) {
    return open.pop() === name.slice(3) ? null : `unexpected tag \`${name}\``;
  }
  const hosts = MIDDLE_TAGS[name];
  if (hosts !== undefined) {
    if (!hosts.includes(open.at(-1) ?? '')) return `unexpected tag \`${name}\``;
    return rest === '' && name !== 'else' ? `the tag \`${name}\` has no condition` : null;
  }
  if (!PLAIN_TAGS.has(name)) return `unknown tag \`${name}\``;
  if (name === 'assign') {
    const value = /^[\w-]+\s*=\s*(.+)$/s.exec(rest);
    return value === null ? 'the tag `assign` has no value' : expressionFault(value[1]!);
  }
  return null;
}

function blockFault(name: string, rest: string): string | null {
  if (name === 'for' || name === 'tablerow') {
    return /^[\w-]+\s+in\s+\S/.test(rest) ? null : `the tag \`${name}\` has no \`name in list\``;
  }
  if (name === 'capture') return rest === '' ? 'the tag `capture` has no name' : null;
  return rest === '' && name !== 'ifchanged' ? `the tag \`${name}\` has no condition` : null;
}

function expressionFault(expression: string): string | null {
  const withoutTexts = expression.replace(/"[^"]*"|'[^']*'/g, 'text');
  if (/["']/.test(withoutTexts)) return 'a quote is not closed';
  const [value, ...filters] = withoutTexts.split('|').map((part) => part.trim());
  if (value === '') return 'an expression is empty';
  for (const filter of filters) {
    const name = /^\w+/.exec(filter)?.[0] ?? '';
    if (!FILTERS.has(name)) return `unknown filter \`${name}\``;
  }
  return null;
}

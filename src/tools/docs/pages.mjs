// The pages of the site: those of docs/ and README.md, in the groups of its side bar, with the
// links of a site.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** Every page of docs/ is in one group; a folder means those of its pages that no group names. */
export const GROUPS = [
  {
    text: 'Start',
    pages: ['README.md', 'docs/guide/start.md', 'docs/guide/load-data.md', 'docs/deploy/README.md'],
  },
  {
    text: 'Guides',
    pages: [
      ...['relevance', 'filters-and-facets', 'typos-and-languages', 'semantic-search'].map(guide),
      ...['questions', 'formulas', 'security', 'production', 'sizing', 'cluster'].map(guide),
      ...['docs/page.md', 'docs/chat.md', 'docs/assistants.md'],
    ],
  },
  {
    text: 'How to',
    pages: ['docs/guide/how-to.md', 'docs/guide/', 'docs/works-with.md', 'docs/proxies.md'],
  },
  {
    text: 'Reference',
    pages: [
      ...['docs/options.md', 'docs/commands.md', 'docs/limits.md', 'docs/limits/'],
      ...['docs/lifecycle.md', 'docs/operations.md', 'docs/embedders.md', 'docs/differences.md'],
      'docs/glossary.md',
    ],
  },
  { text: 'Concepts', pages: ['docs/promises.md', 'docs/behaviour/', 'docs/performance.md'] },
  { text: 'Project', pages: ['docs/'] },
  {
    text: 'Internals',
    pages: ['docs/internals/architecture.md', 'docs/internals/', 'perf/README.md'],
  },
];

function guide(name) {
  return `docs/guide/${name}.md`;
}

/** Sources of the pages, by group. */
export function groupedSources() {
  const all = readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .map((file) => `docs/${file}`)
    .filter((file) => file.endsWith('.md'))
    .toSorted();
  const named = new Set(GROUPS.flatMap(({ pages }) => pages));
  return GROUPS.map(({ text, pages }) => ({
    text,
    pages: pages.flatMap((page) =>
      page.endsWith('/')
        ? all.filter((file) => dirname(file) === page.slice(0, -1) && !named.has(file))
        : [page],
    ),
  }));
}

/** Pages that do not stand in docs/. */
const ELSEWHERE = { 'README.md': '/overview', 'perf/README.md': '/internals/perf' };

/** The address of a page within the site, without its ending. */
export function addressOf(source) {
  if (ELSEWHERE[source] !== undefined) return ELSEWHERE[source];
  return `/${source.replace(/^docs\//, '').replace(/\.md$/, '')}`.replace(/README$/, 'index');
}

/** As GitHub makes the anchor of a heading. */
export function slug(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');
}

/** Lines with whether they are code. */
function* lines(text) {
  let isCode = false;
  for (const line of text.split('\n')) {
    const isFence = /^ *```/.test(line);
    if (isFence) isCode = !isCode;
    yield { line, isCode: isCode || isFence };
  }
}

/** Blocks of code by indentation, as fences. */
function fenced(text) {
  return text.replaceAll(
    /(?<=^(?![-*]|\d+\.| )[^\n]*\n\n)(?: {4}[^\n]*\n(?:\n(?= {4}))*)+/gm,
    (block) => `\`\`\`sh\n${block.replaceAll(/^ {4}/gm, '').trimEnd()}\n\`\`\`\n`,
  );
}

/**
 * @param sources all sources of pages
 * @returns the text of the page, its title, and files that it shows or offers
 */
export function pageOf(source, sources) {
  const files = new Set();
  const faults = [];
  const link = (target) => {
    if (/^(?:[a-z]+:|#)/.test(target)) return target;
    const [path, anchor] = target.split('#', 2);
    const file = normalize(join(dirname(source), path));
    if (sources.includes(file)) return addressOf(file) + (anchor === undefined ? '' : `#${anchor}`);
    if (!file.startsWith('docs/') || !existsSync(file)) faults.push(`${source} links to ${target}`);
    files.add(file);
    return `/${file.replace(/^docs\//, '')}`;
  };
  const original = readFileSync(source, 'utf8');
  const text = [...lines(fenced(original))]
    .map(({ line, isCode }) => {
      if (isCode) return line;
      if (line.includes('![](')) faults.push(`${source} shows a picture without a text: ${line}`);
      return line
        .replaceAll(/\]\(([^)\s]+)\)/g, (_, target) => `](${link(target)})`)
        .replaceAll(/(?<!\[)`(docs\/[\w/-]+\.md)`(?!\])/g, (code, file) =>
          sources.includes(file) ? `[${titleOf(file)}](${addressOf(file)})` : code,
        );
    })
    .join('\n');
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return { text, title: titleOf(source), files: [...files] };
}

export function titleOf(source) {
  if (source === 'README.md') return 'Overview';
  return /^# (.*)$/m.exec(readFileSync(source, 'utf8'))[1];
}

/** A heading or a paragraph without its marks. */
function plain(text) {
  return text
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/<Api\w+[^>]*>|[`*|]|^(?:#+|-|\d+\.) |^[-|: ]+$/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

const TEXT_MAX = 8_000;

/** The sections of a page, as documents of the index that the search box uses. */
export function sectionsOf(text, { address, title, group }) {
  const sections = [];
  const used = new Map();
  for (const { line, isCode } of lines(text)) {
    const heading = isCode ? null : /^(#{1,3}) (.*)$/.exec(line);
    if (heading !== null) {
      const name = slug(plain(heading[2]));
      const times = used.get(name) ?? 0;
      used.set(name, times + 1);
      const anchor = times === 0 ? name : `${name}-${times}`;
      const level = heading[1].length;
      sections.push({
        id: `${address.slice(1).replaceAll('/', '_')}-${sections.length}`,
        url: level === 1 ? `${address}.html` : `${address}.html#${anchor}`,
        page: title,
        heading: plain(heading[2]),
        group,
        level,
        lines: [],
        rank: group === 'Internals' ? 2 : Number(address.startsWith('/api/')),
      });
    } else sections.at(-1)?.lines.push(line);
  }
  return sections.map(({ lines: own, ...section }) => ({
    ...section,
    text: plain(own.join('\n')).slice(0, TEXT_MAX),
  }));
}

/** Settings of that index. */
export const SEARCH_SETTINGS = {
  searchableAttributes: ['heading', 'page', 'text'],
  filterableAttributes: ['group'],
  defaultMatchingStrategy: 'natural',
  stopWords: 'a an and can do does for how i in is it my of the to what where which'.split(' '),
  // Guides before the interface before the internals; a page before its sections.
  rankingRules: [
    ...['words', 'typo', 'rank:asc', 'proximity', 'attribute', 'sort', 'exactness', 'level:asc'],
  ],
};

/** The first sentence of a page. */
export function summaryOf(text) {
  const paragraph = text
    .replaceAll(/^---\n[^]*?\n---\n|^```[^]*?^```/gm, '')
    .split(/\n\n+/)
    .find((part) => /^[A-Z`*[]/.test(part) && !part.startsWith('|'));
  return plain(/^[^]*?[.:](?=\s|$)/.exec(paragraph ?? '')?.[0] ?? '').replace(/:$/, '.');
}

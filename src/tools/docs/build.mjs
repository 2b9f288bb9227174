#!/usr/bin/env node
// Builds the site of the documentation in build/docs/site, and the index of its search box in
// build/docs. VitePress reads what stands in build/docs/source: docs/ with the links of a site, and
// pages of the reference that a server writes.
//   npm run docs
// DOCS_BASE is the path of the site, by default `/`.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'vitepress';
import { addressOf, groupedSources, pageOf, SEARCH_SETTINGS } from './pages.mjs';
import { sectionsOf, summaryOf } from './pages.mjs';
import { apiPages, metricsPage } from './reference.mjs';
import { startServer } from './server.mjs';

const OUT = 'build/docs';
const SOURCE = join(OUT, 'source');
const SITE = join(OUT, 'site');
const LEAD = 'It returns results as you type. To switch from Meilisearch, change one URL.';
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** The pages that a server writes. */
async function referencePages() {
  const server = await startServer(['--experimental-enable-metrics']);
  try {
    const metrics = await (await server.request('GET', '/metrics')).text();
    return [...apiPages(await server.json('GET', '/openapi.json')), metricsPage(metrics)];
  } finally {
    await server.close();
  }
}

function home(groups) {
  const features = groups.map(({ text, pages }) => ({
    title: text,
    details: `${pages
      .slice(0, 6)
      .map(({ title }) => title)
      .join(', ')} …`,
    link: `${pages[0].address}.html`,
  }));
  const actions = [
    { theme: 'brand', text: 'Start', link: '/guide/start' },
    { theme: 'alt', text: 'API', link: '/api/search' },
  ];
  const hero = {
    name: 'Gannet',
    text: 'A search server for JSON documents',
    tagline: LEAD,
    actions,
  };
  return `---\n${JSON.stringify({ layout: 'home', title: 'Gannet', hero, features })}\n---\n`;
}

/** For each page its address, title and first sentence, for programs that read. */
function llms(groups) {
  const base = process.env.DOCS_BASE ?? '/';
  const lists = groups.map(({ text, pages }) =>
    [
      `## ${text}\n`,
      ...pages.map((page) => {
        const summary = summaryOf(page.text);
        const address = `${base}${page.address.slice(1)}.md`;
        return `- [${page.title}](${address})${summary === '' ? '' : `: ${summary}`}`;
      }),
    ].join('\n'),
  );
  return `# Gannet ${version}\n\n> Gannet is a search server for JSON documents. ${LEAD}\n\n${lists.join('\n\n')}\n`;
}

/** The groups with their pages, whose files are copied. */
async function gather() {
  const grouped = groupedSources();
  const sources = grouped.flatMap(({ pages }) => pages);
  const groups = grouped.map(({ text, pages }) => ({
    text,
    pages: pages.map((source) => {
      const { files, ...page } = pageOf(source, sources);
      for (const file of files) cpSync(file, join(SOURCE, 'public', file.replace(/^docs\//, '')));
      return { ...page, address: addressOf(source) };
    }),
  }));
  groups.find(({ text }) => text === 'Reference').pages.unshift(...(await referencePages()));
  return groups;
}

rmSync(OUT, { recursive: true, force: true });
cpSync('src/tools/docs/site', join(SOURCE, '.vitepress'), { recursive: true });
const groups = await gather();
const sections = groups.flatMap(({ text: group, pages }) =>
  pages.flatMap((page) => sectionsOf(page.text, { ...page, group })),
);
for (const { address, text } of groups.flatMap(({ pages }) => pages)) {
  write(join(SOURCE, `${address}.md`), text);
}
write(join(SOURCE, 'index.md'), home(groups));
const list = ({ text, pages }) => ({
  text,
  items: pages.map(({ title, address }) => ({ text: title, link: address })),
});
const own = groups.find(({ text }) => text === 'Internals');
const others = groups.filter((group) => group !== own);
write(
  join(SOURCE, '.vitepress/sidebar.json'),
  JSON.stringify({
    version,
    '/internals/': [list(own)],
    '/': others.map(list),
  }),
);
// Who runs a server for the search box writes its address and a key for searches here.
write(join(SOURCE, 'public/search.json'), '{}\n');
write(join(SOURCE, 'public/llms.txt'), llms(groups));
// Links to files of SQL are not links to pages.
process.env.VITE_EXTRA_EXTENSIONS = 'sql';
await build(SOURCE);
for (const { address, text } of groups.flatMap(({ pages }) => pages)) {
  write(join(SITE, `${address}.md`), text.replace(/^---\n[^]*?\n---\n/, ''));
}
write(join(OUT, 'search.ndjson'), sections.map((one) => `${JSON.stringify(one)}\n`).join(''));
write(join(OUT, 'search-settings.json'), `${JSON.stringify(SEARCH_SETTINGS, null, 2)}\n`);

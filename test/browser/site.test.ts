/**
 * The site of `npm run docs`: its links and pictures, its search box and forms, and whether a
 * stranger's questions lead to what answers them.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join, normalize } from 'node:path';
import { openStage, violations, type Stage, type Tab } from './support/browser.ts';

const SITE = 'build/docs/site';

/** What a stranger asks, what they type, and the words of the page that answer it. */
const QUESTIONS: readonly (readonly [question: string, query: string, expected: RegExp])[] = [
  ['How do I run it with Docker?', 'docker', /docker run -v/],
  ['How large a machine do 5 million documents need?', 'sizing 5 million', /5,000,000/],
  ['How do I switch from Meilisearch?', 'switch from meilisearch', /gannet migrate --from/],
  ['How do I keep it in step with PostgreSQL?', 'postgres', /outbox/],
  ['Why are there never more than 1,000 results?', 'more than 1000 results', /maxTotalHits/],
  ['What does a hybrid search with OpenAI cost?', 'cost of openai', /0\.20 dollars/],
  ['How do customers see only what is theirs?', 'documents of each customer', /tenant token/],
  ['How do I back up and restore?', 'backup', /--import-snapshot|snapshot/],
  ['Why is a document not found?', 'document is not found', /searchableAttributes/],
  ['What does the error index_not_found mean?', 'index_not_found', /index_not_found/],
  ['Does an upgrade keep my data?', 'upgrade', /dump|folder/],
  ['Does it run on Windows?', 'windows', /WSL/],
];

/** A question is answered by one of the first hits. */
const HITS_LOOKED_AT = 3;

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

interface Section {
  url: string;
  text: string;
}

function sections(): Section[] {
  const lines = readFileSync('build/docs/search.ndjson', 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Section);
}

/** Pages by path, with their addresses of links and pictures and their ids. */
function builtPages(): Map<string, { text: string; ids: Set<string> }> {
  const files = readdirSync(SITE, { recursive: true, encoding: 'utf8' });
  return new Map(
    files
      .filter((file) => file.endsWith('.html'))
      .map((file) => {
        const text = readFileSync(join(SITE, file), 'utf8');
        const ids = [...text.matchAll(/ id="([^"]*)"/g)].map((match) => match[1]!);
        return [file, { text, ids: new Set(ids) }] as const;
      }),
  );
}

describe('The site of the documentation', () => {
  before(function () {
    if (!existsSync('dist/main.cjs')) this.skip();
    const built = spawnSync('npm', ['run', '--silent', 'docs'], { encoding: 'utf8' });
    assert.equal(built.status, 0, built.stdout + built.stderr);
  });

  it('has no dead link, no dead anchor, and no picture without a text', () => {
    const pages = builtPages();
    assert.ok(pages.size > 80);
    let count = 0;
    const faults = [...pages].flatMap(([file, { text }]) => {
      const links = [...text.matchAll(/<(?:a|img|link|script)\b[^>]* (?:href|src)="([^"]*)"/g)];
      const dead = links
        .map((match) => match[1]!)
        .filter((target) => !/^(?:[a-z]+:|\/\/)/.test(target))
        .filter((target) => {
          const [path = '', anchor] = decodeURIComponent(target).split('#', 2);
          const base = path.startsWith('/') ? path.slice(1) : join(dirname(file), path);
          const to = path === '' ? file : normalize(base).replace(/^\.?$|(?<=\/)$/, 'index.html');
          if (anchor === undefined || anchor === '') return !existsSync(join(SITE, to));
          return pages.get(to)?.ids.has(anchor) !== true;
        })
        .map((target) => `${file} links to ${target}`);
      count += links.length;
      const mute = [...text.matchAll(/<img\b(?![^>]* alt="[^"]+)[^>]*>/g)];
      return [...dead, ...mute.map((match) => `${file}: ${match[0]}`)];
    });
    assert.deepEqual(faults, []);
    assert.ok(count > 5_000);
  });

  it('has sections in the index of its search box whose addresses exist', () => {
    const pages = builtPages();
    const all = sections();
    assert.ok(all.length > 500);
    const faults = all.filter(({ url }) => {
      const [path = '', anchor] = url.slice(1).split('#', 2);
      const page = pages.get(path);
      return page === undefined || (anchor !== undefined && !page.ids.has(anchor));
    });
    assert.deepEqual(
      faults.map(({ url }) => url),
      [],
    );
  });

  it('lists all pages, with what they say, for programs that read', () => {
    const text = readFileSync(join(SITE, 'llms.txt'), 'utf8');
    const listed = [...text.matchAll(/^- \[[^\]]+\]\(\/([^)]+)\)/gm)].map((match) => match[1]!);
    const html = [...builtPages().keys()].filter((name) => !/^(?:index|404)\.html$/.test(name));
    assert.deepEqual(
      listed.toSorted(),
      html.map((name) => name.replace('.html', '.md')).toSorted(),
    );
    for (const page of listed) assert.match(readFileSync(join(SITE, page), 'utf8'), /^# /m);
    assert.match(text, /^- \[Promises\]\(\/promises\.md\): [A-Z]/m);
  });
});

describe('The site of the documentation, in a browser', () => {
  let stage: Stage;
  let site: Server;
  let url: string;
  /** What `search.json` says. */
  let target: object = {};

  before(async function () {
    stage = await openStage(this);
    const { server } = stage;
    const settings = JSON.parse(readFileSync('build/docs/search-settings.json', 'utf8'));
    await server.finish('PATCH', '/indexes/docs/settings', { body: settings });
    const text = readFileSync('build/docs/search.ndjson', 'utf8');
    await server.finish('POST', '/indexes/docs/documents', { text, type: 'application/x-ndjson' });
    site = createServer((request, response) => {
      const path = new URL(request.url!, 'http://site').pathname;
      const file = join(SITE, path.endsWith('/') ? `${path}index.html` : path);
      const isTarget = path === '/search.json';
      const type = TYPES[extname(file)] ?? 'text/plain';
      if (!isTarget && !existsSync(file)) response.writeHead(404).end();
      else {
        const body = isTarget ? JSON.stringify(target) : readFileSync(file);
        response.writeHead(200, { 'content-type': type }).end(body);
      }
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  });
  after(async () => {
    site?.closeAllConnections();
    site?.close();
    await stage?.close();
  });

  async function searchKey(): Promise<string> {
    const { results } = (await stage.server.call('GET', '/keys')).json;
    return results.find(({ actions }: any) => actions.join() === 'search').key;
  }

  it('answers the questions of a stranger with one of the first hits', async () => {
    const texts = new Map(sections().map((one) => [one.url, one.text] as const));
    const faults: string[] = [];
    for (const [question, q, expected] of QUESTIONS) {
      const body = { q, limit: HITS_LOOKED_AT, attributesToRetrieve: ['url'] };
      const { hits } = (await stage.server.call('POST', '/indexes/docs/search', { body })).json;
      const urls: string[] = hits.map((hit: Section) => hit.url);
      if (!urls.some((hit) => expected.test(texts.get(hit)!))) {
        faults.push(`${question} ${q}: ${urls.join(' ')}`);
      }
    }
    assert.equal(QUESTIONS.length, 12);
    assert.deepEqual(faults, []);
  });

  async function visit(path: string, work: (tab: Tab) => Promise<void>, options = {}) {
    const tab = await stage.tab(options);
    await tab.page.goto(url + path);
    await work(tab);
    await tab.close();
  }

  it('finds while you type, and goes where the hit is', async () => {
    target = { url: stage.server.url, key: await searchKey(), index: 'docs' };
    await visit('/guide/start.html', async ({ page }) => {
      await page.getByPlaceholder('Search').pressSequentially('more than 1000 resu');
      const hit = page.locator('.hit', { hasText: 'More than 1,000 results' });
      // The response to fewer letters would be replaced under the pointer.
      await hit.locator('mark', { hasText: /^resu/i }).first().waitFor();
      assert.deepEqual(await violations(page), []);
      await hit.click();
      await page.waitForURL('**/guide/how-to.html#more-than-1000-results');
    });
  });

  it('says how to start a server for its search box where there is none', async () => {
    target = {};
    await visit('/', async ({ page }) => {
      await page.locator('.search-box summary').click();
      await page.getByText('npm run docs:demo').waitFor();
      assert.deepEqual(await violations(page), []);
    });
  });

  it('sends the requests of the reference', async () => {
    const { server } = stage;
    await visit('/api/search.html', async ({ page }) => {
      await page.getByLabel('Address').fill(server.url);
      await page.getByLabel('Key').fill(server.masterKey);
      const form = page.locator('details.api', {
        hasText: 'Send POST /indexes/{index_uid}/search',
      });
      await form.locator('summary').click();
      await form.getByLabel('index_uid').fill('docs');
      await form.getByLabel('Body').fill('{"q": "outbox", "limit": 1}');
      await form.getByRole('button', { name: 'Send' }).click();
      await form.locator('pre', { hasText: '"estimatedTotalHits"' }).waitFor();
      assert.match((await form.locator('pre').textContent())!, /^200\n[^]*outbox/i);
      assert.deepEqual(await violations(page), []);
    });
  });

  const PAGES = ['overview', 'guide/semantic-search', 'options', 'page', 'internals/threads'];

  it('has pages in which axe finds nothing, in light and dark, on a desk and a telephone', async () => {
    const faults: unknown[] = [];
    for (const name of process.env.GANNET_ALL_PAGES === undefined
      ? PAGES
      : [...builtPages().keys()].map((file) => file.replace('.html', ''))) {
      const isDark = faults.length === 0 && PAGES.indexOf(name) % 2 === 1;
      const look = isDark
        ? { colorScheme: 'dark', viewport: { width: 390, height: 844 } }
        : { colorScheme: 'light', viewport: { width: 1440, height: 900 } };
      await visit(
        `/${name}.html`,
        async ({ page }) => {
          for (const fault of await violations(page)) faults.push({ name, isDark, ...fault });
        },
        look,
      );
    }
    assert.deepEqual(faults, []);
  });
});

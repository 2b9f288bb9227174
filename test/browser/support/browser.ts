/**
 * A real browser, where this machine has one, and the built server with the collection of books.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { SETTINGS } from '../../demo/examples.ts';
import { startBuiltServer, type BuiltServer } from '../../support/built-server.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const PROGRAMS = [
  process.env.GANNET_CHROMIUM ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** A generous limit, because tests check that something appears, not how soon. */
const WAIT_MS_MAX = 120_000;

export interface Stage {
  readonly server: BuiltServer;
  readonly browser: Browser;
  /**
   * A tab of its own, with nothing remembered. What it asks of others, what its policy forbids and
   * what its script fails with is collected in `faults`.
   */
  tab(options?: BrowserContextOptions): Promise<Tab>;
  close(): Promise<void>;
}

export interface Tab {
  readonly page: Page;
  readonly faults: string[];
  close(): Promise<void>;
}

/** Skips the tests of the suite, with a word, where something is missing. */
export async function openStage(
  suite: Mocha.Context,
  options: readonly string[] = [],
): Promise<Stage> {
  const program = PROGRAMS.find((path) => path !== '' && existsSync(path));
  const missing =
    program === undefined
      ? 'there is no chromium (Debian package chromium)'
      : existsSync('dist/main.cjs')
        ? null
        : 'the project is not built (npm run build)';
  if (missing !== null) {
    console.log(`skipped: the tests in a browser, because ${missing}`);
    suite.skip();
  }
  const server = await startBuiltServer(options);
  const browser = await chromium.launch({
    executablePath: program!,
    args: ['--no-sandbox', '--disable-gpu'],
  });
  return {
    server,
    browser,
    tab: async (given) => {
      // While a page scrolls smoothly, the pointer misses what it aims at.
      const context = await browser.newContext({
        serviceWorkers: 'block',
        reducedMotion: 'reduce',
        ...given,
      });
      context.setDefaultTimeout(WAIT_MS_MAX);
      const page = await context.newPage();
      const faults: string[] = [];
      page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(`${server.url}/`) && !url.startsWith('data:')) faults.push(url);
      });
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => {
        if (/Content Security Policy|Trusted/i.test(message.text())) faults.push(message.text());
      });
      return { page, faults, close: () => context.close() };
    },
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
}

/** The index `books`. */
export async function loadBooks(server: BuiltServer, settings: object = {}): Promise<void> {
  await server.finish('PATCH', '/indexes/books/settings', { body: { ...SETTINGS, ...settings } });
  const task = await server.finish('POST', '/indexes/books/documents', {
    text: readFileSync('test/demo/books.ndjson', 'utf8'),
    type: 'application/x-ndjson',
  });
  assert.equal(task.status, 'succeeded');
}

/** Opens the page with a key. */
export async function enter(
  { page }: Tab,
  server: BuiltServer,
  key: string,
  path = '',
): Promise<void> {
  await page.goto(`${server.url}/${path}`);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
}

/** CSS pixels by which the page is wider than the screen. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = (globalThis as any).document.documentElement;
    return scrollWidth - clientWidth;
  });
}

export interface Violation {
  rule: string;
  impact: string;
  where: string[];
}

/** What axe-core calls serious or worse. */
export async function violations(page: Page): Promise<Violation[]> {
  await page.evaluate(AXE);
  const found: Violation[] = await page.evaluate(async () => {
    const { violations } = await (globalThis as any).axe.run();
    return violations.map((one: any) => ({
      rule: one.id,
      impact: one.impact,
      where: one.nodes.slice(0, 3).map((node: any) => node.html.slice(0, 200)),
    }));
  });
  return found.filter(({ impact }) => impact === 'serious' || impact === 'critical');
}

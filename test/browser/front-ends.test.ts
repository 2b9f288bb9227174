/**
 * Front ends as published, in a browser, on a page of another origin, against the collection of
 * books.
 */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { loadBooks, openStage, type Stage } from './support/browser.ts';

const ofInstantSearch = createRequire(
  createRequire(import.meta.url).resolve('instantsearch.js/package.json'),
);

describe('Published front ends, in a browser', () => {
  let stage: Stage;
  let shop: Server;
  let scripts: Record<string, string>;

  before(async function () {
    stage = await openStage(this);
    const { server } = stage;
    await loadBooks(server, { faceting: { maxValuesPerFacet: 200 } });
    const { results } = (await server.call('GET', '/keys')).json;
    const { key } = results.find(({ actions }: any) => actions.join() === 'search');
    const setUp = `window.setUp = ${JSON.stringify({ url: server.url, key })};\n`;
    scripts = {};
    for (const name of ['instantsearch', 'autocomplete']) {
      const { outputFiles } = await build({
        entryPoints: [`test/browser/front-ends/${name}.mjs`],
        bundle: true,
        write: false,
        format: 'iife',
        // Its templates come from another package, which must resolve to the same preact.
        alias: { preact: dirname(ofInstantSearch.resolve('preact/package.json')) },
        define: { 'process.env.NODE_ENV': '"production"' },
        logLevel: 'error',
      });
      scripts[`/${name}.js`] = setUp + outputFiles[0]!.text;
    }
    shop = createServer((request, response) => {
      const script = scripts[request.url!];
      const type = script === undefined ? 'text/html' : 'text/javascript';
      const page = `<!doctype html><meta charset=utf-8><title>Books</title><body><script src="${request.url}.js"></script>`;
      response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(script ?? page);
    });
    await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  });
  after(async () => {
    shop?.closeAllConnections();
    shop?.close();
    await stage?.close();
  });

  /** Fails when a request to the server is refused or its script fails. */
  async function visit(name: string, work: (page: Page) => Promise<void>): Promise<void> {
    const { page, close } = await stage.tab();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('response', (response) => {
      const refused = response.status() >= 400 && response.url().startsWith(stage.server.url);
      if (refused) faults.push(`${response.status()} ${response.url()}`);
    });
    const { port } = shop.address() as AddressInfo;
    await page.goto(`http://127.0.0.1:${port}/${name}`);
    // The error of the script says more than a missing element.
    await work(page).catch((error: unknown) => {
      throw faults.length === 0 ? error : new Error(faults.join('\n'), { cause: error });
    });
    assert.deepEqual(faults, []);
    await close();
  }

  it('InstantSearch searches, marks, refines, sorts and pages', async () => {
    await visit('instantsearch', async (page) => {
      const totals = page.locator('.ais-Stats-text');
      const titles = page.locator('.ais-Hits-item h2');
      await totals.filter({ hasText: /^431 results/ }).waitFor();
      await titles.nth(9).waitFor();
      assert.equal(await titles.count(), 10);
      await page.locator('.ais-SearchBox-input').pressSequentially('gabriel garcia marqez');
      await page
        .locator('mark', { hasText: /^M[áa]rque/ })
        .first()
        .waitFor();
      await titles.getByText('One Hundred Years of Solitude').waitFor();
      await page.locator('.ais-SearchBox-reset').click();
      await totals.filter({ hasText: /^431 results/ }).waitFor();

      const science = page.locator('#genres').getByLabel(/^science fiction/);
      await science.check();
      await totals.filter({ hasText: /^(?!431)\d+ results/ }).waitFor();
      const narrow = Number.parseInt((await totals.textContent())!, 10);
      // A choice within a facet is an alternative: the others keep their counts.
      assert.ok((await page.locator('#genres .ais-RefinementList-item').count()) > 10);
      await page.locator('#genres').getByLabel(/^epic/).check();
      await page.waitForFunction(
        (before) =>
          Number.parseInt(
            (globalThis as any).document.querySelector('.ais-Stats-text').textContent,
            10,
          ) > before,
        narrow,
      );
      await page.locator('#sort select').selectOption('books:year:asc');
      // Results that come while one types empty the field.
      await page.waitForFunction(() => (globalThis as any).search.status === 'idle');
      await titles.getByText('The Epic of Gilgamesh').waitFor();
      const from = page.locator('#years input').first();
      await from.pressSequentially('1900');
      await from.press('Enter');
      await titles.getByText('The Epic of Gilgamesh').waitFor({ state: 'detached' });
      const years = await page.locator('.ais-Hits-item p').allTextContents();
      const numbers = years.map((text) => Number(text.split(', ').at(-1)));
      assert.deepEqual(
        numbers,
        [...numbers].sort((a, b) => a - b),
      );
      assert.ok(
        numbers.every((year) => year >= 1900),
        String(numbers),
      );
      const first = await titles.first().textContent();
      await page.getByRole('link', { name: 'Page 2', exact: true }).click();
      await page.waitForFunction(
        (before) =>
          (globalThis as any).document.querySelector('.ais-Hits-item h2').textContent !== before,
        first,
      );
      await page.locator('.ais-ClearRefinements-button').click();
      await totals.filter({ hasText: /^431 results/ }).waitFor();
    });
  });

  it('Autocomplete suggests while you type, and says when there is nothing', async () => {
    await visit('autocomplete', async (page) => {
      const field = page.getByPlaceholder('Books');
      await field.click();
      await field.pressSequentially('midnight ch');
      const options = page.getByRole('option');
      await options
        .filter({ hasText: 'Midnight’s Children' })
        .or(options.filter({ hasText: "Midnight's Children" }))
        .waitFor();
      // Each response resets the selection, so wait for the one to the last letter.
      await options.first().locator('mark', { hasText: /^ch$/i }).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.locator('[role=option][aria-selected=true]').waitFor();
      assert.equal(await options.first().getAttribute('aria-selected'), 'true');
      await field.fill('qqqqqqqq');
      await page.getByText('No book.').waitFor();
    });
  });
});

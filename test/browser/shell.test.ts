/** What surrounds the views: the side bar, the command palette, the chosen index, the theme. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { enter, loadBooks, openStage, type Stage } from './support/browser.ts';

describe('What surrounds the views, in a browser', () => {
  let stage: Stage;

  before(async function () {
    stage = await openStage(this);
    await loadBooks(stage.server);
    await stage.server.finish('POST', '/indexes/papers/documents', {
      body: [{ id: 1, title: 'A paper' }],
    });
  });
  after(() => stage?.close());

  async function inTab(
    options: Parameters<Stage['tab']>[0],
    work: (page: Page) => Promise<void>,
  ): Promise<void> {
    const tab = await stage.tab(options);
    await enter(tab, stage.server, stage.server.masterKey);
    await work(tab.page);
    assert.deepEqual(tab.faults, []);
    await tab.close();
  }
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });

  it('opens a view or an index by its name, with keys alone', async () => {
    await inTab({}, async (page) => {
      await heading(page, 'Search').waitFor();
      await page.keyboard.press('Control+k');
      const field = page.getByRole('combobox', { name: 'View or index' });
      await field.fill('stat');
      await page.getByRole('option', { name: /^Statistics/, selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await heading(page, 'Statistics').waitFor();
      await page.keyboard.press('/');
      await field.fill('papers');
      await page.keyboard.press('ArrowDown');
      await page.getByRole('option', { name: /^papers: Documents/, selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await heading(page, 'Documents').waitFor();
      assert.match(page.url(), /#\/documents\/papers$/);
      await page.getByRole('button', { name: 'Go to …' }).click();
      await field.press('Escape');
      await field.waitFor({ state: 'detached' });
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys' }).getByText('shows this list').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    });
  });

  it('shows one index in all views, until another one is chosen', async () => {
    await inTab({}, async (page) => {
      const chosen = page.getByRole('combobox', { name: 'Current index' });
      const link = (name: string) =>
        page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: true });
      await chosen.selectOption('papers');
      await page.getByRole('heading', { name: 'A paper' }).waitFor();
      await link('Settings').click();
      await page.waitForURL(/#\/settings\/papers$/);
      await link('Tasks').click();
      await chosen.selectOption('books');
      await link('Documents').click();
      await page.getByRole('heading', { name: '431 documents' }).waitFor();
      await link('Search').click();
      await page.waitForURL(/#\/search\/books$/);
    });
  });

  it('keeps the chosen theme, and no key, after the tab is closed', async () => {
    await inTab({ colorScheme: 'light' }, async (page) => {
      const scheme = (): Promise<string> =>
        page.evaluate(() => {
          const browser = globalThis as any;
          return browser.getComputedStyle(browser.document.documentElement).colorScheme;
        });
      assert.equal(await scheme(), 'light dark');
      await page.getByRole('button', { name: 'Show the page in dark colours' }).click();
      assert.equal(await scheme(), 'dark');
      const other = await page.context().newPage();
      await other.goto(stage.server.url);
      await other.getByLabel('API key').waitFor();
      assert.equal(
        await other.evaluate(() => (globalThis as any).document.documentElement.style.colorScheme),
        'dark',
      );
    });
  });
});

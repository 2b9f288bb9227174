/** How views look: while they load, with little data, on narrow screens, and where nothing is. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { enter, loadBooks, openStage, type Stage, type Tab } from './support/browser.ts';

describe('The appearance of the page', () => {
  let stage: Stage;
  let tab: Tab;
  let page: Page;

  before(async function () {
    stage = await openStage(this, ['--analytics-retention-days', '30']);
    const { server } = stage;
    await loadBooks(server);
    for (const q of ['dune', 'dune', 'whale']) {
      await server.call('POST', '/indexes/books/search', { body: { q } });
    }
    tab = await stage.tab();
    page = tab.page;
    await enter(tab, server, server.masterKey);
  });
  after(async () => {
    await tab?.close();
    await stage?.close();
  });
  afterEach(() => assert.deepEqual(tab?.faults ?? [], []));

  const main = () => page.getByRole('main');

  async function open(fragment: string, title: string): Promise<void> {
    await page.goto(`${stage.server.url}/#/${fragment}`);
    await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
  }

  it('shows each part of analytics as soon as it came, and skeletons until then', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/analytics/summary**', async (route) => {
      await held;
      await route.continue();
    });
    await open('analytics', 'Analytics');
    const top = page.getByRole('region', { name: 'Most frequent searches', exact: true });
    await top.getByRole('row', { name: /^books dune/ }).waitFor();
    assert.ok((await main().locator('.skeleton').count()) >= 2);
    release();
    await main().getByText('Median response time').waitFor();
    await main()
      .getByRole('img', { name: /^Searches by day/ })
      .waitFor();
    assert.equal(await main().locator('.skeleton').count(), 0);
    await page.unroute('**/analytics/summary**');
  });

  it('draws one day of data as one bar, on axes of the whole period with round numbers', async () => {
    await open('analytics?days=7', 'Analytics');
    const chart = page.getByRole('img', { name: /^Searches by day/ });
    await chart.waitFor();
    const figure = page.locator('figure').filter({ has: chart });
    assert.equal(await chart.locator('polygon').count(), 0);
    const bars = await chart.locator('rect').all();
    assert.equal(bars.length, 1);
    const { width } = (await chart.boundingBox())!;
    assert.ok((await bars[0]!.boundingBox())!.width < width / 7);
    assert.deepEqual(await figure.locator('.axis span').allTextContents(), ['4', '2', '0']);
    const days = [7, 0].map((ago) =>
      new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10),
    );
    assert.deepEqual(await figure.locator('.ends span').allTextContents(), days);
  });
});

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

  it('lets the map be dragged, and lists what a marker stands for', async () => {
    const { server } = stage;
    await server.finish('PATCH', '/indexes/places/settings', {
      body: { filterableAttributes: ['_geo'], sortableAttributes: ['_geo'] },
    });
    const at = (id: number, name: string, lat: number, lng: number): object => ({
      id,
      name,
      _geo: { lat, lng },
    });
    await server.finish('POST', '/indexes/places/documents', {
      body: [
        at(1, 'Upper hall', 40, 10),
        at(2, 'Lower hall', 40, 10),
        at(3, 'Tower', 45, 30),
        at(4, 'Bridge', 10, -60),
      ],
    });
    await open('search/places', 'Search');
    const map = page.getByRole('group', { name: 'Map' });
    const land = map.locator('path.land');
    await page.getByText('Shown: 4 places').waitFor();
    await map.locator('.several').click();
    const list = page.getByRole('region', { name: 'Places of the marker' });
    await list.getByRole('link', { name: 'Upper hall' }).waitFor();
    await list.getByRole('link', { name: 'Lower hall' }).waitFor();
    await page.getByText('Shown: 2 places').waitFor();
    const before = await land.getAttribute('transform');
    const { x, y, width, height } = (await map.locator('svg.map').boundingBox())!;
    await page.mouse.move(x + width * 0.3, y + height * 0.8);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.2, y + height * 0.7);
    assert.notEqual(await land.getAttribute('transform'), before);
    const asked = page.waitForRequest((request) =>
      (request.postData() ?? '').includes('_geoBoundingBox'),
    );
    await page.mouse.move(x + width * 0.05, y + height * 0.6);
    await page.mouse.up();
    await asked;
    await map.getByRole('button', { name: 'All results' }).click();
    await page.getByText('Shown: 4 places').waitFor();
    await map.locator('.one').first().click();
    await list.getByRole('link', { name: /Tower|Bridge/ }).waitFor();
  });
});

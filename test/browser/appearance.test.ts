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

  it('gives a hit one button next to its menu, whose dialog has all there is', async () => {
    await open('search/books?q=dune', 'Search');
    const hit = page.getByRole('article').first();
    await hit.locator('mark').first().waitFor();
    assert.equal(await hit.locator(':is(button, a):visible').count(), 1);
    await hit.getByRole('button', { name: /^Details of/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Every word of the query was found.').waitFor();
    await dialog.getByText('As JSON').waitFor();
    await dialog.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Document as JSON').waitFor();
  });

  it('begins the lists of two searches on one line', async () => {
    const compared = encodeURIComponent('{"left":{},"right":{"matchingStrategy":"natural"}}');
    await open(`search/books?q=war&compare=${compared}`, 'Search');
    for (const name of ['This search', 'Other search']) {
      await page.getByRole('region', { name }).locator('mark').first().waitFor();
    }
    // Both at one moment: what is loaded above them moves them.
    const tops: number[] = await page
      .locator('.side-of')
      .evaluateAll((sides) =>
        sides.map((side) => side.querySelector('article')!.getBoundingClientRect().y),
      );
    assert.equal(tops.length, 2);
    assert.ok(Math.abs(tops[0]! - tops[1]!) < 2, tops.join());
  });

  it('has sizes of type that differ: titles, headings, hits, text', async () => {
    await open('search/books?q=dune', 'Search');
    await page.locator('mark').first().waitFor();
    const sizes: number[] = await page.evaluate(() => {
      const { document, getComputedStyle } = globalThis as any;
      return ['h1', '.hits h3', 'body', '.totals'].map((selector) =>
        Number.parseFloat(getComputedStyle(document.querySelector(selector)).fontSize),
      );
    });
    const [title, hit, text, note] = sizes as [number, number, number, number];
    assert.ok(title >= 1.7 * text && hit >= 1.2 * text && note < text, sizes.join());
  });

  it('leads to each setting from a table of contents', async () => {
    await open('settings/books', 'Settings');
    const contents = page.getByRole('navigation', { name: 'Contents' });
    await contents.getByRole('button', { name: 'Typo tolerance' }).click();
    await page.waitForFunction(() => {
      const setting = (globalThis as any).document.getElementById('setting-typoTolerance');
      const { top } = setting.getBoundingClientRect();
      return top >= 0 && top < 300;
    });
    await page.getByLabel('Find a setting').fill('no such thing');
    await main().getByText('No setting contains “no such thing”').waitFor();
    await page.getByLabel('Find a setting').fill('');
  });

  it('has controls, and no JSON, for languages of fields and the order of facets', async () => {
    await open('settings/books', 'Settings');
    const setting = (name: string) => page.getByRole('region', { name, exact: true });
    const languages = setting('Localized attributes');
    await languages.getByRole('button', { name: 'Add to localized attributes' }).click();
    await languages.getByLabel('Attribute patterns').fill('title\ntitle_*');
    await languages.getByLabel('Locales').fill('jpn');
    const facets = setting('Faceting');
    await facets.getByLabel('Add to sort facet values by').fill('genres');
    await facets.getByRole('button', { name: 'Add' }).click();
    await facets.getByLabel('genres', { exact: true }).selectOption('count');
    assert.equal(await languages.getByText('As JSON.').count(), 0);
    assert.equal(await facets.getByText('As JSON.').count(), 0);
    const bar = page.getByRole('region', { name: 'Changes', exact: true });
    await bar.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(/^Done in /).waitFor();
    const { json } = await stage.server.call('GET', '/indexes/books/settings');
    assert.deepEqual(json.localizedAttributes, [
      { attributePatterns: ['title', 'title_*'], locales: ['jpn'] },
    ]);
    assert.deepEqual(json.faceting.sortFacetValuesBy, { '*': 'alpha', genres: 'count' });
    await languages.getByRole('button', { name: 'Remove localized attributes 1' }).click();
    await bar.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await bar.getByText('No changes.').waitFor();
    const after = await stage.server.call('GET', '/indexes/books/settings/localized-attributes');
    assert.equal(after.json?.length ?? 0, 0);
  });

  it('says what to do where nothing is', async () => {
    const { server } = stage;
    await server.finish('POST', '/indexes', { body: { uid: 'bare' } });
    await open('search/bare', 'Search');
    await main().getByRole('link', { name: 'Add a file of documents' }).waitFor();
    await open('search/books?q=zzzzqqqq', 'Search');
    await main().getByRole('heading', { name: 'Nothing was found for “zzzzqqqq”' }).waitFor();
    await main().getByLabel('“zzzzqqqq” also finds').fill('dune');
    await main().getByRole('button', { name: 'Add the synonym' }).click();
    await page.getByRole('article').first().waitFor();
    await open('webhooks', 'Webhooks');
    await main().getByText('Create one to have a URL notified').waitFor();
    await server.call('PATCH', '/experimental-features', { body: { dynamicSearchRules: true } });
    await open('rules', 'Search rules');
    await main().getByText('Create a rule to pin documents').waitFor();
  });

  describe('on narrow screens', () => {
    let narrow: Tab;

    before(async () => {
      narrow = await stage.tab({ viewport: { width: 390, height: 844 } });
      await enter(narrow, stage.server, stage.server.masterKey);
    });
    after(() => narrow?.close());

    async function show(width: number, fragment: string, title: string): Promise<void> {
      await narrow.page.setViewportSize({ width, height: 844 });
      await narrow.page.goto(`${stage.server.url}/#/${fragment}`);
      await narrow.page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
      await narrow.page.waitForLoadState('networkidle');
    }

    it('offers five things at the lower edge, and all views after a click on More', async () => {
      await show(390, 'search/books', 'Search');
      const views = narrow.page.getByRole('navigation', { name: 'Views' });
      const shown = await views.getByRole('link').allTextContents();
      assert.deepEqual(shown, ['Search', 'Documents', 'Settings', 'Tasks']);
      for (const link of await views.locator(':is(a, button):visible').all()) {
        const { x, width } = (await link.boundingBox())!;
        assert.ok(x >= 0 && x + width <= 390);
      }
      await views.getByRole('button', { name: 'More views' }).click();
      await views.getByRole('link', { name: 'Webhooks' }).click();
      await narrow.page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
      assert.equal(await views.getByRole('link').count(), 4);
      await views.getByRole('button', { name: 'More views' }).click();
      await narrow.page.keyboard.press('Escape');
      await views.getByRole('link', { name: 'Webhooks' }).waitFor({ state: 'hidden' });
    });

    it('cuts no table, and breaks no number from its unit', async () => {
      for (const [width, fragment, title] of [
        [390, 'indexes', 'Indexes'],
        [390, 'statistics', 'Statistics'],
        [390, 'analytics', 'Analytics'],
        [390, 'documents/books', 'Documents'],
        [900, 'indexes', 'Indexes'],
        [900, 'statistics', 'Statistics'],
        [900, 'analytics', 'Analytics'],
      ] as const) {
        await show(width, fragment, title);
        await narrow.page.locator('main table').first().waitFor();
        const cut: number[] = await narrow.page
          .locator('main .wide')
          .evaluateAll((all) => all.map((one: any) => one.scrollWidth - one.clientWidth));
        assert.ok(
          cut.every((pixels) => pixels <= 0),
          `${title} at ${width}: ${cut.join()}`,
        );
        const text = (await narrow.page.locator('main').textContent())!;
        assert.doesNotMatch(text, /\d (?:bytes|[KMGT]iB|ms|s|%)(?!\w)/, title);
      }
    });
  });
});

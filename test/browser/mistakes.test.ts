/**
 * What the page does where data does not fit: a filter that is refused, a file with mistakes, an
 * index without filters.
 */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { enter, openStage, type Stage, type Tab } from './support/browser.ts';

describe('The page where something does not fit', () => {
  let stage: Stage;
  let tab: Tab;
  let page: Page;
  let refused: string[] = [];

  before(async function () {
    stage = await openStage(this);
    tab = await stage.tab();
    page = tab.page;
    page.on('response', (response) => {
      if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
    });
    const { server } = stage;
    await server.finish('POST', '/indexes/books/documents', {
      body: Array.from({ length: 5 }, (_, id) => ({ id, title: `book ${id}`, year: 1900 + id })),
    });
    await enter(tab, server, server.masterKey);
  });
  after(async () => {
    await tab?.close();
    await stage?.close();
  });

  const main = () => page.getByRole('main');
  const button = (name: string | RegExp) => main().getByRole('button', { name }).first();

  async function open(fragment: string, title: string): Promise<void> {
    await page.goto(`${stage.server.url}/#/${fragment}`);
    await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
  }

  it('asks for no facets of an index without filterable attributes, and offers to make some', async () => {
    refused = [];
    await open('search/books', 'Search');
    await page.getByText('book 0').first().waitFor();
    assert.deepEqual(refused, []);
    await main().getByRole('checkbox', { name: 'year' }).check();
    await button('Make filterable').click();
    await main().getByText('No attribute is filterable yet.').waitFor({ state: 'detached' });
    const { json } = await stage.server.call(
      'GET',
      '/indexes/books/settings/filterable-attributes',
    );
    assert.deepEqual(json, ['year']);
    await main().getByRole('group', { name: 'year' }).waitFor();
    assert.deepEqual(refused, []);
  });

  it('shows no documents and deletes none where the filter is refused', async () => {
    await open('documents/books', 'Documents');
    await page.getByRole('heading', { name: '5 documents' }).waitFor();
    await page.getByLabel('Filter').fill('title = book');
    await button('Apply').click();
    await main().getByRole('alert').first().waitFor();
    await page.getByRole('heading', { name: 'Documents', exact: true, level: 2 }).waitFor();
    assert.equal(await page.getByRole('region', { name: 'Table of documents' }).count(), 0);
    assert.equal(await main().getByText('match the filter').count(), 0);
    assert.ok(await button('Delete all that match').isDisabled());
    await page.getByLabel('Filter').fill('year < 1902');
    await button('Apply').click();
    await page.getByRole('heading', { name: '2 match the filter' }).waitFor();
    assert.ok(await button('Delete all that match').isEnabled());
  });

  it('offers what removes the cause of an error', async () => {
    await open('documents/books?filter=title%20%3D%20%22book%201%22', 'Documents');
    await button('Make title filterable').click();
    await page.getByRole('heading', { name: '1 match the filter' }).waitFor();
    await open('search/books?sort=year:desc', 'Search');
    await button('Make year sortable').click();
    await main().locator('ol.hits > li').first().getByRole('heading', { name: 'book 4' }).waitFor();
    // In the other index of a comparison, and why a task failed.
    await stage.server.finish('POST', '/indexes/other/documents', { body: [{ id: 1, year: 1 }] });
    const compared = '{"left":{"sort":""},"right":{"index":"other","sort":"year:desc"}}';
    await open(`search/books?compare=${encodeURIComponent(compared)}`, 'Search');
    // The list of indexes is older than the new one.
    await page.reload();
    await button('Make year sortable').click();
    await page.getByRole('region', { name: 'Other search' }).getByText('1 result').waitFor();
    await stage.server.finish('POST', '/indexes/codes/documents?primaryKey=id', {
      body: [{ sku: 'a1', name: 'lamp' }],
    });
    await open('tasks?statuses=failed', 'Tasks');
    await main().getByRole('list', { name: 'Tasks' }).locator('summary').first().click();
    await button('Make sku the primary key').click();
    await page.getByText(/^Done in /).waitFor();
    assert.equal((await stage.server.call('GET', '/indexes/codes')).json.primaryKey, 'sku');
    const { json } = await stage.server.call('GET', '/indexes/books/settings');
    assert.deepEqual(json.filterableAttributes.toSorted(), ['title', 'year']);
    assert.deepEqual(json.sortableAttributes, ['year']);
  });

  it('suggests what finds something, and takes a synonym in three actions', async () => {
    await open('search/books', 'Search');
    await page.getByRole('searchbox').fill('bookshelf');
    await button(/^book 5 results/).click();
    await page.getByText('book 0').first().waitFor();
    await page.getByRole('searchbox').fill('tome');
    await page.getByLabel('“tome” also finds').fill('book');
    await button('Add the synonym').click();
    await page.getByText('book 0').first().waitFor();
    const { json } = await stage.server.call('GET', '/indexes/books/settings/synonyms');
    assert.deepEqual(json, { tome: ['book'] });
  });

  it('imports a file with a wrong price and no key, and asks before it is lost', async () => {
    await open('documents/books', 'Documents');
    const lines = [
      'sku,name,price',
      's1,shoe,9.90',
      's2,boot,149',
      's3,sandal,"89,90"',
      's4,hat,5',
    ];
    const buffer = Buffer.from(lines.join('\n'));
    let actions = 1;
    await page.getByLabel('File', { exact: true }).setInputFiles({
      ...{ name: 'shop.csv', mimeType: 'text/csv', buffer },
    });
    const into = main().getByLabel('Index to add to');
    await into.waitFor();
    assert.equal(await into.inputValue(), 'shop');
    assert.equal(await main().getByLabel('Primary key').inputValue(), 'sku');
    await main().getByText('The value 89,90 of price is not a number.').waitFor();
    let question = '';
    page.once('dialog', (dialog) => {
      question = dialog.message();
      void dialog.dismiss();
    });
    await page
      .getByRole('navigation', { name: 'Views' })
      .getByRole('link', { name: 'Tasks' })
      .click();
    assert.match(question, /Leave without saving/);
    assert.equal(await into.inputValue(), 'shop');
    actions++;
    await button('Send').click();
    await main().getByRole('heading', { name: '1 row left out' }).waitFor();
    assert.equal((await stage.server.call('GET', '/indexes/shop/stats')).json.numberOfDocuments, 3);
    console.log(`      ${actions} actions`);
  });

  it('keeps the file and what was chosen when its task fails', async () => {
    await open('documents/books', 'Documents');
    const buffer = Buffer.from('[{"aid": 1, "bid": 1}, {"aid": 1, "bid": 1}]');
    await page.getByLabel('File', { exact: true }).setInputFiles({
      ...{ name: 'two-ids.json', mimeType: 'application/json', buffer },
    });
    const into = main().getByLabel('Index to add to');
    await into.fill('two');
    await button('Send').click();
    await main().getByRole('alert').first().waitFor();
    assert.equal(await into.inputValue(), 'two');
    await button('Make aid the primary key').click();
    await main().getByText('The index has it.').waitFor();
    await button('Send').click();
    await main().getByText('Done in').first().waitFor();
    assert.equal((await stage.server.call('GET', '/indexes/two/stats')).json.numberOfDocuments, 1);
  });

  it('names each setting in its group, and each task in words', async () => {
    await open('settings/books', 'Settings');
    for (const [group, setting] of [
      ['Meaning', 'Semantic cutoff'],
      ['Words', 'Suggestions'],
      ['Ranking', 'Rerankers'],
    ] as const) {
      const region = page.getByRole('region', { name: group, exact: true });
      await region.getByRole('region', { name: setting }).waitFor();
    }
    await stage.server.call('PATCH', '/experimental-features', {
      body: { dynamicSearchRules: true },
    });
    await stage.server.finish('PUT', '/aliases/novels', { body: { indexUid: 'books' } });
    await open('tasks', 'Tasks');
    await main().getByRole('listitem').getByText('Change an alias').waitFor();
    assert.equal(await main().getByText('aliasUpdate').count(), 0);
  });
});

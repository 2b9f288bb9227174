/**
 * What people do with a new server, by what they read on the page alone. The number of
 * actions and the seconds are printed.
 */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { enter, openStage, type Stage, type Tab } from './support/browser.ts';

const SHOES = [
  'sku,name,colour,price,stock',
  's1,Running shoe,red,89.90,12',
  's2,Hiking boot,brown,149,3',
  's3,Sandal,blue,cheap,40',
  's4,Red wine glass,clear,9.50,80',
  's5,Sneaker,white,59,7',
];

describe('Tasks of a new user, in a browser', () => {
  let stage: Stage;
  let tab: Tab;
  let page: Page;
  let actions = 0;

  before(async function () {
    stage = await openStage(this, ['--analytics-retention-days', '30']);
    tab = await stage.tab();
    page = tab.page;
    await enter(tab, stage.server, stage.server.masterKey);
  });
  after(async () => {
    await tab?.close();
    await stage?.close();
  });

  /** A test that prints what the task took. */
  function task(name: string, work: () => Promise<void>): void {
    it(name, async () => {
      actions = 0;
      const begun = performance.now();
      await work();
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      console.log(`      ${actions} actions, ${seconds} s`);
      assert.deepEqual(tab.faults, []);
    });
  }
  const get = async (path: string): Promise<any> => (await stage.server.call('GET', path)).json;
  const main = () => page.getByRole('main');
  const dialog = () => page.getByRole('dialog');
  const region = (name: string) => page.getByRole('region', { name, exact: true });

  async function click(name: string | RegExp, within = main()): Promise<void> {
    actions++;
    const exact = typeof name === 'string';
    await within.getByRole('button', { name, exact }).first().click();
  }
  async function fill(label: string, text: string, within = main()): Promise<void> {
    actions++;
    await within.getByLabel(label, { exact: true }).first().fill(text);
  }
  async function choose(label: string, text: string, within = main()): Promise<void> {
    actions++;
    await within.getByLabel(label, { exact: true }).selectOption({ label: text });
  }
  async function go(view: string): Promise<void> {
    actions++;
    await page
      .getByRole('navigation', { name: 'Views' })
      .getByRole('link', { name: view, exact: true })
      .click();
    await page.getByRole('heading', { level: 1, name: view, exact: true }).waitFor();
  }
  async function give(name: string, lines: readonly string[]): Promise<void> {
    actions++;
    const buffer = Buffer.from(lines.join('\n'));
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name, mimeType: 'text/csv', buffer });
  }

  task('loads a CSV file', async () => {
    await go('Documents');
    await give('shoes.csv', SHOES);
    await fill('Index to add to', 'shoes');
    await choose('Primary key', 'sku');
    await choose('Type of price', 'number');
    await click('Send');
    await region('Bad rows').getByRole('heading', { name: '1 row left out' }).waitFor();
    assert.equal((await get('/indexes/shoes/stats')).numberOfDocuments, 4);
  });

  task('mends a bad row', async () => {
    await region('Bad rows')
      .getByText('Line 4: The value cheap of price is not a number.')
      .waitFor();
    await click('Mend line 4');
    await fill('price', '19');
    await click('Send 1 mended row');
    await page.getByText(/^1 document sent to shoes/).waitFor();
    assert.equal(actions, 3);
    assert.equal((await get('/indexes/shoes/documents/s3')).price, 19);
    await region('Bad rows').waitFor({ state: 'detached' });
  });

  task('mends a bad row of a file before it is sent', async () => {
    await give('shoes.csv', [...SHOES, 's6,"Clog, wide",green,"39,-",2']);
    const group = (name: string) => main().getByRole('group', { name, exact: true });
    await click('Mend line 4');
    await fill('price', '20', group('Line 4'));
    await click('Mend line 7');
    await fill('price', '39', group('Line 7'));
    await click('Send');
    await page.getByText(/^6 documents sent to shoes/).waitFor();
    assert.equal(actions, 6);
    assert.equal((await get('/indexes/shoes/documents/s3')).price, 20);
    assert.equal((await get('/indexes/shoes/documents/s6')).name, 'Clog, wide');
    await stage.server.finish('DELETE', '/indexes/shoes/documents/s6');
  });

  task('makes an attribute filterable', async () => {
    actions++;
    await page.getByRole('link', { name: 'Settings of shoes' }).click();
    const filterable = region('Filterable attributes');
    await fill('Add to filterable attributes', 'stock', filterable);
    await page.keyboard.press('Enter');
    // What the task before says does not lie over the button.
    const bar = await page.locator('.save-bar').boundingBox();
    const toasts = await page.locator('.toasts').evaluate((one) => one.getBoundingClientRect());
    assert.ok(toasts.bottom <= bar!.y, `${toasts.bottom} ${bar!.y}`);
    await click('Review and save');
    await click('Save', dialog());
    await page.getByText(/^Done in /).waitFor();
    assert.deepEqual((await get('/indexes/shoes/settings')).filterableAttributes, ['stock']);
  });

  task('finds why a hit is first', async () => {
    await go('Search');
    await fill('Search', 'red');
    // The hits of the empty query are shown until those of this one come.
    await main().locator('mark').first().waitFor();
    actions++;
    await page.getByText('Why is this here?').first().click();
    await page.getByText('Every word of the query was found.').first().waitFor();
  });

  task('adds a synonym from a search without results', async () => {
    const search = { q: 'trainers' };
    await stage.server.call('POST', '/indexes/shoes/search', { body: search });
    await go('Analytics');
    actions++;
    await region('Searches without results')
      .getByRole('link', { name: 'Add a synonym for trainers' })
      .click();
    await fill('Also finds', 'sneaker');
    await click('Add synonyms');
    await click('Review and save');
    await click('Save', dialog());
    await page.getByText(/^Done in /).waitFor();
    const { json } = await stage.server.call('POST', '/indexes/shoes/search', { body: search });
    assert.equal(json.hits[0].name, 'Sneaker');
  });

  task('makes a key for a browser', async () => {
    await go('Keys');
    await click('Create a key');
    actions++;
    await dialog()
      .getByRole('radio', { name: /^Search in a browser/ })
      .check();
    await fill('Indexes', 'shoes', dialog());
    await click('Create', dialog());
    const key = await dialog().locator('pre').first().textContent();
    await dialog().getByLabel('Language').selectOption('PHP');
    const code = (await dialog().locator('pre').last().textContent())!;
    assert.ok(code.includes(key!) && code.includes('/indexes/shoes/search'), code);
    await click('Done', dialog());
    const made = (await get('/keys')).results.find((one: any) => one.key === key);
    assert.deepEqual([made.actions, made.indexes], [['search'], ['shoes']]);
  });

  task('compares two sets of parameters', async () => {
    await go('Search');
    await fill('Search', 'red shoe');
    await click('Compare');
    await choose(
      'Words that may be missing',
      'natural: any word may match, as in questions',
      region('Other search'),
    );
    actions++;
    await region('Other search').getByText('Why is this here?').first().click();
    await region('Other search')
      .getByText(/“red” in/)
      .first()
      .waitFor();
  });

  task('tries a setting next to the live index, applies it, and goes back', async () => {
    const { server } = stage;
    const indexes = async (): Promise<string[]> =>
      (await get('/indexes')).results.map(({ uid }: any) => uid).sort();
    for (const q of ['red', 'red', 'boot']) {
      await server.call('POST', '/indexes/shoes/search', { body: { q } });
    }
    await go('Settings');
    const words = region('Stop words');
    await fill('Find or add: stop words', 'red', words);
    await click('Add to stop words', words);
    await click('Try next to the live index');
    const panel = region('Draft of shoes');
    await panel.getByText(/^1 of \d known queries has other first hits/).waitFor();
    // What changes most is shown.
    assert.equal(await main().getByLabel('Search', { exact: true }).inputValue(), 'red');
    await region('Live').getByText('dropped', { exact: true }).first().waitFor();
    assert.ok(actions <= 5, `${actions} actions`);
    assert.deepEqual((await get('/indexes/shoes/settings')).stopWords, []);
    // The draft is an index: the page finds it again, and so does everyone else.
    await page.reload();
    await panel.getByText(/^1 of/).waitFor();
    await go('Settings');
    const drafts = region('Drafts');
    await drafts.getByRole('link', { name: 'Settings shoes-draft' }).click();
    await page.getByText('This is a draft of shoes').waitFor();
    // The live index is changed meanwhile.
    await server.finish('PATCH', '/indexes/shoes/settings', { body: { dictionary: ['J.R.'] } });
    await page.getByRole('link', { name: 'See its results next to those of shoes' }).click();
    await panel.getByText('Changed in shoes after the draft was made: dictionary.').waitFor();
    await click('Take them into the draft', panel);
    await panel.getByText('Changed in shoes').waitFor({ state: 'detached' });
    assert.deepEqual((await get('/indexes/shoes-draft/settings')).dictionary, ['J.R.']);
    const apply = async (change: string): Promise<void> => {
      await click('Apply to shoes', panel);
      await dialog().getByText(change).waitFor();
      await click('Apply', dialog());
      await page.getByText('shoes has what the draft had. Apply again to go back.').waitFor();
    };
    await apply('+ [');
    assert.deepEqual((await get('/indexes/shoes/settings')).stopWords, ['red']);
    await region('Draft').getByText('new', { exact: true }).first().waitFor();
    // Nobody has changed the settings since.
    await panel.getByText(/^1 of/).waitFor();
    assert.equal(await panel.getByRole('alert').count(), 0);
    await apply('− [');
    assert.deepEqual((await get('/indexes/shoes/settings')).stopWords, []);
    await click('Discard the draft', panel);
    await click('Discard the draft', dialog());
    await panel.waitFor({ state: 'detached' });
    assert.deepEqual(await indexes(), ['shoes']);
    await server.finish('PATCH', '/indexes/shoes/settings', { body: { dictionary: null } });
  });

  task('grades hits, and measures a draft by them', async () => {
    const { server } = stage;
    await server.finish('POST', '/indexes/shoes/branch', { body: { uid: 'shoes-draft' } });
    await server.finish('PATCH', '/indexes/shoes-draft/settings', {
      body: { searchableAttributes: ['name'] },
    });
    await page.reload();
    await go('Judgements');
    await fill('Query to judge', 'red');
    await click('Search');
    // The page shows a grade before the server has it.
    const stored = async (method: string, work: () => Promise<void>): Promise<void> => {
      const response = page.waitForResponse(
        (one) => one.request().method() === method && one.url().includes('shoes-judged'),
      );
      await work();
      await response;
    };
    await stored('POST', () => click('Good Running shoe'));
    await stored('POST', () => click('Bad Red wine glass'));
    await choose('Compare with', 'shoes-draft');
    await click('Measure');
    assert.equal(actions, 7);
    const figures = main().locator('dl');
    await figures.getByText('Difference').waitFor();
    // In the draft, only the glass has the word where it is searched.
    assert.match(await figures.innerText(), /shoes-draft\s+0\.000[^D]*Difference\s+-[01]\.\d/);
    await server.idle();
    const [judged] = (await get('/indexes/shoes-judged/documents')).results;
    assert.equal(judged.q, 'red');
    assert.deepEqual(judged.judgements, [
      { document: 's1', grade: 2 },
      { document: 's4', grade: 0 },
    ]);
    // They are there for everyone, and later.
    await page.reload();
    const row = region('Judged queries').getByRole('row', { name: /red/ });
    await row.waitFor();
    await click('Measure');
    await main().locator('dl').getByText('nDCG live').waitFor();
    await stored('DELETE', () => click('Delete red', row));
    await page.getByText('No query is judged yet').waitFor();
    await server.idle();
    assert.equal((await get('/indexes/shoes-judged/stats')).numberOfDocuments, 0);
  });

  task('deletes what a filter finds', async () => {
    await go('Documents');
    await fill('Filter', 'stock < 10');
    await click('Apply');
    await page.getByRole('heading', { name: '2 match the filter' }).waitFor();
    await click('Delete all that match');
    await fill('Type shoes to continue', 'shoes', dialog());
    await click('Delete the documents', dialog());
    await page.getByRole('heading', { name: '0 match the filter' }).waitFor();
    assert.equal((await get('/indexes/shoes/stats')).numberOfDocuments, 3);
  });

  task('finds why a task failed', async () => {
    await stage.server.finish('DELETE', '/indexes/nowhere');
    await go('Tasks');
    await page.getByRole('list', { name: 'Tasks' }).getByText('failed').first().waitFor();
    actions++;
    await page.getByRole('list', { name: 'Tasks' }).locator('summary').first().click();
    await page.getByRole('link', { name: /^What index_not_found means/ }).waitFor();
  });

  task('takes a backup', async () => {
    await go('Server');
    await click(/snapshot/i);
    await page.getByText(/^Done in /).waitFor();
    const { results } = await get('/tasks?types=snapshotCreation');
    assert.equal(results[0].status, 'succeeded');
  });
});

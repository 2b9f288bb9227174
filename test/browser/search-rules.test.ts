import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { enter, loadBooks, openStage, type Stage, type Tab } from './support/browser.ts';

describe('Search rules on the page, in a browser', () => {
  let stage: Stage;
  let tab: Tab;
  let page: Page;

  before(async function () {
    stage = await openStage(this);
    await loadBooks(stage.server);
    tab = await stage.tab({ timezoneId: 'Asia/Tokyo' });
    page = tab.page;
    await enter(tab, stage.server, stage.server.masterKey);
  });
  after(async () => {
    await tab?.close();
    await stage?.close();
  });
  afterEach(() => assert.deepEqual(tab?.faults ?? [], []));

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const card = (uid: string) =>
    page
      .getByRole('article')
      .filter({ has: page.getByRole('heading', { name: uid, exact: true }) });
  const rule = async (uid: string): Promise<any> =>
    (await stage.server.call('GET', `/dynamic-search-rules/${uid}`)).json;
  const dialog = () => page.getByRole('dialog');

  it('offers to switch the feature on where it is off', async () => {
    await page.goto(`${stage.server.url}/#/rules`);
    await button('Enable it').click();
    await page.getByText('There is no rule yet').waitFor();
  });

  it('creates a rule that searches follow', async () => {
    await button('Create a rule').click();
    await dialog().getByLabel('Uid').fill('deserts');
    await dialog().getByLabel('Description').fill('What everybody <b>means</b>');
    await dialog().getByLabel('Precedence').fill('3');
    await dialog().getByLabel('Words of the query').fill('desert');
    await dialog().getByLabel('From').fill('2020-01-02T03:04');
    const first = dialog().getByRole('group', { name: 'Document 1' });
    await first.getByLabel('Index').selectOption('books');
    await first.getByLabel('Document id').fill('1');
    await button('Add a document').click();
    await dialog().getByRole('group', { name: 'Document 2' }).getByLabel('Document id').fill('2');
    await dialog().getByRole('group', { name: 'Document 2' }).getByLabel('Position').fill('4');
    await dialog().getByRole('button', { name: 'Create' }).click();
    await page.getByText(/^Done in /).waitFor();
    await card('deserts').getByText('The query contains each of the words “desert”.').waitFor();
    await card('deserts').getByText('What everybody <b>means</b>').waitFor();
    await card('deserts').getByText('0: document 1 of books').waitFor();
    await card('deserts').getByText('4: document 2 of any index').waitFor();
    const { conditions, actions, precedence, active } = await rule('deserts');
    assert.deepEqual(conditions, {
      time: { start: '2020-01-01T18:04:00.000Z' },
      query: { words: 'desert' },
    });
    assert.deepEqual(actions, [
      { selector: { indexUid: 'books', id: '1' }, action: { type: 'pin', position: 0 } },
      { selector: { id: '2' }, action: { type: 'pin', position: 4 } },
    ]);
    assert.deepEqual([precedence, active], [3, true]);
    const { json } = await stage.server.call('POST', '/indexes/books/search', {
      body: { q: 'desert' },
    });
    assert.equal(String(json.hits[0].id), '1');
  });

  it('edits a rule, and leaves what was not typed as it was', async () => {
    await stage.server.finish('PATCH', '/dynamic-search-rules/exact', {
      body: {
        conditions: {
          time: { start: '2020-01-02T03:04:05+01:00', end: '2040-01-02T03:04:05Z' },
          filter: { values: { genres: 'satire' } },
        },
        actions: [{ selector: { id: '7' }, action: { type: 'pin', position: 1 } }],
      },
    });
    await page.reload();
    await button('Edit exact').click();
    const values = dialog().getByLabel('Values that must pass the filter');
    await values.fill('{"genres": ');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialog().getByRole('alert').getByText('not valid JSON').waitFor();
    await values.fill('{"genres": "horror"}');
    await dialog().getByLabel('The query', { exact: true }).selectOption('is empty');
    await dialog().getByLabel('Until').fill('');
    await dialog().getByLabel('Active').uncheck();
    await button('Remove document 1').click();
    await dialog().getByRole('button', { name: 'Save' }).click();
    await card('exact').getByText('not active').waitFor();
    await card('exact').getByText('The filter restricts genres, and "horror" passes it.').waitFor();
    const changed = await rule('exact');
    assert.deepEqual(changed.conditions, {
      time: { start: '2020-01-02T03:04:05+01:00' },
      query: { isEmpty: true },
      filter: { values: { genres: 'horror' } },
    });
    assert.deepEqual(changed.actions, []);
  });

  it('shows why the server refuses a rule', async () => {
    await button('Create a rule').click();
    await dialog().getByLabel('Uid').fill('never');
    await dialog().getByLabel('The query', { exact: true }).selectOption('is empty');
    await dialog().getByLabel('Words of the query').fill('something');
    await button('Remove document 1').click();
    await dialog().getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').waitFor();
    assert.equal((await rule('never')).code, 'dynamic_search_rule_not_found');
  });

  it('finds rules, and deletes one with its name typed', async () => {
    await page.getByLabel('Find a rule').fill('desert');
    await card('exact').waitFor({ state: 'detached' });
    await card('deserts').waitFor();
    await page.getByLabel('Find a rule').fill('');
    await page.getByLabel('Shown').selectOption('not active');
    await card('deserts').waitFor({ state: 'detached' });
    await button('Delete exact').click();
    await page.getByLabel('Type exact to continue').fill('exact');
    await button('Delete the rule').click();
    await card('exact').waitFor({ state: 'detached' });
    assert.equal((await rule('exact')).code, 'dynamic_search_rule_not_found');
    await page.getByLabel('Shown').selectOption('all');
    await card('deserts').waitFor();
  });

  it('are shown to no key without their action', async () => {
    const { json } = await stage.server.call('POST', '/keys', {
      body: { actions: ['search', 'indexes.get'], indexes: ['*'], expiresAt: null },
    });
    const other = await stage.tab();
    await enter(other, stage.server, json.key);
    const links = other.page.getByRole('navigation').getByRole('link');
    assert.deepEqual(await links.allTextContents(), ['Search', 'Indexes', 'Documents', 'Settings']);
    await other.close();
  });
});

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

  describe('made where the hits stand', () => {
    let actions = 0;
    const hits = () => page.locator('ol.hits > li');
    const titles = () => page.locator('ol.hits h3').allTextContents();
    const panel = () => page.getByRole('region', { name: 'Arranged results' });
    const act = async (done: Promise<unknown>): Promise<void> => {
      actions++;
      await done;
    };
    const menuOf = (title: string) =>
      page.locator('summary').filter({ has: page.getByText(`Arrange ${title}`, { exact: true }) });
    const arrange = async (title: string, choice: string | RegExp): Promise<void> => {
      await act(menuOf(title).click());
      await act(hits().getByRole('button', { name: choice }).locator('visible=true').click());
    };
    const find = async (words: string): Promise<any> =>
      (await stage.server.call('POST', '/indexes/books/search', { body: { q: words } })).json;
    const ruleOf = async (words: string): Promise<any> => {
      const { json } = await stage.server.call('POST', '/dynamic-search-rules', { body: {} });
      return json.results.find(({ conditions }: any) => conditions.query?.words === words);
    };
    const open = async (words: string): Promise<void> => {
      await page.goto(`${stage.server.url}/#/search/books`);
      await act(page.getByRole('searchbox').fill(words));
      await page
        .locator('ol.hits mark')
        .filter({ hasText: new RegExp(`^${words}`, 'i') })
        .first()
        .waitFor();
    };
    beforeEach(() => {
      actions = 0;
    });

    it('pin a hit in four actions, also where rules are off', async () => {
      const { server } = stage;
      await server.finish('DELETE', '/dynamic-search-rules');
      const off = { dynamicSearchRules: false };
      await server.call('PATCH', '/experimental-features', { body: off });
      await page.reload();
      await open('war');
      const before = await titles();
      const last = before[3]!;
      await arrange(last, 'Pin to the top');
      // The preview.
      assert.deepEqual((await titles()).slice(0, 4), [last, ...before.slice(0, 3)]);
      await hits().first().getByText('pinned, not saved').waitFor();
      await panel().getByText('Saving enables it.').waitFor();
      await act(panel().getByRole('button', { name: 'Save the rule' }).click());
      await hits().first().getByText('pinned', { exact: true }).waitFor();
      assert.equal(actions, 4);
      const { hits: found } = await find('war');
      assert.equal(found[0].title, last);
      const { actions: stored } = await ruleOf('war');
      assert.deepEqual(stored, [
        {
          selector: { indexUid: 'books', id: String(found[0].id) },
          action: { type: 'pin', position: 0 },
        },
      ]);
    });

    it('move a hit by dragging, hide another, and take both back', async () => {
      await open('love');
      const before = await titles();
      const handle = hits().nth(2).getByTitle('Drag to move');
      await handle.dragTo(hits().first(), { steps: 10 });
      await hits().first().getByRole('heading', { name: before[2]!, exact: true }).waitFor();
      await arrange(before[1]!, 'Hide');
      await panel().getByText('hidden').waitFor();
      await panel().getByRole('button', { name: 'Save the rule' }).click();
      await panel().getByRole('heading', { name: 'A rule arranges these results' }).waitFor();
      const found = (await find('love')).hits.map(({ title }: any) => title);
      assert.equal(found[0], before[2]);
      assert.ok(!found.includes(before[1]));
      await page.reload();
      await hits().first().getByText('pinned', { exact: true }).waitFor();
      await panel()
        .getByRole('button', { name: /^Show again/ })
        .click();
      await panel()
        .getByRole('button', { name: /^Unpin/ })
        .click();
      await panel().getByRole('button', { name: 'Save the rule' }).click();
      await hits().first().getByRole('heading', { name: before[0]!, exact: true }).waitFor();
      assert.equal(await ruleOf('love'), undefined);
    });

    it('apply when one chooses, and are discarded when one does not save them', async () => {
      await open('sea');
      const [first, second] = await titles();
      await arrange(second!, 'Move up');
      await panel().getByText('For searches with “sea”').click();
      await panel()
        .getByLabel('Only when narrowed to')
        .selectOption({ label: 'genres: adventure' });
      await panel().getByLabel('Until').fill('2990-01-02T03:04');
      await panel().getByText('narrowed to genres: adventure, for a time').waitFor();
      await panel().getByRole('button', { name: 'Save the rule' }).click();
      await hits().first().getByRole('heading', { name: first!, exact: true }).waitFor();
      const { conditions } = await ruleOf('sea');
      assert.deepEqual(conditions.filter, { values: { genres: 'adventure' } });
      assert.equal(conditions.time.end, '2990-01-01T18:04:00.000Z');
      // By the keyboard.
      await menuOf(second!).press('Enter');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await panel().getByText('Arranged, not saved').waitFor();
      await panel().getByRole('button', { name: 'Discard' }).click();
      await panel().waitFor({ state: 'detached' });
    });
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

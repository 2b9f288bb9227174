import assert from 'node:assert/strict';
import { enter, loadBooks, openStage, type Stage } from './support/browser.ts';

describe('The page in a browser', () => {
  let stage: Stage;

  before(async function () {
    stage = await openStage(this);
    await loadBooks(stage.server);
  });
  after(() => stage?.close());

  it('sends one request at the first visit, before it asks for a key', async () => {
    const tab = await stage.tab();
    const asked: string[] = [];
    const console: string[] = [];
    tab.page.on('console', (message) => console.push(message.text()));
    tab.page.on('response', (response) => {
      if (response.request().resourceType() === 'fetch') {
        asked.push(`${new URL(response.url()).pathname} ${response.status()}`);
      }
    });
    await tab.page.goto(stage.server.url);
    await tab.page.getByLabel('API key').waitFor();
    await tab.page.waitForLoadState('networkidle');
    assert.deepEqual(asked, ['/access 200']);
    assert.deepEqual(console, []);
    assert.equal(await tab.page.getByRole('alert').count(), 0);
    await tab.close();
  });

  it('asks for a key, reports a wrong one, and forgets it with the tab', async () => {
    const tab = await stage.tab();
    const { page } = tab;
    await page.goto(stage.server.url);
    await page.getByLabel('API key').fill('not a key');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('alert').waitFor();
    assert.match((await page.getByRole('alert').textContent())!, /not valid/);
    await page.getByLabel('API key').fill(stage.server.masterKey);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('searchbox').waitFor();
    assert.equal(await page.evaluate(() => (globalThis as any).localStorage.length), 0);
    await page.reload();
    await page.getByRole('searchbox').waitFor();
    await page.getByRole('button', { name: 'Change key' }).click();
    await page.getByLabel('API key').waitFor();
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  it('shows a key that may search nothing but the search', async () => {
    const { json } = await stage.server.call('GET', '/keys');
    const key = json.results.find(({ actions }: any) => actions.join() === 'search').key;
    const tab = await stage.tab();
    const console: string[] = [];
    tab.page.on('console', (message) => console.push(message.text()));
    await enter(tab, stage.server, key, '#/search');
    assert.deepEqual(await tab.page.getByRole('navigation').getByRole('link').allTextContents(), [
      'Search',
    ]);
    await tab.page.getByRole('combobox', { name: 'Current index' }).selectOption('books');
    await tab.page.getByRole('searchbox').fill('dune');
    await tab.page.getByRole('heading', { name: 'Dune', exact: true }).waitFor();
    assert.deepEqual(tab.faults, []);
    // It may not read the settings.
    assert.deepEqual(
      console.filter((text) => !text.includes('403')),
      [],
    );
    await tab.close();
  });

  it('searches while one types, marks what matches, and narrows by facets, order and page', async () => {
    const tab = await stage.tab();
    const { page } = tab;
    await enter(tab, stage.server, stage.server.masterKey, '#/search/books');
    const totals = page.getByRole('status');
    await page.getByText(/^431 results in/).waitFor();
    await page.getByRole('searchbox').pressSequentially('dostoyevs');
    // The results of the first letters may be shown before those of all.
    await page
      .locator('mark')
      .filter({ hasText: /^Dosto/ })
      .first()
      .waitFor();
    await page.getByRole('searchbox').fill('');
    await page.getByText(/^431 results in/).waitFor();
    const genres = page.getByRole('group', { name: 'genres' });
    await genres.getByRole('button', { name: /^All/ }).click();
    await genres.getByLabel('Find a value').fill('scie');
    await genres.getByRole('checkbox').nth(2).waitFor({ state: 'detached' });
    await genres.getByRole('checkbox', { name: 'science fiction' }).check();
    await genres.getByLabel('Find a value').fill('');
    await page.getByLabel('Sort').selectOption('year:asc');
    await page.getByRole('heading', { name: 'Frankenstein' }).waitFor();
    // The counts of the other values are those of adding them.
    assert.ok(Number(await genres.getByRole('checkbox').count()) > 5);
    const narrowed = Number.parseInt((await totals.first().textContent())!, 10);
    assert.ok(narrowed > 20 && narrowed < 431);
    await page.getByRole('button', { name: 'Page 2', exact: true }).click();
    await page.waitForFunction(
      () => (globalThis as any).document.querySelector('ol.hits').start === 21,
    );
    const address = page.url();
    await page.goto('about:blank');
    await page.goto(address);
    await page.getByRole('heading', { name: 'Search' }).waitFor();
    await page.waitForFunction(
      () => (globalThis as any).document.querySelector('ol.hits')?.start === 21,
    );
    assert.ok(await page.getByRole('checkbox', { name: 'science fiction' }).isChecked());
    assert.deepEqual(
      tab.faults.filter((fault) => fault !== 'about:blank'),
      [],
    );
    await tab.close();
  });

  it('explains why a document is here, and shows it as JSON', async () => {
    const tab = await stage.tab();
    const { page } = tab;
    await enter(tab, stage.server, stage.server.masterKey, '#/search/books?q=dune');
    const first = page.getByRole('article').first();
    await first.getByText('Why is this here?').click();
    await first.getByText('Every word of the query was found.').waitFor();
    await first.getByText('The words are spelt as in the query.').waitFor();
    await first.getByRole('button', { name: 'Details of Dune' }).click();
    await page.getByText('As JSON').click();
    const text = await page.getByRole('dialog').locator('pre').textContent();
    assert.equal(JSON.parse(text!).title, 'Dune');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  it('shows hits in rows, lines or a table, with the chosen fields, and remembers the choice', async () => {
    const tab = await stage.tab();
    const { page } = tab;
    await enter(tab, stage.server, stage.server.masterKey, '#/search/books?q=dune');
    await page.getByRole('article').first().waitFor();
    await page.getByRole('button', { name: 'Show results as a table' }).click();
    const table = page.getByRole('region', { name: 'Results as a table' });
    await table
      .getByRole('row', { name: /Dune Frank Herbert|Dune 1?\d*/ })
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Fields', exact: true }).click();
    const dialog = page.getByRole('dialog');
    for (const name of ['id', 'summary', 'language', 'genres']) {
      await dialog.getByRole('checkbox', { name, exact: true }).uncheck();
    }
    await dialog.getByRole('button', { name: 'Done' }).click();
    const heads = table.getByRole('columnheader');
    const shown = ['#', 'title', 'author', 'year', 'Score', 'Details'];
    assert.deepEqual(await heads.allTextContents(), shown);
    await page.reload();
    await table.waitFor();
    assert.deepEqual(await heads.allTextContents(), shown);
    await table.getByRole('button', { name: 'Details of Dune', exact: true }).click();
    await dialog.getByText('Every word of the query was found.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Show results compact' }).click();
    await page.getByRole('article').first().getByText('Frank Herbert').waitFor();
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  it('shows the most frequent values of a facet, or says that they are the first by name', async () => {
    const { server } = stage;
    const values = Array.from({ length: 150 }, (_, id) => ({
      id,
      tag: `t${String(id).padStart(3, '0')}`,
    }));
    const last = Array.from({ length: 20 }, (_, id) => ({ id: 1000 + id, tag: 'zebra' }));
    await server.finish('PATCH', '/indexes/tags/settings', {
      body: { filterableAttributes: ['tag'] },
    });
    await server.finish('POST', '/indexes/tags/documents', { body: [...values, ...last] });
    const tab = await stage.tab();
    const { page } = tab;
    await enter(tab, server, server.masterKey, '#/search/tags');
    const tags = page.getByRole('group', { name: 'tag' });
    await tags.getByRole('checkbox', { name: 'zebra 20' }).waitFor();
    await tags.getByRole('button', { name: 'The most frequent 100 values of tag' }).waitFor();
    await server.finish('PATCH', '/indexes/tags/settings', { body: { facetSearch: false } });
    await page.reload();
    await tags.getByText('These are the first values by name').waitFor();
    await tags.getByRole('button', { name: 'The first 100 values of tag' }).waitFor();
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  it('narrows by a range of numbers, shows the choices, and removes them', async () => {
    const tab = await stage.tab();
    const { page } = tab;
    await enter(tab, stage.server, stage.server.masterKey, '#/search/books');
    await page.getByText(/^431 results in/).waitFor();
    const year = page.getByRole('group', { name: 'year' });
    await year.locator('rect.within').nth(15).waitFor();
    await year.getByRole('slider', { name: 'year, from' }).fill('1900');
    await page.getByText(/^431 results in/).waitFor({ state: 'detached' });
    const choices = page.getByRole('list', { name: 'Choices' });
    await choices.getByRole('button', { name: 'Remove year: 1900 to …' }).waitFor();
    const { json } = await stage.server.call('POST', '/indexes/books/search', {
      body: { filter: 'year >= 1900', hitsPerPage: 1 },
    });
    await page.getByText(new RegExp(`^${json.totalHits} results in`)).waitFor();
    // The ends of the range, and its bars, are those without the choice.
    await page.waitForFunction(
      () => (globalThis as any).document.querySelectorAll('.bars rect:not(.within)').length > 0,
    );
    await choices.getByRole('button', { name: /^Remove year/ }).click();
    await page.getByText(/^431 results in/).waitFor();
    await page.getByLabel('Variety').selectOption('language');
    await page.waitForFunction(() =>
      (globalThis as any).location.hash.includes('diverse=language'),
    );
    await page.getByText(/^431 results in/).waitFor();
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  it('shows a search as a program, and compares it with another one', async () => {
    const tab = await stage.tab();
    const { page } = tab;
    await enter(tab, stage.server, stage.server.masterKey, '#/search/books?q=war');
    await page.getByRole('button', { name: 'Request', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(`curl -X POST '${stage.server.url}/indexes/books/search'`).waitFor();
    await dialog.getByLabel('Language').selectOption('Python');
    await dialog.getByText('requests.post(').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    const side = page.getByRole('region', { name: 'Other search' });
    const first = page.getByRole('region', { name: 'This search' });
    await side.getByLabel('Order').selectOption('year:desc');
    const moved = side.getByText(/lower than there|higher than there/).first();
    await moved.waitFor();
    const address = page.url();
    await page.reload();
    await moved.waitFor();
    assert.equal(page.url(), address);
    // Results that arrive while a formula is typed do not change it.
    let release!: () => void;
    const typed = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/multi-search', async (route) => {
      await typed;
      await route.continue();
    });
    await side.getByLabel('Order').selectOption('formula');
    const formula = side.getByLabel('Formula and direction');
    await formula.fill('abs(year - 1900):asc');
    release();
    await moved.waitFor({ state: 'detached' });
    assert.equal(await formula.inputValue(), 'abs(year - 1900):asc');
    await formula.press('Enter');
    await moved.waitFor();
    await side.getByText('Why is this here?').first().click();
    await side
      .getByText(/^abs\(year - 1900\)/)
      .first()
      .waitFor();
    await first.getByLabel('Words that may be missing').selectOption('natural');
    await first.getByText('Why is this here?').first().click();
    await first
      .getByText(/“war” in (title|.*) \(/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await side.waitFor({ state: 'detached' });
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  it('shows whatever documents hold as text', async () => {
    const { server } = stage;
    const hostile = {
      id: 'x',
      title: '<img src=x onerror="globalThis.hacked=1"> <script>globalThis.hacked=1</script>',
      link: 'javascript:globalThis.hacked=1',
      picture: 'https://elsewhere.example/track.png',
      nested: { '<b>name</b>': ['</script><script>globalThis.hacked=1</script>', '\uE0001\uE001'] },
      '<svg onload=globalThis.hacked=1>': '"><svg onload=globalThis.hacked=1>',
      __proto__: { polluted: true },
    };
    await server.finish('PATCH', '/indexes/hostile/settings', {
      body: { filterableAttributes: ['*'] },
    });
    await server.finish('POST', '/indexes/hostile/documents', { body: [hostile] });
    const tab = await stage.tab();
    const { page } = tab;
    await enter(tab, server, server.masterKey, '#/search/hostile?q=src');
    await page.getByRole('article').waitFor();
    assert.match((await page.getByRole('article').textContent())!, /<img src=x onerror=/);
    assert.equal(await page.locator('mark').first().textContent(), 'src');
    await page.getByRole('article').getByText('Why is this here?').click();
    await page.getByRole('button', { name: 'Details' }).click();
    await page.getByRole('dialog').getByText('"><svg onload=').first().waitFor();
    assert.equal(await page.locator('a[href^="javascript"]').count(), 0);
    const drawn = 'article img, :is(article, aside) svg:not(.icon)';
    assert.equal(await page.locator(drawn).count(), 0);
    assert.equal(await page.evaluate(() => (globalThis as any).hacked), undefined);
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });
});

describe('The page in production', () => {
  let stage: Stage;

  before(async function () {
    stage = await openStage(this, ['--env', 'production']);
  });
  after(() => stage?.close());

  it('is served to browsers, tells programs that the server is running, and shows nothing without a key', async () => {
    const program = await fetch(`${stage.server.url}/`);
    assert.deepEqual(await program.json(), { status: 'Gannet is running' });
    assert.match(program.headers.get('vary')!, /accept(?!-)/);
    const tab = await stage.tab();
    const asked: string[] = [];
    tab.page.on('response', async (response) => {
      if (response.url() !== `${stage.server.url}/`) asked.push(await response.text());
    });
    await tab.page.goto(stage.server.url);
    await tab.page.getByLabel('API key').waitFor();
    await tab.page.waitForLoadState('networkidle');
    assert.deepEqual(asked, ['{"hasMasterKey":true,"actions":[],"indexes":[]}']);
    assert.equal(await tab.page.getByRole('navigation').count(), 0);
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });
});

describe('The page on a new server', () => {
  let stage: Stage;

  before(async function () {
    stage = await openStage(this);
  });
  after(() => stage?.close());

  it('loads the demonstration with one click, and searches it', async () => {
    const tab = await stage.tab();
    const { page } = tab;
    await enter(tab, stage.server, stage.server.masterKey);
    await page.getByRole('heading', { name: 'There is no index yet' }).waitFor();
    await page.getByRole('button', { name: 'Try it with 200 books' }).click();
    await page.getByText(/^200 results in/).waitFor();
    await page.getByRole('group', { name: 'genres' }).waitFor();
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });
});

/**
 * Every view, in light on a desk and a tablet, and in dark on a telephone: axe-core finds nothing
 * serious, nothing is wider than the screen, and everything can be reached by keys.
 *
 * GANNET_PICTURES=docs/page: pictures of the views are written there.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { CHAT_SETTINGS } from '../demo/chat.ts';
import { startSummariser, type Summariser } from '../demo/summariser.ts';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider } from '../support/embedding-provider.ts';
import {
  enter,
  loadBooks,
  openStage,
  overflow,
  violations,
  type Stage,
  type Tab,
} from './support/browser.ts';

const PICTURES = process.env.GANNET_PICTURES;

const DESK = { width: 1000, height: 760 };
const TABLET = { width: 820, height: 1180 };
const TELEPHONE = { width: 390, height: 844 };

/** Views whose pictures show what is below the screen, too. */
const WHOLE = new Set(['chat', 'network', 'rules']);

const DRAFT = `search/books?compare=${encodeURIComponent('{"right":{"index":"books-draft"}}')}`;
const COMPARED = '{"left":{},"right":{"matchingStrategy":"natural"}}';

/** Where a view has something to show. */
const PLACES: Readonly<Record<string, string>> = {
  search: 'search/books?q=dostoyevski',
  documents: 'documents/books',
  settings: 'settings/books',
  chat: 'chat/demo?model=quoting',
  network: 'network?index=books',
};

describe('Every view of the page, in a browser', () => {
  let stage: Stage;
  let provider: EmbeddingProvider;
  let summariser: Summariser;
  let far: BuiltServer;

  before(async function () {
    stage = await openStage(this, ['--analytics-retention-days', '30']);
    const { server } = stage;
    await loadBooks(server);
    await server.call('PATCH', '/experimental-features', { body: { logsRoute: true } });
    await server.call('POST', '/webhooks', {
      body: { url: 'http://127.0.0.1:9/hook', headers: { 'X-From': 'gannet' } },
    });
    await server.finish('DELETE', '/indexes/nowhere');
    await server.finish('PATCH', '/indexes/cities/settings', {
      body: { filterableAttributes: ['_geo', 'country'], sortableAttributes: ['_geo'] },
    });
    await server.finish('POST', '/indexes/cities/documents', {
      body: [
        { id: 1, name: 'Lisbon', country: 'Portugal', _geo: { lat: 38.7, lng: -9.1 } },
        { id: 2, name: 'Porto', country: 'Portugal', _geo: { lat: 41.1, lng: -8.6 } },
        { id: 3, name: 'Sydney', country: 'Australia', _geo: { lat: -33.9, lng: 151.2 } },
      ],
    });
    await server.finish('PATCH', '/indexes/stations/settings', {
      body: { filterableAttributes: ['_geo'], sortableAttributes: ['_geo'] },
    });
    await server.finish('POST', '/indexes/stations/documents', { body: stations() });
    provider = await EmbeddingProvider.start();
    const embedder = {
      source: 'rest',
      url: `${provider.url}/rest/one`,
      request: { input: '{{text}}' },
      response: { embedding: '{{embedding}}' },
      dimensions: 4,
      documentTemplate: '{{ doc.title }}',
    };
    await server.finish('PATCH', '/indexes/meaning/settings', {
      body: { embedders: { words: embedder, own: { source: 'userProvided', dimensions: 2 } } },
    });
    await server.finish('POST', '/indexes/meaning/documents', {
      body: [
        { id: 1, title: 'river', _vectors: { own: null } },
        { id: 2, title: 'mountain', _vectors: { own: null } },
      ],
    });
    await visit(server);
    const draft = { uid: 'books-draft', follow: true };
    await server.finish('POST', '/indexes/books/branch', { body: draft });
    await server.finish('PATCH', '/indexes/books-draft/settings', {
      body: { searchableAttributes: ['title'] },
    });
    summariser = await startSummariser();
    await prepareChat(server, summariser.url);
    await prepareRules(server);
    far = await startBuiltServer();
    await prepareNetwork(server, far);
    if (PICTURES !== undefined) mkdirSync(PICTURES, { recursive: true });
  });
  after(async () => {
    await stage?.close();
    await far?.close();
    await summariser?.close();
    provider?.stop();
  });

  async function inTab(
    options: Parameters<Stage['tab']>[0],
    work: (tab: Tab) => Promise<void>,
  ): Promise<void> {
    const tab = await stage.tab(options);
    await enter(tab, stage.server, stage.server.masterKey);
    await work(tab);
    assert.deepEqual(tab.faults, []);
    await tab.close();
  }

  async function open({ page }: Tab, path: string): Promise<void> {
    await page.goto(`${stage.server.url}/#/${path}`);
    await page.locator('main h1').waitFor();
    // Nothing loads any more, and what was asked first is shown.
    await page.waitForLoadState('networkidle');
  }

  async function picture(page: Page, name: string): Promise<void> {
    if (PICTURES === undefined) return;
    await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: WHOLE.has(name) });
  }

  // Colours and widths have nothing to do with each other: each is seen once.
  for (const [colorScheme, device, viewport] of [
    ['light', 'desk', DESK],
    ['light', 'tablet', TABLET],
    ['dark', 'telephone', TELEPHONE],
  ] as const) {
    it(`is fit for everybody: ${colorScheme}, ${device}`, async () => {
      await inTab({ colorScheme, viewport }, async (tab) => {
        const { page } = tab;
        // A chosen file and an open dialog are left on purpose.
        page.on('dialog', (question) => void question.accept());
        const links = await page.locator('nav[aria-label="Views"] a').all();
        const names = await Promise.all(links.map((link) => link.getAttribute('href')));
        assert.ok(names.length > 8);
        for (const href of names) {
          const name = href!.replace('#/', '');
          await open(tab, PLACES[name] ?? name);
          if (name === 'search') {
            await page.locator('mark').first().waitFor();
            await page.getByText('Why is this here?').first().click();
            await page.getByText('Every word of the query').first().waitFor();
          }
          if (name === 'chat') await ask(page);
          if (name === 'logs') {
            await page.getByRole('button', { name: 'Show the log' }).click();
            await page.getByRole('log').getByText('log stream open').waitFor();
            await stage.server.call('GET', '/indexes/books/stats');
            await page
              .getByRole('log')
              .getByText(/:index_uid.*status=200/)
              .waitFor();
          }
          if (name === 'network') {
            await page.getByRole('row', { name: /^far/ }).getByText('responds').waitFor();
            await page.getByRole('row', { name: /^gone/ }).getByText('fails').waitFor();
          }
          if (name === 'analytics') {
            await page.getByRole('img', { name: /Searches by day: from/ }).waitFor();
            await page.getByText('Median response time').waitFor();
            await page.getByRole('cell', { name: /dune$/ }).first().waitFor();
          }
          if (name === 'rules') await page.getByRole('heading', { name: 'desert' }).waitFor();
          assert.deepEqual(await violations(page), [], name);
          assert.equal(await overflow(page), 0, `${name} is wider than the screen`);
          if (device === 'desk') await picture(page, name);
          if (name === 'search' && device === 'telephone') {
            await page.evaluate(() => (globalThis as any).scrollTo(0, 0));
            await picture(page, 'search-dark-telephone');
          }
        }
        await open(tab, `search/books?q=war&compare=${encodeURIComponent(COMPARED)}`);
        const other = page.getByRole('region', { name: 'Other search' });
        await other.getByText('Why is this here?').first().click();
        await other
          .getByText(/“war” in/)
          .first()
          .waitFor();
        assert.deepEqual(await violations(page), [], 'two searches');
        assert.equal(await overflow(page), 0, 'two searches are wider than the screen');
        if (device === 'desk') await picture(page, 'compare');
        for (const path of ['search/cities', 'search/meaning', 'documents/books?id=1', DRAFT]) {
          await open(tab, path);
          if (path === DRAFT) await page.getByRole('region', { name: 'Known queries' }).waitFor();
          assert.deepEqual(await violations(page), [], path);
          assert.equal(await overflow(page), 0, `${path} is wider than the screen`);
        }
        if (device === 'desk') await picture(page, 'draft');
        await page.getByRole('button', { name: 'Timeline' }).click();
        await page.getByRole('region', { name: 'Stages of the search' }).waitFor();
        assert.deepEqual(await violations(page), [], 'a timeline');
        await page.keyboard.press('Escape');
        await open(tab, 'judgements/books');
        await page.getByLabel('Query to judge').fill('dune');
        await page.keyboard.press('Enter');
        await page
          .getByRole('button', { name: /^Good Dune/ })
          .first()
          .waitFor();
        assert.deepEqual(await violations(page), [], 'grades');
        await open(tab, 'indexes');
        await page.keyboard.press('?');
        await page.getByRole('dialog', { name: 'Keys' }).waitFor();
        assert.deepEqual(await violations(page), [], 'keys');
        await page.keyboard.press('Escape');
        await open(tab, 'settings/meaning');
        await page.getByRole('button', { name: 'Test words' }).click();
        await page.getByText(/^works An embedding of 4 numbers/).waitFor();
        assert.deepEqual(await violations(page), [], 'a tested embedder');
        assert.equal(await overflow(page), 0, 'a tested embedder is wider than the screen');
        await open(tab, 'documents/books');
        await page.getByRole('button', { name: 'The Iliad', exact: true }).click();
        await page.getByLabel('Type of title of 2').waitFor();
        assert.deepEqual(await violations(page), [], 'an edited value');
        assert.equal(await overflow(page), 0, 'an edited value is wider than the screen');
        await page.keyboard.press('Escape');
        await page
          .getByLabel('Filter', { exact: true })
          .fill('year 1900 TO 1950 AND (a = 1 OR b = 2)');
        await page.getByRole('button', { name: 'Conditions' }).click();
        await page.getByRole('button', { name: 'All of these (AND)' }).first().waitFor();
        assert.deepEqual(await violations(page), [], 'conditions');
        assert.equal(await overflow(page), 0, 'conditions are wider than the screen');
        await chooseFile(page);
        assert.deepEqual(await violations(page), [], 'a file');
        assert.equal(await overflow(page), 0, 'a file is wider than the screen');
        if (device === 'desk') await picture(page, 'import');
        await open(tab, 'keys');
        await page.getByRole('button', { name: 'Create a key' }).click();
        assert.deepEqual(await violations(page), [], 'a dialog');
        await page.getByRole('radio', { name: /^Custom/ }).check();
        await page.getByRole('checkbox', { name: 'search', exact: true }).waitFor();
        assert.deepEqual(await violations(page), [], 'all actions');
        await page.keyboard.press('Escape');
        await open(tab, 'tasks?statuses=failed');
        await page.getByRole('list', { name: 'Tasks' }).locator('summary').last().click();
        await page.getByRole('link', { name: /^What index_not_found means/ }).waitFor();
        assert.deepEqual(await violations(page), [], 'a failed task');
        for (const [path, opener] of [
          ['rules', 'Create a rule'],
          ['chat/demo', 'Settings of the workspace'],
          ['network', 'Edit far'],
        ] as const) {
          await page.keyboard.press('Escape');
          await open(tab, path);
          await page.getByRole('button', { name: opener }).click();
          await page
            .getByRole('dialog')
            .getByRole('button', { name: /Save|Create/ })
            .waitFor();
          for (const closed of await page.locator('dialog details summary').all()) {
            await closed.click();
          }
          assert.deepEqual(await violations(page), [], `${path}: ${opener}`);
          assert.equal(await overflow(page), 0, `${path}: ${opener} is wider than the screen`);
        }
      });
    });
  }

  it('can be used with keys alone', async () => {
    await inTab({}, async (tab) => {
      const { page } = tab;
      const press = async (...keys: string[]): Promise<void> => {
        for (const key of keys) await page.keyboard.press(key);
      };
      const focused = (): Promise<string> =>
        page.evaluate(() => {
          const { activeElement } = (globalThis as any).document;
          return (activeElement.labels?.[0] ?? activeElement).textContent.trim();
        });
      const atLabel = (label: string): Promise<unknown> =>
        page.locator(`:focus[aria-label="${label}"]`).waitFor();
      /** Chooses an option of the field with the focus, which keeps it. */
      const choose = async (value: string): Promise<void> => {
        const chosen = (): Promise<string> =>
          page.evaluate(() => (globalThis as any).document.activeElement.value);
        for (let n = 0; n < 20 && (await chosen()) !== value; n++) await press('ArrowDown');
        assert.equal(await chosen(), value);
      };
      await open(tab, 'search/books');
      await page.getByRole('searchbox').waitFor();
      assert.equal(await focused(), 'Search');
      await page.keyboard.type('dune');
      // The results of fewer letters come first, and each may take the focus from a facet.
      await page.locator('mark').getByText('Dune', { exact: true }).first().waitFor();
      await press('Tab');
      assert.equal(await focused(), 'Refine');
      await press('Tab');
      assert.equal(await focused(), 'Sort');
      await press('Tab', 'Space');
      await page.waitForURL(/facets=/);
      await press('/');
      assert.equal(await focused(), 'Search');
      await open(tab, 'indexes');
      await page.evaluate(() => (globalThis as any).document.body.focus());
      await page.getByRole('link', { name: 'Skip to the content' }).focus();
      await press('Enter', 'Tab');
      assert.equal(await focused(), 'Create an index');
      await press('Enter');
      await page.getByRole('dialog').waitFor();
      await press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      assert.equal(await focused(), 'Create an index');
      // The conditions of a filter.
      await open(tab, 'documents/books');
      await page.getByRole('button', { name: 'Conditions' }).focus();
      await press('Enter');
      await page.getByRole('button', { name: 'Condition', exact: true }).waitFor();
      await press('Tab', 'Tab');
      assert.equal(await focused(), 'Condition');
      await press('Enter');
      await atLabel('Attribute');
      await choose('year');
      await press('Tab');
      await atLabel('Operator');
      await choose('>');
      await press('Tab');
      await atLabel('Value');
      await page.keyboard.type('1900');
      await press('Tab', 'Tab', 'Tab');
      assert.equal(await focused(), 'Condition');
      await press('Enter');
      await atLabel('Attribute');
      // The second one goes, and then the first.
      for (let n = 0; n < 4; n++) await press('Tab');
      await atLabel('Remove');
      await press('Enter');
      await atLabel('Attribute');
      const filter = page.getByLabel('Filter', { exact: true });
      assert.equal(await filter.inputValue(), 'year > 1900');
      await press('Shift+Tab', 'Enter');
      await page.waitForURL(/filter=year/);
      assert.equal(await focused(), 'Apply');
      await press('Tab', 'Tab', 'Tab', 'Tab', 'Tab');
      await atLabel('Remove');
      await press('Enter');
      await page.getByLabel('Attribute').waitFor({ state: 'detached' });
      assert.equal(await focused(), 'Condition');
      // A draft of settings next to the live index.
      await open(tab, DRAFT);
      const query = page.getByRole('region', { name: 'Known queries' }).getByRole('link').last();
      await query.focus();
      const name = await focused();
      await press('Enter');
      await page.locator(':focus[aria-current="true"]').waitFor();
      assert.equal(await focused(), name);
      await press('Tab');
      for (const what of ['Apply to books', 'Discard the draft']) {
        assert.equal(await focused(), what);
        await press('Enter');
        await page.getByRole('dialog').waitFor();
        await press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        assert.equal(await focused(), what);
        await press('Tab');
      }
      assert.equal(await focused(), 'Change its settings');
    });
  });

  it('finds places within a circle, nearest first, and draws where they are', async () => {
    await inTab({}, async (tab) => {
      const { page } = tab;
      await open(tab, 'search/cities');
      await page.getByRole('spinbutton', { name: 'Latitude' }).fill('41');
      await page.getByRole('spinbutton', { name: 'Longitude' }).fill('-8.5');
      await page.getByRole('spinbutton', { name: 'Radius in km' }).fill('500');
      await page.getByRole('button', { name: 'Nearest first' }).click();
      await page.getByText(/^2 results/).waitFor();
      assert.deepEqual(await page.locator('article h3').allTextContents(), ['Porto', 'Lisbon']);
      const map = page.getByRole('img', { name: /Locations of 2 results/ });
      await map.waitFor();
      assert.ok((await map.locator('path.land').getAttribute('d'))!.length > 100_000);
      await page.getByText('Why is this here?').first().click();
      await page
        .getByText(/m from the point; nearest first/)
        .first()
        .waitFor();
      await picture(page, 'search-places');
      await page.getByRole('button', { name: 'Anywhere' }).click();
      await page.getByText(/^3 results/).waitFor();
      await page.getByText('Shown: 3 places, all in this part of the world.').waitFor();
    });
  });

  it('draws all places that are found, not those of the page, and counts again from near', async () => {
    await inTab({}, async (tab) => {
      const { page } = tab;
      await open(tab, 'search/stations');
      const part = page.getByText(/in this part of the world/);
      await part.getByText(/^Shown: the first 1,000 places of more than 1,000/).waitFor();
      const map = page.getByRole('group', { name: 'Map' });
      // A group of places is opened with a click.
      await map.locator('.several').first().click();
      await page.getByText(/^Shown: \d+ places, all in/).waitFor();
      assert.deepEqual(await violations(page), []);
      await picture(page, 'search-map');
      await map.getByRole('button', { name: 'Move away' }).focus();
      await page.keyboard.press('ArrowRight');
      await map.getByRole('button', { name: 'All results' }).click();
      await part.getByText(/^Shown: the first 1,000/).waitFor();
    });
  });

  it('tells what visitors searched and clicked, and hands it out as CSV', async () => {
    await inTab({}, async (tab) => {
      const { page } = tab;
      await open(tab, 'analytics?indexUids=books');
      const top = page.getByRole('region', { name: 'Most frequent searches', exact: true });
      const nothing = page.getByRole('region', { name: 'Searches without results', exact: true });
      await nothing.getByRole('cell', { name: /^nothing like it/ }).waitFor();
      await top.getByRole('row', { name: /^books dune/ }).waitFor();
      await page.getByRole('img', { name: /Searches by day/ }).waitFor();
      const download = page.waitForEvent('download');
      await nothing.getByRole('button', { name: /^As CSV/ }).click();
      const text = readFileSync(await (await download).path(), 'utf8');
      assert.match(text, /^indexUid,query,[^\n]*\n/);
      assert.match(text, /books,nothing like it,1/);
      await nothing.getByRole('link', { name: 'Add a synonym for nothing like it' }).click();
      const synonyms = page.getByRole('region', { name: 'Synonyms', exact: true });
      const word = synonyms.getByLabel('Word', { exact: true });
      await word.waitFor();
      assert.equal(await word.inputValue(), 'nothing like it');
    });
  });

  it('weighs words and meaning where there is an embedder', async () => {
    await inTab({}, async (tab) => {
      const { page } = tab;
      await open(tab, 'search/meaning?q=mountain');
      await page.getByText(/^1 result in/).waitFor();
      const embedders = page.getByLabel('Embedder');
      // A vector of one's own cannot be typed.
      assert.deepEqual(await embedders.getByRole('option').allTextContents(), [
        'none: search by words only',
        'words',
      ]);
      await embedders.selectOption('words');
      await page.getByText(/^2 results in .* by meaning$/).waitFor();
      await page.getByRole('slider').focus();
      await page.keyboard.press('End');
      await page.waitForURL(/ratio=1(&|$)/);
      await page.getByText('Why is this here?').first().click();
      await page.getByText('The meaning is similar to that of the query (100 %).').waitFor();
    });
  });
});

/** Searches as visitors make them, some with a click. */
async function visit(server: BuiltServer): Promise<void> {
  const queries = [
    'dune',
    'dune',
    'war and peace',
    'gabriel garcia marqez',
    'nothing like it',
    'dune',
  ];
  for (const [visitor, q] of queries.entries()) {
    const search = { q, filter: 'year > 1800' };
    const { json } = await server.call('POST', '/indexes/books/search', { body: search });
    const clicked = json.hits[0];
    if (clicked === undefined || visitor % 2 === 1) continue;
    await server.call('POST', '/events', {
      body: {
        eventType: 'click',
        eventName: 'result',
        indexUid: 'books',
        objectId: clicked.id,
        position: 1,
      },
    });
  }
}

/** More of them than one search returns, around a few cities. */
function stations(): object[] {
  const cities = [
    [48.85, 2.35],
    [52.5, 13.4],
    [40.4, -3.7],
    [51.5, -0.1],
  ] as const;
  return Array.from({ length: 1500 }, (_, id) => {
    const [lat, lng] = cities[id % cities.length]!;
    const turn = id * 2.399;
    const far = 3 * Math.sqrt(id / 1500);
    const point = { lat: lat + far * Math.sin(turn), lng: lng + far * Math.cos(turn) };
    return { id, name: `Station ${id}`, _geo: point };
  });
}

/** A file with a bad row, not yet sent. */
async function chooseFile(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  const rows = ['sku,title,price,secret', 'a1,Lamp,19.90,x', 'a2,Chair,ask us,x', 'a3,Shelf,60,y'];
  await page.getByLabel('File', { exact: true }).setInputFiles({
    name: 'furniture.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(rows.join('\n')),
  });
  await page.getByLabel('Index to add to').fill('furniture');
  await page.getByLabel('Primary key').selectOption('sku');
  await page.getByLabel('Type of price').selectOption('number');
  await page.getByLabel('Use secret').uncheck();
  await page.getByRole('button', { name: 'Mend line 3' }).click();
  await page.getByRole('group', { name: 'Line 3' }).waitFor();
}

async function ask(page: Page): Promise<void> {
  await page.getByLabel('Question').fill('Which science fiction books are about a desert planet?');
  await page.getByRole('button', { name: 'Ask' }).click();
  await page.getByText('Dune, by Frank Herbert (1965)').waitFor();
  await page.getByText(/^Searched books/).click();
}

async function prepareChat(server: BuiltServer, provider: string): Promise<void> {
  await server.call('PATCH', '/experimental-features', { body: { chatCompletions: true } });
  await server.finish('PATCH', '/indexes/books/settings', { body: { chat: CHAT_SETTINGS } });
  await server.call('PATCH', '/chats/demo/settings', {
    body: { source: 'vLlm', baseUrl: provider },
  });
}

async function prepareRules(server: BuiltServer): Promise<void> {
  await server.call('PATCH', '/experimental-features', { body: { dynamicSearchRules: true } });
  const pin = (id: string, position: number): object => ({
    selector: { indexUid: 'books', id },
    action: { type: 'pin', position },
  });
  await server.finish('PATCH', '/dynamic-search-rules/summer', {
    body: {
      description: 'What the front page recommends.',
      conditions: {
        time: { start: '2026-06-01T00:00:00Z', end: '2030-09-01T00:00:00Z' },
        query: { isEmpty: true },
      },
      actions: [pin('1', 0), pin('2', 1)],
    },
  });
  await server.finish('PATCH', '/dynamic-search-rules/desert', {
    body: {
      description: 'The desert that most people mean.',
      precedence: 10,
      conditions: {
        query: { words: 'desert' },
        filter: { values: { genres: 'science fiction' } },
      },
      actions: [pin('3', 0)],
    },
  });
}

/** A network of the server, another one, and one that is not there. */
async function prepareNetwork(server: BuiltServer, far: BuiltServer): Promise<void> {
  for (const one of [server, far]) {
    await one.call('PATCH', '/experimental-features', { body: { network: true } });
  }
  await loadBooks(far);
  const searchApiKey = far.masterKey;
  await server.call('PATCH', '/network', {
    body: {
      self: 'near',
      sharding: true,
      remotes: {
        near: { url: server.url, searchApiKey },
        far: { url: far.url, searchApiKey },
        gone: { url: 'http://127.0.0.1:9' },
      },
    },
  });
}

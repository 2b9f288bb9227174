/**
 * The page where names are long, documents are large, screens are small, keys may do little and the
 * server goes away.
 */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { enter, loadBooks, openStage, overflow, type Stage, type Tab } from './support/browser.ts';

const TELEPHONE = { width: 390, height: 844 };
const LONG = 'n'.repeat(400);
/** A megabyte, every word of which is indexed. */
const LINE = 'loremloremlorem ipsumipsumipsum dolordolordolor ';
const LINES = 20_000;

describe('The page at its limits, in a browser', () => {
  let stage: Stage;

  before(async function () {
    stage = await openStage(this);
    const { server } = stage;
    await loadBooks(server);
    await server.finish('POST', `/indexes/${LONG}/documents`, {
      body: [
        {
          id: 'large',
          title: 'A large document',
          text: `${LINE.repeat(LINES)}needle`,
          numbers: Array.from({ length: 3000 }, (_, n) => n),
          members: Array.from({ length: 3000 }, (_, n) => ({ n, word: `w${n}` })),
        },
      ],
    });
  });
  after(() => stage?.close());

  async function inTab(
    options: Parameters<Stage['tab']>[0],
    key: string,
    work: (page: Page, tab: Tab) => Promise<void>,
  ): Promise<void> {
    const tab = await stage.tab(options);
    await enter(tab, stage.server, key);
    await work(tab.page, tab);
    assert.deepEqual(tab.faults, []);
    await tab.close();
  }
  const open = async (page: Page, path: string, title: string): Promise<void> => {
    await page.goto(`${stage.server.url}/#/${path}`);
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
  };

  it('shows an index with a name of 400 characters on a telephone, and deletes it there', async () => {
    const { server } = stage;
    const uid = `d${'o'.repeat(399)}`;
    await server.finish('POST', '/indexes', { body: { uid } });
    await inTab({ viewport: TELEPHONE }, server.masterKey, async (page) => {
      await open(page, 'statistics', 'Statistics');
      await page.getByRole('main').getByText(uid).first().waitFor();
      assert.equal(await overflow(page), 0, 'statistics');
      await open(page, 'tasks', 'Tasks');
      await page.getByRole('main').getByText(uid).first().waitFor();
      assert.equal(await overflow(page), 0, 'tasks');
      await open(page, `settings/${uid}`, 'Settings');
      await page.getByRole('region', { name: 'Searchable attributes', exact: true }).waitFor();
      assert.equal(await overflow(page), 0, 'settings');
      await open(page, 'indexes', 'Indexes');
      await page.getByRole('button', { name: `Delete ${uid}` }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel(`Type ${uid} to continue`).fill(uid);
      const inside = await dialog.evaluate((one) => one.scrollWidth - one.clientWidth);
      assert.equal(inside, 0, 'the dialog is wider than itself');
      await dialog.getByRole('button', { name: 'Delete the index' }).click();
      await page.getByText(/^Done in /).waitFor();
    });
    assert.equal((await server.call('GET', `/indexes/${uid}`)).json.code, 'index_not_found');
  });

  it('follows an address that changes while the page is being drawn', async () => {
    const tab = await stage.tab();
    await tab.page.addInitScript(() => {
      const { document, location, MutationObserver } = globalThis as any;
      const observer = new MutationObserver(() => {
        if (document.querySelector('nav[aria-label="Views"]') === null) return;
        observer.disconnect();
        location.hash = '#/statistics';
      });
      observer.observe(document, { childList: true, subtree: true });
    });
    await enter(tab, stage.server, stage.server.masterKey);
    await tab.page.getByRole('heading', { level: 1, name: 'Statistics' }).waitFor();
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  it('shows the part of a large document that matches, and the rest when asked to', async () => {
    await inTab({}, stage.server.masterKey, async (page) => {
      await open(page, `search/${LONG}?q=needle`, 'Search');
      const hit = page.getByRole('article');
      await hit.locator('mark').getByText('needle').waitFor();
      const elements = await page.evaluate(
        () => (globalThis as any).document.querySelectorAll('*').length,
      );
      assert.ok(elements < 1000, `${elements} elements`);
      assert.ok((await hit.textContent())!.length < 20_000);
      await hit.getByRole('button', { name: 'Details' }).click();
      const details = page.getByRole('dialog');
      await details.getByText('3,000 values', { exact: true }).click();
      await details.getByText('w', { exact: false }).first().waitFor();
      await details.getByRole('button', { name: 'All 3,000 values' }).first().click();
      await details.getByText('2999', { exact: true }).waitFor();
      await details.getByRole('button', { name: /^All [\d,]+ characters$/ }).click();
      await page.waitForFunction(
        (length) =>
          (globalThis as any).document.querySelector('dialog > dl').textContent.length > length,
        LINES * LINE.length,
      );
    });
  });

  it('shows on a telephone which view is open, and one line of views', async () => {
    await inTab({ viewport: TELEPHONE }, stage.server.masterKey, async (page) => {
      await open(page, 'server', 'Server');
      const views = page.getByRole('navigation', { name: 'Views' });
      const current = views.getByRole('button', { name: /^Server.*more views$/ });
      assert.ok((await current.boundingBox())!.height < 50);
      const links = views.getByRole('link');
      assert.ok((await links.count()) > 2);
      const heights = await links.evaluateAll((all) =>
        all.map((link) => link.getBoundingClientRect().height),
      );
      assert.equal(new Set(heights).size, 1, `${heights}`);
      await current.click();
      const here = views.getByRole('link', { name: 'Server' });
      assert.equal(await here.getAttribute('aria-current'), 'page');
    });
  });

  it('goes on to the index that a file has made, and takes the same file again', async () => {
    await inTab({}, stage.server.masterKey, async (page) => {
      await open(page, 'documents', 'Documents');
      const file = {
        name: 'one.json',
        mimeType: 'application/json',
        buffer: Buffer.from('[{"id": 1, "title": "only one"}]'),
      };
      for (let time = 0; time < 2; time++) {
        await page.getByLabel('File', { exact: true }).setInputFiles(file);
        await page.getByLabel('Index to add to').fill('fresh');
        await page.getByRole('button', { name: 'Send' }).click();
        await page.getByRole('link', { name: 'Search fresh' }).waitFor();
        assert.equal(await page.getByLabel('File', { exact: true }).inputValue(), '');
      }
      await page.getByRole('link', { name: 'Search fresh' }).click();
      await page.getByRole('heading', { name: 'only one' }).waitFor();
    });
  });

  it('waits for a task while the server is away, such as for a restart', async () => {
    await inTab({}, stage.server.masterKey, async (page) => {
      await open(page, 'indexes', 'Indexes');
      let refused = 0;
      await page.route(/\/tasks\/\d+$/, (route) =>
        refused++ < 3 ? route.abort('connectionrefused') : route.continue(),
      );
      await page.getByRole('button', { name: 'Create an index' }).click();
      await page.getByLabel('Uid').fill('patient');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByText(/^Done in /).waitFor();
      assert.ok(refused > 3);
      await page.getByRole('row', { name: /^patient/ }).waitFor();
    });
  });

  it('shows what it could not when the server is reachable again', async () => {
    await inTab({}, stage.server.masterKey, async (page) => {
      const settings = /\/settings$/;
      await page.route(settings, (route) => route.abort('connectionrefused'));
      await open(page, 'settings/books', 'Settings');
      await page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
      await page.unroute(settings);
      await page.getByRole('region', { name: 'Searchable attributes', exact: true }).waitFor();
      await page.getByRole('alert').waitFor({ state: 'detached' });
    });
  });

  it('shows a key the views that it may use, and no others', async () => {
    const { server } = stage;
    for (const [action, views] of [
      ['tasks.get', ['Tasks']],
      ['version', []],
      ['metrics.update', []],
      ['stats.get', ['Statistics']],
    ] as const) {
      const { json } = await server.call('POST', '/keys', {
        body: { actions: [action], indexes: ['*'], expiresAt: null },
      });
      const { page, close } = await stage.tab();
      await page.goto(server.url);
      await page.getByLabel('API key').fill(json.key);
      await page.getByRole('button', { name: 'Open' }).click();
      if (views.length === 0)
        await page.getByRole('alert').getByText('gives access to nothing').waitFor();
      else await page.getByRole('heading', { level: 1, name: views[0] }).waitFor();
      const links = page.getByRole('navigation', { name: 'Views' }).getByRole('link');
      assert.deepEqual(await links.allTextContents(), views);
      await close();
    }
  });

  it('tells a key with few rights what it may not do, and loses nothing that was typed', async () => {
    const { server } = stage;
    const { json } = await server.call('POST', '/keys', {
      body: {
        ...{ actions: ['search', 'indexes.get', 'settings.get', 'documents.get'] },
        ...{ indexes: ['books'], expiresAt: null },
      },
    });
    await inTab({}, json.key, async (page) => {
      await open(page, 'indexes', 'Indexes');
      await page.getByRole('row', { name: /books/ }).waitFor();
      assert.equal(await page.getByRole('row').count(), 2);
      await page.getByRole('button', { name: 'Delete books' }).click();
      await page.getByLabel('Type books to continue').fill('books');
      await page.getByRole('button', { name: 'Delete the index' }).click();
      await page.getByRole('alert').getByText('This key may not do that').waitFor();
      await open(page, 'settings/books', 'Settings');
      const words = page.getByRole('region', { name: 'Stop words', exact: true });
      await words.getByLabel('Find or add: stop words').fill('the');
      await words.getByRole('button', { name: 'Add to stop words' }).click();
      const draft = page.getByRole('button', { name: 'Try next to the live index' });
      assert.equal(await draft.count(), 0);
      await page.getByRole('button', { name: 'Review and save' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('alert').getByText('This key may not do that').waitFor();
      await page.getByRole('button', { name: 'Use another key' }).waitFor();
      await words.getByRole('button', { name: 'Remove the' }).waitFor();
    });
    assert.equal((await server.call('GET', '/indexes/books')).status, 200);
  });
});

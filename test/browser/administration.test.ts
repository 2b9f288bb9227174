import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { count, percent, size } from '../../src/web/format.ts';
import { EmbeddingProvider } from '../support/embedding-provider.ts';
import {
  enter,
  loadBooks,
  openStage,
  violations,
  type Stage,
  type Tab,
} from './support/browser.ts';

describe('The page, for administrators, in a browser', function () {
  // Each test goes on where the one before it ended.
  this.bail(true);
  let stage: Stage;
  let tab: Tab;
  let page: Page;

  before(async function () {
    stage = await openStage(this);
    await loadBooks(stage.server);
    tab = await stage.tab();
    page = tab.page;
    await enter(tab, stage.server, stage.server.masterKey);
  });
  after(async () => {
    await tab?.close();
    await stage?.close();
  });
  afterEach(() => assert.deepEqual(tab?.faults ?? [], []));

  async function open(path: string, title: string): Promise<void> {
    await page.goto(`${stage.server.url}/#/${path}`);
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
  }
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const done = () => page.getByText(/^Done in /);
  const get = async (path: string): Promise<any> => (await stage.server.call('GET', path)).json;

  it('creates, renames, swaps and deletes indexes, the last with the name typed', async () => {
    await open('indexes', 'Indexes');
    await button('Create an index').click();
    await page.getByLabel('Uid').fill('shelf');
    await page.getByLabel('Primary key').fill('number');
    await button('Create').last().click();
    await done().waitFor();
    assert.equal((await get('/indexes/shelf')).primaryKey, 'number');
    await button('Rename shelf').click();
    await page.getByLabel('New uid').fill('board');
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('row', { name: /board/ }).waitFor();
    assert.equal((await get('/indexes/shelf')).code, 'index_not_found');
    await button('Swap board').click();
    await page.getByLabel('With').selectOption('books');
    await page.getByRole('dialog').getByRole('button', { name: 'Swap' }).click();
    await page.getByRole('row', { name: /board id 431/ }).waitFor();
    await button('Swap board').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Swap' }).click();
    await page.getByRole('row', { name: /books id 431/ }).waitFor();
    await button('Delete board').click();
    const erase = page.getByRole('dialog').getByRole('button', { name: 'Delete the index' });
    await page.getByLabel('Type board to continue').fill('boar');
    assert.ok(await erase.isDisabled());
    await page.getByLabel('Type board to continue').fill('board');
    await erase.click();
    await page.getByRole('row', { name: /board/ }).waitFor({ state: 'detached' });
    assert.equal((await get('/indexes/board')).code, 'index_not_found');
  });

  it('sends files, in pieces if they are large, and reports what is wrong with them', async () => {
    await open('documents', 'Documents');
    const file = page.getByLabel('File', { exact: true });
    const line = (id: number): string => JSON.stringify({ id, text: 'word '.repeat(20_000) });
    const lines = Array.from({ length: 250 }, (_, id) => line(id)).join('\n');
    await file.setInputFiles({
      name: 'lines.ndjson',
      mimeType: 'application/octet-stream',
      buffer: Buffer.from(lines),
    });
    await page.getByLabel('Index to add to').fill('lines');
    await button('Send').click();
    await page.getByText(/Done in .* sent in 2 pieces/).waitFor({ timeout: 120_000 });
    assert.equal((await get('/indexes/lines/stats')).numberOfDocuments, 250);
    await file.setInputFiles({
      name: 'wrong.json',
      mimeType: 'application/json',
      buffer: Buffer.from('[{"id": 1},'),
    });
    await page.getByRole('alert').filter({ hasText: 'wrong.json:1: ' }).waitFor();
    await file.setInputFiles({
      name: 'table.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('id;title\n1;one\n'),
    });
    await page.getByLabel('Index to add to').fill('table');
    assert.equal(await page.getByLabel('Separator').inputValue(), ';');
    await page.getByLabel('Separator').fill('x');
    await page.getByRole('alert').filter({ hasText: 'the header has no' }).waitFor();
    await page.getByLabel('File', { exact: true }).setInputFiles([]);
    await file.setInputFiles({
      name: 'table.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('id;title\n1;one\n'),
    });
    await button('Send').click();
    await done().waitFor();
    assert.equal((await get('/indexes/table/documents/1')).title, 'one');
  });

  it('cuts large CSV at the ends of records alone, whatever ends its lines, and names what is wrong by its line', async () => {
    await open('documents', 'Documents');
    const file = page.getByLabel('File', { exact: true });
    const choose = (name: string, text: string): Promise<void> =>
      file.setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
    const give = async (name: string, text: string): Promise<void> => {
      await choose(name, text);
      await page.getByLabel('Index to add to').fill('rows');
      await button('Send').click();
    };
    const pad = 'x'.repeat(100_000);
    const rows = Array.from({ length: 250 }, (_, id) =>
      id % 2 === 0 ? `${id},in 5" steel,${pad}\r` : `${id},"two\rlines, ""${id}""",${pad}\r`,
    );
    await give('rows.csv', `id,title,pad\r${rows.join('')}`);
    await page.getByText(/Done in .* sent in 2 pieces/).waitFor({ timeout: 120_000 });
    assert.equal((await get('/indexes/rows/stats')).numberOfDocuments, 250);
    assert.equal((await get('/indexes/rows/documents/248?fields=title')).title, 'in 5" steel');
    const last = (await get('/indexes/rows/documents/249?fields=title')).title;
    assert.equal(last, 'two\rlines, "249"');
    const faults: [string, string, RegExp][] = [
      ['open.csv', 'id,t\n1,"x\n2,y\n', /open\.csv:2: .*never closed/],
      ['none.csv', 'id,t\n', /none\.csv holds no documents/],
    ];
    for (const [name, text, message] of faults) {
      await choose(name, text);
      await page.getByRole('alert').filter({ hasText: message }).waitFor();
    }
    // Behind the part that is looked at before it is sent.
    await give('large.csv', `id,title,pad\r${rows.join('').replace('249,"two', '249,1,"two')}`);
    const bad = page.getByRole('region', { name: 'Bad rows' });
    await bad.getByText(/^Line \d+: This row has 4 values, and the header has 3/).waitFor();
    await give('tabs.tsv', 'id\ttitle\n250\ta,b\n');
    await done().waitFor();
    assert.equal((await get('/indexes/rows/documents/250')).title, 'a,b');
  });

  it('shows the first rows of a file, renames and leaves out columns, and hands out bad rows', async () => {
    await open('documents', 'Documents');
    await page.getByLabel('File', { exact: true }).setInputFiles({
      name: 'plants.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('key,name,size,secret\n1,oak,30,x\n2,elm,tall,x\n,ash,20,x\n4,fir,,y\n'),
    });
    const fields = page.getByRole('region', { name: 'Fields and first rows' });
    await fields.getByRole('row', { name: /size .*30 tall 20/ }).waitFor();
    await page.getByLabel('Index to add to').fill('grown');
    await page.getByLabel('Primary key').selectOption('key');
    await fields.getByLabel('Type of size').selectOption('number');
    await fields.getByLabel('Name of size').fill('name');
    await page.getByText('Two fields have the name name.').waitFor();
    assert.ok(await button('Send').isDisabled());
    await fields.getByLabel('Name of size').fill('metres');
    await fields.getByLabel('Use secret').uncheck();
    const bad = page.getByRole('region', { name: 'Bad rows' });
    await bad.getByRole('heading', { name: '2 of the first 4 rows cannot be used' }).waitFor();
    await button('Send').click();
    await bad.getByRole('heading', { name: '2 rows left out' }).waitFor();
    await bad.getByText('Line 3: The value tall of metres is not a number.').waitFor();
    await bad.getByText('Line 4: The primary key key is missing.').waitFor();
    await page.getByRole('link', { name: /^Task \d+$/ }).waitFor();
    assert.deepEqual((await get('/indexes/grown/documents')).results, [
      { key: 1, name: 'oak', metres: 30 },
      { key: 4, name: 'fir', metres: null },
    ]);
    const download = page.waitForEvent('download');
    await button('Download these 2 rows').click();
    const text = readFileSync(await (await download).path(), 'utf8');
    assert.equal(text, 'key,name,size,secret\n2,elm,tall,x\n,ash,20,x\n');
  });

  it('checks bad rows while they are mended, with keys, before and after the file is sent', async () => {
    await open('documents', 'Documents');
    const good = Array.from({ length: 250 }, (_, at) => `k${at},x,1`);
    await page.getByLabel('File', { exact: true }).setInputFiles({
      name: 'rows.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(
        ['code,name,size', 'a,oak,tall', 'b,elm, or ash,3', 'c,fir', ...good, 'd,yew,old'].join(
          '\n',
        ),
      ),
    });
    await page.getByLabel('Index to add to').fill('mended');
    const bad = page.getByRole('region', { name: 'Bad rows' });
    const keys = page.keyboard;
    const focused = (): Promise<string> =>
      page.evaluate(() => {
        const { activeElement } = (globalThis as any).document;
        return (activeElement.labels?.[0] ?? activeElement).textContent;
      });
    await bad.getByRole('heading', { name: '3 of the first 199 rows cannot be used' }).waitFor();
    // The cell that is wrong has the focus, and what is typed is checked at once.
    await button('Mend line 2').focus();
    await keys.press('Enter');
    await bad.getByLabel('size').waitFor();
    assert.equal(await focused(), 'size');
    await keys.type('high');
    await bad.getByText('Line 2: The value high of size is not a number.').waitFor();
    await keys.press('Enter');
    assert.equal(await focused(), 'size');
    await keys.press('Shift+Tab');
    assert.equal(await focused(), 'name');
    await keys.press('Escape');
    await bad.getByText('Line 2: The value tall of size is not a number.').waitFor();
    assert.equal(await focused(), 'Mend line 2');
    await keys.press('Enter');
    await bad.getByLabel('size').waitFor();
    await keys.type('30');
    await bad.getByText('Line 2: Mended').waitFor();
    assert.deepEqual(await violations(page), []);
    await keys.press('Enter');
    assert.equal(await focused(), 'Mend line 2');
    await bad.getByRole('heading', { name: '2 of the first 199 rows cannot be used' }).waitFor();
    // A value too many, and one that is missing.
    await button('Mend line 3').click();
    await bad.getByLabel('name').fill('elm, or ash');
    await bad.getByLabel('size').fill('3');
    await bad.getByLabel('Value 4').fill('');
    await bad.getByText('Line 3: Mended').waitFor();
    await keys.press('Enter');
    await button('Mend line 4').click();
    await bad.getByLabel('size').press('Enter');
    await bad.getByRole('heading', { name: '0 of the first 199 rows' }).waitFor();
    await button('Send').click();
    // A row behind those that were looked at first.
    await bad.getByText('Line 255: The value old of size is not a number.').waitFor();
    assert.ok(await button('Send 0 mended rows').isDisabled());
    await button('Mend line 255').click();
    await bad.getByLabel('size').fill('99');
    await button('Send 1 mended row').click();
    await page.getByText('1 document, lines 255 to 255.').waitFor();
    const found = [];
    for (const id of 'abcd') found.push(await get(`/indexes/mended/documents/${id}`));
    assert.deepEqual(found, [
      { code: 'a', name: 'oak', size: 30 },
      { code: 'b', name: 'elm, or ash', size: 3 },
      { code: 'c', name: 'fir', size: null },
      { code: 'd', name: 'yew', size: 99 },
    ]);
    // A line of JSON is mended as text.
    await page.getByLabel('File', { exact: true }).setInputFiles({
      name: 'mended.ndjson',
      mimeType: 'application/x-ndjson',
      buffer: Buffer.from('{"code":"e"}\n{"code":"f",}\n'),
    });
    await button('Mend line 2').click();
    await bad.getByLabel('Text of the row').fill('{"code":"f","size":12345678901234567890}');
    await button('Send').click();
    await page.getByText('2 documents sent to mended.').waitFor();
    assert.equal((await get('/indexes/mended/stats')).numberOfDocuments, 256);
  });

  it('shows what the server says of documents that it refuses', async () => {
    const { server } = stage;
    await server.finish('PATCH', '/indexes/refusing/settings', {
      body: { embedders: { own: { source: 'userProvided', dimensions: 2 } } },
    });
    await open('documents/refusing', 'Documents');
    await page.getByLabel('File', { exact: true }).setInputFiles({
      name: 'vectors.json',
      mimeType: 'application/json',
      buffer: Buffer.from('[{"id": 1, "_vectors": {"own": [1, 2, 3]}}]'),
    });
    await button('Send').click();
    await page.getByRole('alert').first().waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: /1 document, lines 1 to 1. Refused: / })
      .waitFor();
  });

  it('takes a file that is dropped', async () => {
    // The refused file is still chosen.
    const asked = page.waitForEvent('dialog').then((question) => question.accept());
    await open('documents/table', 'Documents');
    await asked;
    const transfer = await page.evaluateHandle(() => {
      const browser = globalThis as any;
      const moved = new browser.DataTransfer();
      moved.items.add(new File(['[{"id": 2, "title": "dropped"}]'], 'dropped.json'));
      return moved;
    });
    await page.locator('.drop').dispatchEvent('drop', { dataTransfer: transfer });
    await page.getByText(/dropped\.json/).waitFor();
    await page.getByRole('row', { name: /title .*dropped/ }).waitFor();
    await button('Send').click();
    await page.getByText('2 documents').waitFor();
    assert.equal((await get('/indexes/table/documents/2')).title, 'dropped');
  });

  it('edits a document without losing a digit, adds and deletes one', async () => {
    const { server } = stage;
    await server.finish('POST', '/indexes/exact/documents', {
      text: '[{"id": 1, "number": 12345678901234567890, "title": "old"}]',
    });
    await open('documents/exact', 'Documents');
    await page.getByRole('link', { name: 'Edit 1' }).click();
    const text = page.getByLabel('Document as JSON');
    await page.waitForFunction(() =>
      (globalThis as any).document.querySelector('dialog textarea')?.value.includes('old'),
    );
    await text.fill((await text.inputValue()).replace('old', 'new'));
    await button('Save').click();
    await done().waitFor();
    const stored = await fetch(`${server.url}/indexes/exact/documents/1`, {
      headers: { authorization: `Bearer ${server.masterKey}` },
    });
    assert.equal(await stored.text(), '{"id":1,"number":12345678901234567890,"title":"new"}');
    await button('Add one').click();
    await text.fill('{"id": 2}');
    await button('Save').click();
    await page.getByText('2 documents').waitFor();
    await page.getByRole('link', { name: 'Edit 2' }).click();
    await button('Delete this document').click();
    await page.getByText('1 document', { exact: true }).waitFor();
  });

  describe('documents as a table', () => {
    const table = () => page.getByRole('region', { name: 'Table of documents' });
    const row = (id: string) => table().getByRole('row', { name: new RegExp(`^${id} `) });
    const value = (id: string, text: string) =>
      row(id).getByRole('button', { name: text, exact: true });
    const stored = async (id: string): Promise<string> => {
      await stage.server.idle();
      const { server } = stage;
      const response = await fetch(`${server.url}/indexes/goods/documents/${id}`, {
        headers: { authorization: `Bearer ${server.masterKey}` },
      });
      return response.text();
    };
    const focused = (): Promise<string> =>
      page.evaluate(() => (globalThis as any).document.activeElement.title);
    const A = '{"sku":"a","price":12345678901234567890,"name":"lamp","sold":false,"tags":["x"]}';
    const B = '{"sku":"b","price":2.5,"name":"7","sold":true,"tags":null}';
    const undo = (what: string) => button(`Undo ${what}`);
    /** The page knows that the server has made a change when it can be undone. */
    const made = (what: string) => undo(what).waitFor();

    before(async () => {
      const { server } = stage;
      await server.finish('PATCH', '/indexes/goods/settings', {
        body: { embedders: { own: { source: 'userProvided', dimensions: 2 } } },
      });
      const added = await server.finish('POST', '/indexes/goods/documents?primaryKey=sku', {
        text: `${A.replace('}', ',"_vectors":{"own":[0.5,0.25]}}')}\n${B.replace('}', ',"_vectors":{"own":null}}')}`,
        type: 'application/x-ndjson',
      });
      assert.equal(added.status, 'succeeded');
      await open('documents/goods', 'Documents');
      await value('a', 'lamp').waitFor();
    });

    it('keeps the type of a value, and every digit, and undoes several changes', async () => {
      assert.ok(await button(/^Undo/).isDisabled());
      await value('b', '7').click();
      await page.getByLabel('name of b', { exact: true }).fill('8');
      await page.keyboard.press('Enter');
      await made('name of b');
      assert.equal(await stored('b'), B.replace('"7"', '"8"'));
      await value('b', '2.5').click();
      const price = page.getByLabel('price of b', { exact: true });
      await price.fill('much');
      await button('Save').click();
      await row('b').getByRole('alert').getByText('"much" is not a number.').waitFor();
      await price.fill('98765432109876543210.50');
      await button('Save').click();
      await made('price of b');
      await value('b', 'true').click();
      await page.getByLabel('sold of b', { exact: true }).selectOption('false');
      await button('Save').click();
      await made('sold of b');
      await value('b', 'null').click();
      await page.getByLabel('tags of b', { exact: true }).fill('["y",  {"z": 1.50}]');
      // What is left is saved.
      await page.getByRole('heading', { level: 1 }).click();
      await made('tags of b');
      assert.equal(
        await stored('b'),
        '{"sku":"b","price":98765432109876543210.50,"name":"8","sold":false,"tags":["y",{"z":1.50}]}',
      );
      assert.equal(await stored('a'), A);
      for (const what of ['tags of b', 'sold of b', 'price of b', 'name of b']) {
        await undo(what).click();
        await undo(what).waitFor({ state: 'detached' });
      }
      assert.equal(await stored('b'), B);
      assert.equal(await table().getByRole('button', { name: 'a', exact: true }).count(), 0);
    });

    it('takes values, types and the last change back with keys alone', async () => {
      await value('a', 'lamp').focus();
      await page.keyboard.press('ArrowDown');
      assert.equal(await focused(), 'Edit name of b');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowUp');
      assert.equal(await focused(), 'Edit sold of a');
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('Enter');
      await page.keyboard.type('nothing');
      await page.keyboard.press('Escape');
      assert.equal(await focused(), 'Edit name of a');
      await page.keyboard.press('Enter');
      await page.keyboard.type('9');
      await page.keyboard.press('Tab');
      await page.keyboard.type('number');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await made('name of a');
      assert.equal(await focused(), 'Edit name of a');
      assert.equal(await stored('a'), A.replace('"lamp"', '9'));
      await page.keyboard.press('Control+z');
      await value('a', 'lamp').waitFor();
      assert.equal(await stored('a'), A);
    });

    it('shows a change at once, and the old value with the reason where it is refused', async () => {
      let letGo = (): void => {};
      const held = new Promise<void>((resolve) => (letGo = resolve));
      await page.route('**/goods/documents?*', async (route) => {
        await held;
        await route.continue();
      });
      await value('a', 'lamp').click();
      await page.getByLabel('name of a', { exact: true }).fill('torch');
      await page.keyboard.press('Enter');
      await value('a', 'torch').waitFor();
      assert.equal(JSON.parse(await stored('a')).name, 'lamp');
      letGo();
      await made('name of a');
      await page.unroute('**/goods/documents?*');
      await undo('name of a').click();
      await value('a', 'lamp').waitFor();
      // The server refuses a place that is a text.
      const { server } = stage;
      await server.finish('PATCH', '/indexes/goods/settings', {
        body: { filterableAttributes: ['_geo'] },
      });
      await server.finish('PUT', '/indexes/goods/documents', {
        body: [{ sku: 'b', _geo: { lat: 1, lng: 2 } }],
      });
      await page.reload();
      await value('b', '{"lat":1,"lng":2}').click();
      await page.getByLabel('_geo of b', { exact: true }).fill('"here"');
      await page.keyboard.press('Enter');
      await page
        .getByRole('alert')
        .getByText(/^_geo of b is as before: .*/)
        .waitFor();
      await value('b', '{"lat":1,"lng":2}').waitFor();
      assert.ok(await button(/^Undo/).isDisabled());
    });

    it('changes one field of what others changed meanwhile, and undo brings theirs back', async () => {
      const { server } = stage;
      await server.finish('PUT', '/indexes/goods/documents', {
        body: [{ sku: 'a', name: 'theirs', sold: true }],
      });
      await value('a', 'lamp').click();
      await page.getByLabel('name of a', { exact: true }).fill('mine');
      await page.keyboard.press('Enter');
      await made('name of a');
      assert.equal(await stored('a'), A.replace('"lamp","sold":false', '"mine","sold":true'));
      await undo('name of a').click();
      await value('a', 'theirs').waitFor();
      assert.equal(await stored('a'), A.replace('"lamp","sold":false', '"theirs","sold":true'));
      // A field that was not there is taken away again.
      await row('a').getByTitle('Edit _geo of a').click();
      await page.getByLabel('_geo of a', { exact: true }).fill('{"lat": 3, "lng": 4}');
      await page.keyboard.press('Enter');
      await made('_geo of a');
      await undo('_geo of a').click();
      await undo('_geo of a').waitFor({ state: 'detached' });
      assert.equal(await stored('a'), A.replace('"lamp","sold":false', '"theirs","sold":true'));
      await server.finish('DELETE', '/indexes/goods/documents/b');
      await value('b', '7').click();
      await page.getByLabel('name of b', { exact: true }).fill('gone');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').getByText('The document b no longer exists.').waitFor();
      await row('b').waitFor({ state: 'detached' });
      assert.match(await stored('b'), /document_not_found/);
    });

    it('brings a deleted document back, with its vectors', async () => {
      const before = await stored('a');
      await row('a').getByRole('button', { name: 'Delete a' }).click();
      await value('a', 'theirs').waitFor({ state: 'detached' });
      await made('document a');
      assert.match(await stored('a'), /document_not_found/);
      await page.keyboard.press('Control+z');
      await value('a', 'theirs').waitFor();
      assert.equal(await stored('a'), before);
      const { _vectors } = await get('/indexes/goods/documents/a?retrieveVectors=true');
      assert.deepEqual(_vectors.own, { embeddings: [[0.5, 0.25]], regenerate: false });
      // One that was made is deleted again.
      await button('Add one').click();
      await page.getByLabel('Document as JSON').fill('{"sku": "c", "_vectors": {"own": null}}');
      await button('Save').click();
      await undo('document c').click();
      await undo('document c').waitFor({ state: 'detached' });
      assert.match(await stored('c'), /document_not_found/);
    });
  });

  it('shows chosen columns of the documents that a filter finds, and deletes those', async () => {
    const { server } = stage;
    await server.finish('PATCH', '/indexes/plants/settings', {
      body: { filterableAttributes: ['height'] },
    });
    await server.finish('POST', '/indexes/plants/documents', {
      body: Array.from({ length: 30 }, (_, id) => ({ id, name: `plant ${id}`, height: id })),
    });
    await open('documents/plants', 'Documents');
    const table = page.getByRole('region', { name: 'Table of documents' });
    await table.getByRole('row', { name: /^0 plant 0/ }).waitFor();
    await page.getByText('Columns', { exact: true }).click();
    await page.getByRole('checkbox', { name: 'name' }).uncheck();
    await table.getByRole('cell', { name: 'plant 0' }).waitFor({ state: 'detached' });
    const columns = page.getByRole('group', { name: 'Columns of the table' });
    await page.keyboard.press('Escape');
    await columns.waitFor({ state: 'hidden' });
    await page.keyboard.press('Enter');
    await columns.waitFor();
    await page.getByRole('heading', { level: 1 }).click();
    await columns.waitFor({ state: 'hidden' });
    await page.reload();
    await table.getByRole('columnheader', { name: 'height' }).waitFor();
    assert.equal(await table.getByRole('columnheader', { name: 'name' }).count(), 0);
    await button('Page 2').click();
    await table.getByRole('cell', { name: '29' }).first().waitFor();
    await page.getByLabel('Filter').fill('height >= 28');
    await button('Apply').click();
    await page.getByRole('heading', { name: '2 match the filter' }).waitFor();
    await button('Delete all that match').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: 'Delete 2 documents' }).waitFor();
    await dialog.getByLabel('Type plants to continue').fill('plants');
    await dialog.getByRole('button', { name: 'Delete the documents' }).click();
    await page.getByText('No document matches').waitFor();
    assert.equal((await get('/indexes/plants/stats')).numberOfDocuments, 28);
  });

  it('builds a filter of attributes, operators and values of the index, and its text, both ways', async () => {
    const { server } = stage;
    await server.finish('PATCH', '/indexes/wares/settings', {
      body: {
        filterableAttributes: [
          ...['colour', 'price', '_geo'],
          { attributePatterns: ['si*'], features: { filter: { equality: true } } },
        ],
      },
    });
    await server.finish('POST', '/indexes/wares/documents', {
      body: Array.from({ length: 12 }, (_, id) => ({
        id,
        colour: ['red', 'light blue', 'green'][id % 3],
        price: id,
        size: ['S', 'M'][id % 2],
      })),
    });
    await open('documents/wares', 'Documents');
    const text = page.getByLabel('Filter', { exact: true });
    const conditions = () => page.getByRole('group', { name: 'Conditions' });
    const all = (label: string) => conditions().getByLabel(label);
    const values = (label: string): Promise<string[]> =>
      all(label).evaluateAll((some) => some.map((one: any) => one.value));
    await page.getByRole('button', { name: 'Conditions' }).click();
    await conditions().getByRole('button', { name: 'Condition', exact: true }).last().click();
    assert.deepEqual(await all('Attribute').getByRole('option').allTextContents(), [
      ...['colour', 'price', 'size'],
    ]);
    await all('Attribute').selectOption('colour');
    await page.locator('datalist option[value="light blue"]').waitFor({ state: 'attached' });
    await all('Value').fill('light blue');
    assert.equal(await text.inputValue(), 'colour = "light blue"');
    await conditions().getByRole('button', { name: 'Condition', exact: true }).last().click();
    await all('Attribute').nth(1).selectOption('price');
    // It is known that its values are numbers.
    await all('Operator').nth(1).getByText('CONTAINS').first().waitFor({ state: 'detached' });
    await all('Operator').nth(1).selectOption('TO');
    await all('Value 1').fill('8');
    // A condition that is not complete is in no text.
    assert.equal(await text.inputValue(), 'colour = "light blue"');
    await all('Value 2').fill('10');
    assert.equal(await text.inputValue(), 'colour = "light blue" AND price 8 TO 10');
    await button('Any of these (OR)').click();
    assert.equal(await text.inputValue(), 'colour = "light blue" OR price 8 TO 10');
    await conditions().getByRole('button', { name: 'NOT' }).first().click();
    assert.equal(await text.inputValue(), 'NOT colour = "light blue" OR price 8 TO 10');
    await text.press('Enter');
    await page.getByRole('heading', { name: '9 match the filter' }).waitFor();
    await text.fill(
      '(size IN [S, "M"] OR colour EXISTS) AND NOT (price>3) AND _geoRadius(1, 2, 3)',
    );
    assert.deepEqual(await values('Attribute'), ['size', 'colour', 'price']);
    assert.deepEqual(await values('Operator'), ['IN', 'EXISTS', '>']);
    assert.deepEqual(await values('Value 2'), ['M']);
    assert.ok(!(await all('Operator').first().innerText()).includes('>'));
    await page.getByText('_geoRadius(1, 2, 3)', { exact: true }).waitFor();
    await all('Value 3').fill('L');
    assert.equal(
      await text.inputValue(),
      '(size IN [S, M, L] OR colour EXISTS) AND NOT price > 3 AND _geoRadius(1, 2, 3)',
    );
    await conditions().getByRole('button', { name: 'Remove', exact: true }).last().click();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('heading', { name: '4 match the filter' }).waitFor();
    await text.fill('colour = ');
    await page.getByText('This filter is edited as text: the filter ends early.').waitFor();
    await open('search/wares', 'Search');
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await text.fill('price < 2');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText(/^2 results/).waitFor();
    // Facets narrow it further, and it is one of the choices.
    await page.getByRole('checkbox', { name: /^red/ }).check();
    await page.getByText(/^1 result /).waitFor();
    await page.getByRole('button', { name: 'Remove price < 2' }).click();
    await page.getByText(/^4 results/).waitFor();
  });

  it('exports what the filter finds, with every digit', async () => {
    const { server } = stage;
    const lines = '{"id":1,"n":12345678901234567890,"t":"a,\\"b"}\n{"id":2,"t":null}\n';
    await server.finish('POST', '/indexes/digits/documents', {
      text: lines,
      type: 'application/x-ndjson',
    });
    await open('documents/digits', 'Documents');
    const exported = async (format: RegExp): Promise<string> => {
      await page.getByText('Export', { exact: true }).click();
      const started = page.waitForEvent('download');
      await button(format).click();
      const path = await (await started).path();
      await page.getByText('Export', { exact: true }).click();
      return readFileSync(path, 'utf8');
    };
    assert.equal(await exported(/^NDJSON/), lines);
    const csv = 'id:number,n:number,t\n1,12345678901234567890,"a,""b"\n2,,\n';
    assert.equal(await exported(/^CSV/), csv);
  });

  it('asks before it discards a document, and keeps vectors that it does not show', async () => {
    const { server } = stage;
    await server.finish('PATCH', '/indexes/placed/settings', {
      body: { embedders: { own: { source: 'userProvided', dimensions: 2 } } },
    });
    await server.finish('POST', '/indexes/placed/documents', {
      body: [{ id: 1, title: 'old', _vectors: { own: [0.5, 0.25] } }],
    });
    await open('documents/placed?id=1', 'Documents');
    const text = page.getByLabel('Document as JSON');
    await page.waitForFunction(() =>
      (globalThis as any).document.querySelector('dialog textarea')?.value.includes('old'),
    );
    assert.doesNotMatch(await text.inputValue(), /_vectors/);
    await text.fill('{"id": 1, "titel": "new"}');
    await page.getByText('Do you mean').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await button('Keep editing').click();
    const asked = page.waitForEvent('dialog').then((dialog) => dialog.dismiss());
    await page.evaluate(() => {
      (globalThis as any).location.hash = '#/keys';
    });
    await asked;
    assert.equal(await text.inputValue(), '{"id": 1, "titel": "new"}');
    await text.fill('{"id": 1, "title": "new"}');
    await button('Save').click();
    await done().waitFor();
    const stored = await get('/indexes/placed/documents/1?retrieveVectors=true');
    assert.equal(stored.title, 'new');
    assert.deepEqual(stored._vectors.own, { embeddings: [[0.5, 0.25]], regenerate: false });
    await page.getByRole('link', { name: 'Edit 1' }).click();
    // The document must be there: what arrives while one types would be mixed with it.
    await button('Save').click({ trial: true });
    await text.fill('{');
    await button('Save').click();
    // What was typed stays after an error.
    await page.getByRole('dialog').getByRole('alert').waitFor();
    assert.equal(await text.inputValue(), '{');
    await button('Close').click();
    await button('Discard it').click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  const setting = (name: string) => page.getByRole('region', { name, exact: true });
  const bar = () => page.getByRole('region', { name: 'Changes', exact: true });
  const save = async (): Promise<void> => {
    await bar().getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  };

  it('explains every setting, with what a change costs, and saves several at once', async () => {
    await open('settings/books', 'Settings');
    const { paths } = await get('/openapi.json');
    const { schema } =
      paths['/indexes/{index_uid}/settings'].patch.requestBody.content['application/json'];
    // Some are returned only where they differ from their defaults.
    const names = Object.keys(schema.properties).filter(
      (name) => 'x-initial' in schema.properties[name],
    );
    const stored = await get('/indexes/books/settings');
    await setting('Typo tolerance').waitFor();
    const count = new Set([...names, ...Object.keys(stored)]).size;
    assert.equal(await page.locator('.setting').count(), count);
    for (const one of await page.locator('.setting').all()) {
      assert.ok((await one.locator('p').first().textContent())!.length > 20);
    }
    const sortable = setting('Sortable attributes');
    assert.match((await sortable.textContent())!, /of all documents again/);
    await sortable.getByRole('combobox', { name: 'Add to sortable attributes' }).fill('title');
    await page.keyboard.press('Enter');
    const typos = setting('Typo tolerance');
    await typos.getByLabel('One typo').fill('12');
    await bar()
      .getByText(/^2 changes\. .* 431 documents/)
      .waitFor();
    await bar().getByRole('button', { name: 'Review and save' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/\+ +"oneTypo": 12/).waitFor();
    await dialog.getByText(/\+ +"title"/).waitFor();
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    // One typo may not need a longer word than two.
    await page.getByRole('alert').waitFor();
    assert.equal(await typos.getByLabel('One typo').inputValue(), '12');
    assert.deepEqual(await get('/indexes/books/settings/sortable-attributes'), ['year']);
    await typos.getByLabel('One typo').fill('4');
    await save();
    await done().waitFor();
    assert.deepEqual(await get('/indexes/books/settings/sortable-attributes'), ['title', 'year']);
    const oneTypo = async (): Promise<number> =>
      (await get('/indexes/books/settings/typo-tolerance')).minWordSizeForTypos.oneTypo;
    assert.equal(await oneTypo(), 4);
    await bar().getByText('No changes.').waitFor();
    await bar().getByRole('button', { name: 'Undo the last save' }).click();
    await page.waitForFunction(
      () =>
        (globalThis as any).document.querySelector(
          '[aria-label="Typo tolerance"] input[type=number]',
        ).value === '5',
    );
    assert.equal(await oneTypo(), 5);
    assert.deepEqual(await get('/indexes/books/settings/sortable-attributes'), ['year']);
    await page.getByLabel('Find a setting').fill('vectors');
    await setting('Typo tolerance').waitFor({ state: 'detached' });
    assert.ok(await setting('Embedders').isVisible());
    for (const text of await page.locator('.setting').allTextContents()) {
      assert.match(text.toLowerCase(), /vectors/);
    }
  });

  it('orders fields and rules with keys and by dragging, and gives fields weights', async () => {
    await open('settings/exact', 'Settings');
    const rules = setting('Ranking rules');
    const names = (): Promise<string[]> => rules.locator('.what').allTextContents();
    await rules.getByRole('button', { name: 'Move exactness up' }).press('Enter');
    await rules.getByRole('button', { name: 'Move exactness up' }).press('Enter');
    assert.deepEqual((await names()).slice(3), ['exactness', 'attribute', 'sort']);
    const items = rules.getByRole('listitem');
    await items
      .filter({ hasText: 'sort' })
      .last()
      // One move may begin no drag, and only enters the first item.
      .dragTo(items.filter({ hasText: 'words' }).first(), { steps: 10 });
    await items.first().filter({ hasText: 'sort' }).waitFor();
    // The events of a quick hand come before the page has drawn what follows from the first.
    await rules.getByRole('list').evaluate((list: any) => {
      const [first, second] = list.children;
      for (const [type, at] of [
        ['dragstart', second],
        ['dragover', first],
        ['drop', first],
        ['dragend', second],
      ]) {
        at.dispatchEvent(new (globalThis as any).DragEvent(type, { bubbles: true }));
      }
    });
    await items.first().filter({ hasText: 'words' }).waitFor();
    await rules.getByRole('button', { name: 'Move sort up' }).press('Enter');
    await items.first().filter({ hasText: 'sort' }).waitFor();
    const searchable = setting('Searchable attributes');
    await searchable.getByRole('button', { name: 'Remove *' }).click();
    const add = searchable.getByRole('combobox', { name: 'Add to searchable attributes' });
    for (const name of ['title', 'number']) {
      await add.fill(name);
      await add.press('Enter');
    }
    await searchable.getByRole('spinbutton', { name: 'Weight of title' }).fill('2.5');
    await save();
    await done().waitFor();
    const stored = await get('/indexes/exact/settings');
    assert.deepEqual(stored.searchableAttributes, [{ attribute: 'title', weight: 2.5 }, 'number']);
    assert.deepEqual(stored.rankingRules.slice(0, 2), ['sort', 'words']);
    assert.deepEqual(stored.rankingRules.slice(4), ['exactness', 'attribute']);
  });

  it('takes synonyms and words from text, says whether a word matches, and copies settings', async () => {
    await open('settings/exact', 'Settings');
    const synonyms = setting('Synonyms');
    await synonyms.getByLabel('Word', { exact: true }).fill('sofa');
    await synonyms.getByLabel('Also finds').fill('couch');
    await synonyms.getByRole('button', { name: /^Add/ }).click();
    await synonyms.getByRole('button', { name: /^Import/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Text', { exact: true }).fill('tv: television\n');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await setting('Stop words')
      .getByRole('button', { name: /^Import/ })
      .click();
    await dialog.getByLabel('Text', { exact: true }).fill('the\nof\n');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await setting('Stop words').getByRole('button', { name: 'Remove of' }).click();
    const typos = setting('Typo tolerance');
    await typos.getByLabel('Somebody types').fill('hause');
    await typos.getByLabel('A document holds').fill('house');
    await typos.getByText('matches', { exact: true }).waitFor();
    await typos.getByLabel('One typo').fill('6');
    await typos.getByText('does not match').waitFor();
    await save();
    await done().waitFor();
    const stored = await get('/indexes/exact/settings');
    const words = { couch: ['sofa'], sofa: ['couch'], tv: ['television'] };
    assert.deepEqual([stored.synonyms, stored.stopWords], [words, ['the']]);
    await bar().getByRole('button', { name: 'Copy to another index' }).click();
    await dialog.getByLabel('To', { exact: true }).selectOption('table');
    await dialog.getByRole('button', { name: 'Copy' }).click();
    await done().waitFor();
    assert.deepEqual((await get('/indexes/table/settings')).synonyms, words);
  });

  it('asks before changes are lost', async () => {
    await open('settings/exact', 'Settings');
    await setting('Stop words').getByRole('button', { name: 'Remove the' }).click();
    await bar()
      .getByText(/^1 change\./)
      .waitFor();
    const tasks = page
      .getByRole('navigation', { name: 'Views' })
      .getByRole('link', { name: 'Tasks' });
    page.once('dialog', (dialog) => void dialog.dismiss());
    await tasks.click();
    await bar()
      .getByText(/^1 change\./)
      .waitFor();
    page.once('dialog', (dialog) => void dialog.accept());
    await tasks.click();
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
  });

  it('keeps the secret of an embedder when another part of it changes', async () => {
    const { server } = stage;
    const fields = {
      source: 'openAi',
      apiKey: 'a-secret-of-some-length',
      model: 'text-embedding-3-small',
    };
    await server.finish('PATCH', '/indexes/meaning/settings', {
      body: {
        embedders: {
          words: { ...fields, documentTemplate: '{{doc.a}}' },
          own: { source: 'userProvided', dimensions: 2 },
        },
      },
    });
    await open('settings/meaning', 'Settings');
    const words = setting('Embedders').getByRole('group', { name: /^words/ });
    await words.getByLabel('Document template', { exact: true }).fill('{{doc.b}}');
    await setting('Embedders').getByRole('button', { name: 'Remove own' }).click();
    const sent = page.waitForRequest((request) => request.method() === 'PATCH');
    await save();
    assert.deepEqual((await sent).postDataJSON(), {
      embedders: { words: { documentTemplate: '{{doc.b}}' }, own: null },
    });
    await done().waitFor();
    const after = await get('/indexes/meaning/settings/embedders');
    assert.deepEqual(Object.keys(after), ['words']);
    assert.equal(after.words.documentTemplate, '{{doc.b}}');
  });

  it('tests an embedder: the text of a document, its dimensions and time, or why it fails', async () => {
    const { server } = stage;
    const provider = await EmbeddingProvider.start();
    const words = {
      source: 'rest',
      url: `${provider.url}/rest/one`,
      request: { input: '{{text}}' },
      response: { embedding: '{{embedding}}' },
      dimensions: 4,
      documentTemplate: 'A {{ doc.title }}',
    };
    await server.finish('PATCH', '/indexes/tried/settings', { body: { embedders: { words } } });
    await server.finish('POST', '/indexes/tried/documents', {
      body: [
        { id: 1, title: 'lake' },
        { id: 2, title: 'hill' },
      ],
    });
    await open('settings/tried', 'Settings');
    const form = setting('Embedders').getByRole('group', { name: /^words/ });
    const trial = form.getByRole('group', { name: 'Test of words' });
    const test = trial.getByRole('button', { name: 'Test words' });
    await test.click();
    await trial.getByText(/^works An embedding of 4 numbers, after .*, of the text/).waitFor();
    await trial.getByRole('button', { name: 'Enable it' }).click();
    await trial.getByText('A lake', { exact: true }).waitFor();
    await trial.getByLabel('Document id').fill('2');
    await form.getByLabel('Document template', { exact: true }).fill('The {{ doc.title }}');
    await test.click();
    // The template need not be saved.
    await trial.getByText('The hill', { exact: true }).waitFor();
    const asked = (provider.take().at(-1)!.body as { input: unknown }).input;
    assert.equal(asked, 'The hill');
    provider.always = () => ({ status: 401, body: { error: 'no such key' } });
    await trial.getByLabel('Document id').fill('1');
    await test.click();
    await trial.getByRole('alert').filter({ hasText: 'responded with status 401' }).waitFor();
    await form.getByLabel('Document template', { exact: true }).fill('{{ doc.none }}');
    await form.getByLabel('Url').fill('http://127.0.0.1:9');
    await test.click();
    await trial.getByText(/^Save first/).waitFor();
    await trial.getByRole('alert').filter({ hasText: 'The template cannot be rendered' }).waitFor();
    await bar().getByRole('button', { name: 'Discard' }).click();
    provider.stop();
  });

  it('shows tasks as they come, those that failed with their errors, and deletes their records', async () => {
    await open('tasks', 'Tasks');
    const list = page.getByRole('list', { name: 'Tasks' });
    await list.getByRole('listitem').first().waitFor();
    await stage.server.finish('DELETE', '/indexes/nowhere');
    const failed = list.getByRole('listitem').filter({ hasText: 'Delete an index in nowhere' });
    await failed.getByText('Delete an index').click();
    assert.match((await failed.locator('.problem').textContent())!, /nowhere/);
    await failed.getByText('Create the index first, or correct its uid.').waitFor();
    const link = failed.getByRole('link', { name: 'What index_not_found means' });
    assert.match((await link.getAttribute('href'))!, /index_not_found$/);
    const before = (await get('/tasks')).total;
    const sent = page.waitForResponse(
      (response) => response.request().method() === 'DELETE' && response.status() === 202,
    );
    await failed.getByRole('button', { name: 'Run again' }).click();
    await sent;
    await list.getByText('Delete an index in nowhere').nth(1).waitFor();
    assert.equal((await get('/tasks')).total, before + 1);
    await page.getByLabel('Status').selectOption('failed');
    await page.waitForFunction(() =>
      [...(globalThis as any).document.querySelectorAll('[aria-label="Tasks"] .state')].every(
        (one: any) => one.textContent === 'failed',
      ),
    );
    await page.waitForURL(/statuses=failed/);
    await page.getByLabel('Added').selectOption('hour');
    await page.waitForURL(/since=hour/);
    await list.getByRole('listitem').first().waitFor();
    await page.getByText('Batches: tasks that ran together').click();
    await page.getByRole('list', { name: 'Batches' }).getByRole('listitem').first().waitFor();
    await button('Delete finished tasks').click();
    await page.getByLabel('Type delete to continue').fill('delete');
    await button('Delete the records').click();
    await done().waitFor();
    assert.equal((await get('/tasks')).total, 1);
  });

  it('creates, shows, edits and deletes keys', async () => {
    await open('keys', 'Keys');
    await button('Create a key').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('radio', { name: /^Custom/ }).check();
    await dialog.getByLabel('Name').fill('reader');
    await dialog.getByRole('checkbox', { name: 'documents.get' }).check();
    await dialog.getByRole('textbox', { name: 'Indexes' }).fill('books, lines*');
    await dialog.getByLabel('Expires').fill('2040-01-02T03:04');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'reader was created' }).waitFor();
    await button('Done').click();
    await button('Show the key reader').click();
    const made = (await get('/keys')).results.find(({ name }: any) => name === 'reader');
    assert.deepEqual(made.actions, ['search', 'documents.get']);
    assert.deepEqual(made.indexes, ['books', 'lines*']);
    assert.match(made.expiresAt, /^2040-01-0[123]T/);
    await page.getByText(made.key).waitFor();
    await button('Edit reader').click();
    await dialog.getByLabel('Description').fill('reads <b>');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('reads <b>').waitFor();
    await button('Rotate reader').click();
    await dialog.getByLabel('The present value works until').fill('2040-01-01T12:00');
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('heading', { name: 'reader has another value' }).waitFor();
    const value = (await dialog.locator('pre').first().textContent())!;
    const rotated = await get(`/keys/${made.uid}`);
    assert.equal(rotated.key, value);
    assert.notEqual(value, made.key);
    assert.match(rotated.previousExpiresAt, /^(2039-12-31|2040-01-0[12])T/);
    await dialog.getByText(/^The value before works until .*2040/).waitFor();
    assert.ok((await dialog.locator('pre').last().textContent())!.includes(value));
    await button('Done').click();
    await page.getByText(/^An earlier value works until .*2040/).waitFor();
    await button('Edit reader').click();
    await dialog.getByLabel('Weight').fill('3');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await get(`/keys/${made.uid}`)).weight, 3);
    await button('Delete reader').click();
    await page.getByLabel('Type reader to continue').fill('reader');
    await button('Delete the key').click();
    await button('Edit reader').waitFor({ state: 'detached' });
  });

  it('creates keys by what they are for', async () => {
    await open('keys', 'Keys');
    const kinds = [
      [/^Search in a browser/, 'Search in a browser', ['search'], ['books']],
      [/^Monitoring/, 'Monitoring', ['metrics.get', 'stats.get', 'tasks.get', 'version'], ['*']],
    ] as const;
    const dialog = page.getByRole('dialog');
    for (const [kind, name, actions, indexes] of kinds) {
      await button('Create a key').click();
      await dialog.getByRole('radio', { name: kind }).check();
      const field = dialog.getByRole('textbox', { name: 'Indexes' });
      if (indexes[0] === '*') assert.equal(await field.count(), 0);
      else await field.fill(indexes.join());
      await dialog.getByRole('button', { name: 'Create' }).click();
      const key = (await dialog.locator('pre').first().textContent())!;
      const made = (await get('/keys')).results.find((one: any) => one.key === key);
      assert.equal(made.name, name);
      assert.deepEqual([...made.actions].sort(), [...actions]);
      assert.deepEqual(made.indexes, [...indexes]);
      await button('Done').click();
    }
  });

  it('creates aliases, points them at another index, and deletes them', async () => {
    for (const uid of ['spring', 'autumn']) {
      await stage.server.finish('POST', '/indexes', { body: { uid } });
    }
    await open('aliases', 'Aliases');
    await button('Create an alias').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Alias').fill('live');
    await dialog.getByLabel('Index', { exact: true }).fill('spring');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await button('Edit live').click();
    await dialog.getByLabel('Index', { exact: true }).fill('autumn');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'autumn' }).waitFor();
    const [alias] = (await get('/aliases')).results;
    assert.deepEqual([alias.alias, alias.indexUid], ['live', 'autumn']);
    await button('Delete live').click();
    await page.getByLabel('Type live to continue').fill('live');
    await button('Delete the alias').click();
    await page.getByText('There is no alias yet').waitFor();
  });

  it('creates, edits and deletes webhooks', async () => {
    await open('webhooks', 'Webhooks');
    await button('Create a webhook').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Address').fill('http://127.0.0.1:9/hook');
    const addHeader = async (name: string, value: string): Promise<void> => {
      await dialog.getByLabel('Add to headers').fill(name);
      await dialog.getByRole('button', { name: 'Add' }).click();
      await dialog.getByLabel(name, { exact: true }).fill(value);
    };
    await addHeader('X-One', '1');
    await addHeader('X-Two', '2');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await button('Edit http://127.0.0.1:9/hook').click();
    await dialog.getByRole('button', { name: 'Remove X-One' }).click();
    await addHeader('X-Three', '3');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('X-Three').waitFor();
    const [webhook] = (await get('/webhooks')).results;
    assert.deepEqual(Object.keys(webhook.headers).sort(), ['X-Three', 'X-Two']);
    await button('Delete http://127.0.0.1:9/hook').click();
    await page.getByLabel('Type delete to continue').fill('delete');
    await button('Delete the webhook').click();
    await page.getByText(/was deleted/).waitFor();
    assert.deepEqual((await get('/webhooks')).results, []);
  });

  it('draws statistics', async () => {
    await open('statistics', 'Statistics');
    await page
      .getByRole('img', { name: /Number of documents since this view was opened/ })
      .waitFor();
    await page.getByRole('img', { name: /Duration of the last \d+ batch/ }).waitFor();
  });

  it('shows where the bytes on disk are: in which index, in use or free, and in which parts', async () => {
    // Merges in the background change the sizes: the page sees those of one moment.
    const stats = await get('/stats');
    await page.route('**/stats', (one) => one.fulfill({ json: stats }));
    await open('statistics', 'Statistics');
    const disk = page.getByRole('region', { name: 'Disk use', exact: true });
    const { databaseSize, indexes } = stats;
    const rows = disk.locator('tbody tr');
    await rows.filter({ hasText: /^Other/ }).waitFor();
    const sizes = Object.values<any>(indexes).map(({ indexSize }) => indexSize);
    const largest = Object.keys(indexes).find(
      (uid) => indexes[uid].indexSize === Math.max(...sizes),
    );
    assert.equal(await rows.first().getByRole('link').textContent(), largest);
    const books = await disk
      .getByRole('row', { name: /^books / })
      .locator('td')
      .allTextContents();
    const { numberOfDocuments, indexSize, usedIndexSize } = indexes.books;
    assert.deepEqual(books.slice(0, -1), [
      count(numberOfDocuments),
      size(indexSize),
      size(usedIndexSize),
      percent(indexSize / databaseSize),
      size(indexSize / numberOfDocuments),
    ]);
    assert.equal(await rows.count(), sizes.length + 1);
    await disk.getByRole('button', { name: 'Fields and parts of books' }).click();
    const dialog = page.getByRole('dialog', { name: 'books' });
    await dialog.getByText('Segments', { exact: true }).waitFor();
    await dialog.getByText('Documents that have a field').waitFor();
    await dialog.getByText('author', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await open('indexes', 'Indexes');
    const cell = page.getByRole('row', { name: /^books / }).getByText(size(indexSize));
    await cell.first().waitFor();
    await page.unroute('**/stats');
  });

  it('shows which searches cost most, and where the time of one goes', async () => {
    await stage.server.call('POST', '/indexes/books/search', { body: { q: 'crime', limit: 1 } });
    await open('insights', 'Insights');
    await button(/^Timeline search in books: limit, q \(1 word\)$/).click();
    const timeline = page.getByRole('dialog');
    await timeline.getByRole('row', { name: /^terms .*terms$/ }).waitFor();
    await timeline.getByText(/limit, q \(1 word\)/).waitFor();
    await page.keyboard.press('Escape');
    await open('search/books?q=crime', 'Search');
    await button('Timeline').click();
    for (const name of [/^permit /, /^terms /, /^hits .* bytes$/]) {
      await timeline.getByRole('row', { name }).waitFor();
    }
    await page.keyboard.press('Escape');
  });

  it('says what analytics need where they are off', async () => {
    await open('analytics', 'Analytics');
    await page.getByText('--analytics-retention-days').first().waitFor();
  });

  it('switches features, makes a dump, and follows the log', async () => {
    await open('logs', 'Logs');
    await button('Show the log').click();
    await page.getByRole('region', { name: 'Feature disabled' }).waitFor();
    await open('server', 'Server');
    await page.getByRole('checkbox', { name: 'Logs route' }).click();
    await page.getByText('Logs route is on.').waitFor();
    assert.equal((await get('/experimental-features')).logsRoute, true);
    await open('logs', 'Logs');
    await page.getByLabel('Minimum level').selectOption('trace');
    await button('Show the log').click();
    await stage.server.finish('POST', '/indexes', { body: { uid: 'logged' } });
    await page.waitForFunction(
      () => (globalThis as any).document.querySelector('[role="log"]').textContent !== '',
    );
    const log = page.getByRole('log');
    await log.getByText(/POST route=\/indexes status=202/).waitFor();
    await page.getByLabel('Show lines containing').fill('/STATS');
    await get('/stats');
    await get('/indexes/logged/stats');
    await log
      .locator('p.info')
      .getByText(/route=\/indexes\/:index_uid\/stats/)
      .waitFor();
    assert.equal(await log.getByText(/POST route=\/indexes status/).count(), 0);
    await button('Pause').click();
    const still = await log.textContent();
    await get('/stats');
    await page.getByText(/more since the pause/).waitFor();
    assert.equal(await log.textContent(), still);
    await button('Pause').click();
    await page.getByText(/more since the pause/).waitFor({ state: 'detached' });
    await page.getByLabel('Show levels down to').selectOption('error');
    await page.getByText(/^0 of [\d,]+ lines/).waitFor();
    await button('Stop').click();
    await page.getByText('Stopped.').waitFor();
  });
});

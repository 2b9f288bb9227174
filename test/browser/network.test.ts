import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { enter, openStage, type Stage, type Tab } from './support/browser.ts';

const COUNT = 300;

describe('The network on the page, in a browser', () => {
  let stage: Stage;
  let far: BuiltServer;
  let tab: Tab;
  let page: Page;

  before(async function () {
    stage = await openStage(this);
    far = await startBuiltServer();
    tab = await stage.tab();
    page = tab.page;
    await enter(tab, stage.server, stage.server.masterKey);
  });
  after(async () => {
    await tab?.close();
    await far?.close();
    await stage?.close();
  });
  afterEach(() => assert.deepEqual(tab?.faults ?? [], []));

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const row = (name: string) => page.getByRole('row', { name: new RegExp(`^${name}\\b`) });
  const network = async (): Promise<any> => (await stage.server.call('GET', '/network')).json;

  it('is switched on, gets a name and servers', async () => {
    await page.goto(`${stage.server.url}/#/network`);
    await button('Enable it').click();
    await page.getByText('The network has no servers yet.').waitFor();
    await page.getByLabel('Name of this server').fill('near');
    await page.getByRole('checkbox', { name: /Sharding: each write/ }).check();
    await page.getByText(/This server keeps all documents until its name/).waitFor();
    await button('Save').click();
    await page.getByText('The network was changed.').waitFor();
    const dialog = page.getByRole('dialog');
    for (const [name, { url, masterKey }] of Object.entries({ near: stage.server, far })) {
      await button('Add a server').click();
      await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
      await dialog.getByLabel('Address').fill(url);
      await dialog.getByLabel('Key for searches').fill(masterKey);
      await dialog.getByRole('button', { name: 'Add' }).click();
      await row(name).waitFor();
    }
    await row('near').getByText('(this server)').waitFor();
    await page.getByText('Create an index on this server').waitFor();
    const { self, sharding, remotes } = await network();
    assert.deepEqual([self, sharding, Object.keys(remotes)], ['near', true, ['near', 'far']]);
    assert.equal(remotes.far.searchApiKey, far.masterKey);
  });

  it('asks before it loses what was typed of a server', async () => {
    await button('Add a server').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('late');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.getByRole('button', { name: 'Discard it' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(Object.keys((await network()).remotes), ['near', 'far']);
  });

  it('shows the nodes of a cluster, how far behind each is, and what fails', async () => {
    const node = { url: 'http://10.0.0.1:7700', applied: 1200, lagSeconds: 0, bytesToFetch: 0 };
    const cluster = {
      ...{ leader: 'north', epoch: 3, head: 1200, applied: 1200, fault: null as string | null },
      nodes: [
        { ...node, name: 'north', role: 'leader' },
        { ...node, name: 'south', role: 'follower', applied: 1190, lagSeconds: 2.5 },
        { ...node, name: 'west', role: 'follower', applied: 0, bytesToFetch: 3 * 2 ** 20 },
      ],
    };
    await page.route('**/cluster', (one) => one.fulfill({ json: cluster }));
    await page.reload();
    const shown = page.getByRole('region', { name: 'Cluster', exact: true });
    await shown.getByText('3 nodes with the same data. north leads.').waitFor();
    const cells = (name: string): Promise<string[]> =>
      shown
        .getByRole('row', { name: new RegExp(`^${name}`) })
        .locator('td')
        .allTextContents();
    assert.deepEqual(await cells('north'), ['leader', '0\u00a0ms', '0', '0\u00a0bytes']);
    assert.deepEqual(await cells('south'), ['follower', '2.5\u00a0s', '10', '0\u00a0bytes']);
    assert.deepEqual(await cells('west'), ['follower', '0\u00a0ms', '1,200', '3\u00a0MiB']);
    cluster.leader = null as never;
    cluster.fault = 'the log is away';
    await shown.getByRole('alert').filter({ hasText: 'the log is away' }).waitFor();
    await shown.getByText(/No node leads/).waitFor();
    await page.unroute('**/cluster');
    await page.reload();
    await row('near').waitFor();
    assert.equal(await shown.count(), 0);
  });

  it('changes a server without touching what was not typed', async () => {
    await button('Edit far').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Key for writes').fill(far.masterKey);
    const sent = page.waitForRequest((request) => request.method() === 'PATCH');
    await dialog.getByRole('button', { name: 'Save' }).click();
    assert.deepEqual((await sent).postDataJSON(), {
      remotes: { far: { writeApiKey: far.masterKey } },
    });
    await row('far').getByText('search, write').waitFor();
  });

  it('shows which servers respond, with how many documents, and why one does not', async () => {
    await far.call('PATCH', '/experimental-features', { body: { network: true } });
    // What a server holds before the others are there.
    await stage.server.call('PATCH', '/network', { body: { sharding: false } });
    await stage.server.finish('POST', '/indexes/docs/documents', {
      body: Array.from({ length: COUNT }, (_, id) => ({ id })),
    });
    await stage.server.call('PATCH', '/network', { body: { sharding: true } });
    await page.reload();
    await row('near')
      .getByRole('cell', { name: String(COUNT), exact: true })
      .waitFor();
    await row('near').getByText('100 %').waitFor();
    await row('far').getByText('fails').waitFor();
    assert.match((await row('far').textContent())!, /docs/);
    await far.finish('POST', '/indexes', { body: { uid: 'docs', primaryKey: 'id' } });
    await row('far').getByText('responds').waitFor();
    await row('far').getByText('0 %').waitFor();
  });

  it('moves documents to their servers, and shows the move', async () => {
    const { remotes } = await network();
    await far.call('PATCH', '/network', { body: { self: 'far', sharding: true, remotes } });
    await button('Move documents').click();
    await page.getByText(/^Done in /).waitFor();
    await far.idle();
    await stage.server.idle();
    const there = (await far.call('GET', '/indexes/docs/stats')).json.numberOfDocuments;
    assert.ok(there > 0 && there < COUNT, `${there} documents were moved`);
    const moves = page.getByRole('list', { name: 'Moves' });
    await moves.getByText(`${there} documents moved from this server`).waitFor();
    await row('far')
      .getByRole('cell', { name: String(there), exact: true })
      .waitFor();
    await row('near')
      .getByRole('cell', { name: String(COUNT - there), exact: true })
      .waitFor();
    await page.getByText(`${COUNT} documents on 2 servers`).waitFor();
  });

  it('shows that a server is unreachable, and removes it with its name typed', async () => {
    await far.close();
    await row('far').getByText('fails').waitFor();
    await button('Remove far').click();
    await page.getByLabel('Type far to continue').fill('far');
    await button('Remove the server').click();
    await row('far').waitFor({ state: 'detached' });
    assert.deepEqual(Object.keys((await network()).remotes), ['near']);
  });
});

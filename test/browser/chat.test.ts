import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { CHAT_SETTINGS } from '../demo/chat.ts';
import { startSummariser, type Summariser } from '../demo/summariser.ts';
import { enter, loadBooks, openStage, type Stage, type Tab } from './support/browser.ts';

describe('Conversations on the page, in a browser', () => {
  let stage: Stage;
  let provider: Summariser;
  let tab: Tab;
  let page: Page;

  before(async function () {
    stage = await openStage(this);
    await loadBooks(stage.server);
    provider = await startSummariser();
    tab = await stage.tab();
    page = tab.page;
    await enter(tab, stage.server, stage.server.masterKey);
  });
  after(async () => {
    await tab?.close();
    await provider?.close();
    await stage?.close();
  });
  afterEach(() => assert.deepEqual(tab?.faults ?? [], []));

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const said = () => page.getByRole('log', { name: 'Messages' });
  const get = async (path: string): Promise<any> => (await stage.server.call('GET', path)).json;

  it('offers to switch the feature on where it is off', async () => {
    await page.goto(`${stage.server.url}/#/chat`);
    await page.getByText('chatCompletions').waitFor();
    await button('Enable it').click();
    await page.getByText('There is no workspace yet.').waitFor();
    assert.equal((await get('/experimental-features')).chatCompletions, true);
  });

  it('creates a workspace and reports what is missing', async () => {
    await button('Create a workspace').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Uid', exact: true }).fill('demo');
    await dialog.getByLabel('Source').selectOption('vLlm');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').getByText('baseUrl').first().waitFor();
    await button('Create a workspace').click();
    await dialog.getByRole('textbox', { name: 'Uid', exact: true }).fill('demo');
    await dialog.getByLabel('Source').selectOption('vLlm');
    await dialog.getByLabel('Base url').fill(provider.url);
    await dialog.getByLabel('Api key').fill('a-key-of-the-provider');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Workspace demo was saved.').waitFor();
    await page.waitForURL(/#\/chat\/demo/);
  });

  it('changes the settings of a workspace, and sends no secret back', async () => {
    await button('Settings of the workspace').click();
    const dialog = page.getByRole('dialog');
    assert.notEqual(await dialog.getByLabel('Api key').inputValue(), 'a-key-of-the-provider');
    await dialog.getByText('Prompts').click();
    const before = await dialog.getByLabel('System').inputValue();
    await dialog.getByLabel('System').fill(`${before} Be brief.`);
    const sent = page.waitForRequest((request) => request.method() === 'PATCH');
    await dialog.getByRole('button', { name: 'Save' }).click();
    assert.deepEqual((await sent).postDataJSON(), {
      prompts: { system: `${before} Be brief.` },
    });
    await page.getByText('Workspace demo was saved.').waitFor();
    assert.match((await get('/chats/demo/settings')).prompts.system, /Be brief\.$/);
  });

  it('answers as the model speaks, shows what was searched and found, and remembers it', async () => {
    await stage.server.finish('PATCH', '/indexes/books/settings', {
      body: { chat: CHAT_SETTINGS },
    });
    await page.getByText('Enter the name of a model to begin.').waitFor();
    await page.getByLabel('Model').fill('quoting');
    const question = page.getByLabel('Question');
    await question.fill('Which science fiction books are about a desert planet?');
    await question.press('Enter');
    await said().getByText('Dune, by Frank Herbert (1965)').waitFor();
    const searched = said().getByText(/^Searched books for “desert planet”, where genres/);
    assert.match((await searched.textContent())!, /: 1 source$/);
    await searched.click();
    await said().getByRole('listitem').getByText('Dune', { exact: true }).first().waitFor();
    await page.getByText('Working …').waitFor({ state: 'detached' });
    assert.equal(await question.inputValue(), '');

    const asked = page.waitForRequest(/completions$/);
    await question.fill('Which books explain quantum computers?');
    await button('Ask').click();
    const { messages } = (await asked).postDataJSON();
    assert.deepEqual(
      messages.map(({ role }: any) => role),
      ['user', 'assistant', 'assistant', 'tool', 'assistant', 'user'],
    );
    assert.match(messages[3].content, /Dune/);
    await said().getByText('The documents say nothing about that.').waitFor();
    await button('New conversation').click();
    await said().getByRole('article').first().waitFor({ state: 'detached' });
    assert.match(page.url(), /model=quoting/);
  });

  it('shows what went wrong at the provider', async () => {
    await stage.server.call('PATCH', '/chats/gone/settings', {
      body: { source: 'vLlm', baseUrl: 'http://127.0.0.1:9/v1' },
    });
    await page.goto(`${stage.server.url}/#/chat/gone?model=any`);
    await page.getByLabel('Workspace').locator('option:checked', { hasText: 'gone' }).waitFor({
      state: 'attached',
    });
    await page.getByLabel('Question').fill('Is anybody there?');
    await button('Ask').click();
    await said().getByRole('alert').waitFor();
    await button('Delete the workspace').click();
    await page.getByLabel('Type gone to continue').fill('gone');
    await button('Delete permanently').click();
    await page.getByText('Workspace gone was deleted.').waitFor();
    assert.equal((await get('/chats/gone')).code, 'chat_not_found');
  });

  it('can be had with a key that may chat and search alone', async () => {
    const { json } = await stage.server.call('POST', '/keys', {
      body: { actions: ['chatCompletions', 'search'], indexes: ['*'], expiresAt: null },
    });
    const visitor = await stage.tab();
    await enter(visitor, stage.server, json.key, '#/chat');
    const links = visitor.page.getByRole('navigation').getByRole('link');
    assert.deepEqual(await links.allTextContents(), ['Search', 'Chat']);
    await visitor.page.getByLabel('Workspace').fill('demo');
    await visitor.page.getByRole('button', { name: 'Open' }).click();
    await visitor.page.getByLabel('Model').fill('quoting');
    await visitor.page.getByLabel('Question').fill('Is there something about a murder?');
    await visitor.page.getByRole('button', { name: 'Ask' }).click();
    await visitor.page.getByText('Searched books for “murder”').waitFor();
    assert.equal(
      await visitor.page.getByRole('button', { name: 'Delete the workspace' }).count(),
      0,
    );
    assert.deepEqual(visitor.faults, []);
    await visitor.close();
  });
});

/** Which searches on the page analytics count. */
import assert from 'node:assert/strict';
import { enter, loadBooks, openStage, type Stage } from './support/browser.ts';

describe('Searches on the page, in analytics', () => {
  let stage: Stage;

  before(async function () {
    stage = await openStage(this, ['--analytics-retention-days', '30']);
    await loadBooks(stage.server);
  });
  after(() => stage?.close());

  async function recorded(): Promise<Record<string, number>> {
    const { json } = await stage.server.call('GET', '/analytics/top-searches?limit=100');
    return Object.fromEntries(json.results.map((one: any) => [one.query, one.searches]));
  }

  async function searchAs(key: string, word: string): Promise<void> {
    const tab = await stage.tab();
    const { page } = tab;
    await enter(tab, stage.server, key, `#/search/books?q=${word}`);
    await page.locator('mark').first().waitFor();
    const values = page.getByRole('group', { name: 'genres' }).getByRole('checkbox');
    const responseTo = (part: string): Promise<unknown> =>
      page.waitForResponse((response) => {
        const sent = response.request().postData() ?? '';
        return sent.includes('genres') && sent.includes(part);
      });
    // Choosing a value asks for the counts of the others, too.
    const both = [responseTo('"attributesToHighlight"'), responseTo('"limit":0')];
    await values.first().check();
    await Promise.all(both);
    assert.deepEqual(tab.faults, []);
    await tab.close();
  }

  it('those of administrators are tests, those of visitors count, the counts of facets do not', async () => {
    const { server } = stage;
    const { json } = await server.call('GET', '/keys');
    const visitor = json.results.find(({ actions }: any) => actions.join() === 'search').key;
    await searchAs(server.masterKey, 'dune');
    await searchAs(visitor, 'whale');
    assert.deepEqual(await recorded(), { whale: 2 });
  });
});

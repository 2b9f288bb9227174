/** Dynamic search rules: what a batch of changes comes to, and what is too much. */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('Dynamic search rules', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    await server.call('PATCH', '/experimental-features', { body: { dynamicSearchRules: true } });
  });
  after(() => server.close());

  const put = (uid: string, body: unknown): Promise<any> =>
    server.finish('PATCH', `/dynamic-search-rules/${uid}`, { body });
  const list = async (body: unknown): Promise<any> =>
    (await server.call('POST', '/dynamic-search-rules', { body })).json;
  const uids = ({ results }: any): string[] => results.map(({ uid }: any) => uid);

  it('that are changed together are changed in their order', async () => {
    await server.finish('PATCH', '/dynamic-search-rules/old', { body: {} });
    const waiting: Promise<any>[] = [];
    const wait = async (method: string, path: string, body?: unknown): Promise<void> => {
      const { json } = await server.call(method, path, body === undefined ? {} : { body });
      waiting.push(taskOf(json.taskUid));
    };
    const taskOf = async (uid: number): Promise<any> => {
      for (;;) {
        const { json } = await server.call('GET', `/tasks/${uid}`);
        if (json.status === 'succeeded' || json.status === 'failed') return json;
      }
    };
    await wait('PATCH', '/dynamic-search-rules/a', { description: 'first', precedence: 1 });
    await wait('PATCH', '/dynamic-search-rules/a', { description: 'second' });
    await wait('DELETE', '/dynamic-search-rules/old');
    await wait('DELETE', '/dynamic-search-rules');
    await wait('PATCH', '/dynamic-search-rules/c', { precedence: 2 });
    await wait('PATCH', '/dynamic-search-rules/b', {});
    await wait('PATCH', '/dynamic-search-rules/c', { description: 'third' });
    const tasks = await Promise.all(waiting);
    assert.ok(tasks.every(({ status }) => status === 'succeeded'));
    assert.deepEqual(tasks[3].details, { deletedDocuments: 1 });
    const { results } = await list({});
    assert.deepEqual(
      results.map((rule: any) => ({ ...rule, lastUpdatedAt: null })),
      [
        {
          uid: 'c',
          description: 'third',
          lastUpdatedAt: null,
          precedence: 2,
          active: true,
          conditions: {},
          actions: [],
        },
        { uid: 'b', lastUpdatedAt: null, active: true, conditions: {}, actions: [] },
      ],
    );
  });

  it('are listed 1,000 at a time, whatever is asked for', async () => {
    await server.finish('DELETE', '/dynamic-search-rules');
    const description = 'x'.repeat(1_000);
    const last = await Promise.all(
      Array.from({ length: 1_010 }, (_, n) =>
        server.call('PATCH', `/dynamic-search-rules/r${n}`, { body: { description } }),
      ),
    );
    assert.ok(last.every(({ status }) => status === 202));
    await put('end', {});
    const first = await list({ limit: 1_000_000 });
    assert.equal(first.results.length, 1_000);
    assert.equal(first.limit, 1_000);
    assert.equal(first.total, 1_011);
    const rest = await list({ limit: 1_000_000, offset: 1_000 });
    assert.equal(rest.results.length, 11);
    assert.equal(new Set([...uids(first), ...uids(rest)]).size, 1_011);
    await server.finish('DELETE', '/dynamic-search-rules');
  });

  it('that are too large fail their task and change nothing', async () => {
    await put('large', { description: 'small' });
    const task = await put('large', { description: 'x'.repeat(1024 * 1024) });
    assert.equal(task.status, 'failed');
    assert.equal(task.error.code, 'bad_request');
    const { results } = await list({});
    assert.equal(results[0].description, 'small');
    const many = await server.call('PATCH', '/dynamic-search-rules/large', {
      body: {
        actions: Array.from({ length: 1_001 }, (_, n) => ({
          selector: { id: String(n) },
          action: { type: 'pin', position: 0 },
        })),
      },
    });
    assert.equal(many.json.code, 'invalid_dynamic_search_rule_actions');
  });

  it('are found by their words', async () => {
    await server.finish('DELETE', '/dynamic-search-rules');
    await put('d', { description: 'winter shoes' });
    await put('w', { conditions: { query: { words: 'Winter shoes' } } });
    await put('half', { description: 'winter' });
    await put('none', { description: 'shoes' });
    const found = async (query: string): Promise<string[]> =>
      uids(await list({ filter: { query } }));
    assert.deepEqual(await found('winter shoes'), ['w', 'd']);
    assert.deepEqual(await found('winter boots'), ['w', 'half', 'd']);
    assert.deepEqual(await found('boots winter'), []);
  });
});

/** Filters that compare dates, and what the same filters mean without the feature. */
import assert from 'node:assert/strict';
import jwt from 'jsonwebtoken';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { foundIds, searchBy } from '../support/found-ids.ts';

const DAY = 86_400_000;

describe('dates in filters', function () {
  this.timeout(120_000);

  let server: BuiltServer;
  const rule = {
    attributePatterns: ['releasedAt'],
    features: { filter: { date: true } },
  };
  const fromNow = (ms: number): string => new Date(Date.now() + ms).toISOString();

  before(async () => {
    server = await startBuiltServer();
    const settings = { filterableAttributes: [rule, 'plain'] };
    await server.finish('PATCH', '/indexes/a/settings', { body: settings });
    await server.finish('POST', '/indexes/a/documents', {
      body: [
        { id: 1, releasedAt: '2025-12-31T23:30:00-01:00', plain: '2025-12-31' },
        { id: 2, releasedAt: '2026-01-01', plain: 'zebra' },
        { id: 3, releasedAt: Date.parse('2026-01-02') / 1000, plain: 5 },
        { id: 4, releasedAt: fromNow(-3 * DAY) },
        { id: 5, releasedAt: ['not a date', fromNow(3 * DAY)] },
        { id: 6, releasedAt: 'zebra' },
        { id: 7, releasedAt: null },
      ],
    });
  });
  after(() => server?.close());

  const search = (filter: unknown) => searchBy(server, 'a', filter);
  const found = (filter: unknown) => foundIds(server, 'a', filter);

  it('compare moments, whatever their form', async () => {
    assert.deepEqual(await found('releasedAt > "2026-01-01"'), [1, 3, 4, 5]);
    assert.deepEqual(await found('releasedAt >= 2026-01-01'), [1, 2, 3, 4, 5]);
    assert.deepEqual(await found('releasedAt 2026-01-01 TO "2026-01-01T12:00:00+01:00"'), [1, 2]);
    assert.deepEqual(await found('releasedAt = "2026-01-01T00:30:00Z"'), [1]);
    assert.deepEqual(await found('releasedAt IN [2026-01-02, zebra]'), [3, 6]);
    assert.deepEqual(await found('releasedAt < 1767225600.5'), [2]);
    assert.deepEqual(await found('NOT releasedAt > "2026-01-01"'), [2, 6, 7]);
  });

  it('compare with the present', async () => {
    assert.deepEqual(await found('releasedAt > now'), [5]);
    assert.deepEqual(await found('releasedAt > now-7d AND releasedAt <= now'), [4]);
    assert.deepEqual(await found('releasedAt now-1w TO now+1w'), [4, 5]);
    assert.deepEqual(await found([['releasedAt > "now+48h"', 'releasedAt = zebra']]), [5, 6]);
  });

  it('refuse what is not a date, with its position', async () => {
    for (const [filter, reason] of [
      ['releasedAt > soon', '`soon` is not a date'],
      ['releasedAt < 2026-02-30', '`2026-02-30` is not a date'],
      ['releasedAt < now+3y', '`now+3y` is not a date'],
      ['plain > now+3d', '`now+3d` is a date, but the rule of `plain`'],
    ] as const) {
      const { status, json } = await search(filter);
      assert.deepEqual([status, json.code], [400, 'invalid_search_filter'], filter);
      assert.ok(json.message.includes(reason), json.message);
    }
  });

  it('refuse other units than `s`, `m`, `h`, `d` and `w`, wherever a filter may be', async () => {
    for (const time of ['now-1M', 'NOW', 'now-1D', 'Now+1h']) {
      const filter = `releasedAt > "${time}"`;
      const isNamed = ({ message }: { message: string }): void => {
        assert.ok(message.includes(`\`${time}\` is not a date`), message);
        assert.ok(message.includes('`s`, `m`, `h`, `d` and `w`'), message);
      };
      const federated = { federation: {}, queries: [{ indexUid: 'a', filter }] };
      for (const [path, body, code] of [
        ['/indexes/a/search', { filter }, 'invalid_search_filter'],
        ['/indexes/a/search', { filter: [['plain = 1', filter]] }, 'invalid_search_filter'],
        ['/indexes/a/documents/fetch', { filter }, 'invalid_document_filter'],
        ['/multi-search', federated, 'invalid_search_filter'],
      ] as const) {
        const { status, json } = await server.call('POST', path, { body });
        assert.deepEqual([status, json.code], [400, code], path);
        isNamed(json);
      }
      const task = await server.finish('POST', '/indexes/a/documents/delete', { body: { filter } });
      assert.deepEqual([task.status, task.error.code], ['failed', 'invalid_document_filter']);
      isNamed(task.error);
    }
  });

  it('refuse them in the rules of tenant tokens', async () => {
    const { json: key } = await server.call('POST', '/keys', {
      body: { actions: ['search'], indexes: ['*'], expiresAt: null },
    });
    const search = async (filter: string): Promise<any> => {
      const rules = { searchRules: { a: { filter } }, apiKeyUid: key.uid };
      const response = await fetch(`${server.url}/indexes/a/search`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${jwt.sign(rules, key.key, { expiresIn: 600 })}`,
          'content-type': 'application/json',
        },
        body: '{}',
      });
      return response.json();
    };
    const refused = await search('releasedAt > now-1M');
    assert.equal(refused.code, 'invalid_search_filter', JSON.stringify(refused));
    assert.ok(refused.message.includes('`s`, `m`, `h`, `d` and `w`'), refused.message);
    assert.equal((await search('releasedAt > now-1m')).hits.length, 1);
  });

  it('change nothing for other attributes', async () => {
    assert.deepEqual(await found('plain > 2025-12-30'), [1, 2]);
    assert.deepEqual(await found('plain > now'), [2]);
  });

  it('are used by every route that filters, and shown by the settings', async () => {
    const filter = 'releasedAt < now AND releasedAt > now-7d';
    const listed = await server.call('POST', '/indexes/a/documents/fetch', { body: { filter } });
    assert.deepEqual(
      listed.json.results.map(({ id }: { id: number }) => id),
      [4],
    );
    const { json } = await server.call('GET', '/indexes/a/settings/filterable-attributes');
    const filterFeatures = { equality: true, comparison: false, date: true };
    assert.deepEqual(json[0].features.filter, filterFeatures);
    const fields = await server.call('POST', '/indexes/a/fields', { body: {} });
    const view = fields.json.results.find(({ name }: { name: string }) => name === 'releasedAt');
    assert.equal(view.filterable.date, true);
    await server.finish('POST', '/indexes/a/documents/delete', { body: { filter } });
    assert.deepEqual(await found('releasedAt < now AND releasedAt > now-7d'), []);
  });
});

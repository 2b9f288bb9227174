import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

interface Line {
  key: string | null;
  action: string;
  route: string;
  params: Record<string, string>;
  requestId: string;
  address: string;
  time: string;
}

describe('The audit log of a server', () => {
  let server: BuiltServer;
  let dir: string;
  let path: string;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-audit-'));
    path = join(dir, 'audit.jsonl');
    server = await startBuiltServer(['--audit-log', path, '--http-threads', '2']);
  });
  after(async () => {
    await server.close();
    rmSync(dir, { recursive: true });
  });

  const lines = (): Line[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  const shown = (from: number): string[] =>
    lines()
      .slice(from)
      .map(({ key, action, params }) => `${key} ${action} ${Object.values(params).join()}`);

  it('says who changed what, and has no key', async () => {
    const from = lines().length;
    const body = { actions: ['*'], indexes: ['*'], expiresAt: null };
    const { key, uid } = (await server.call('POST', '/keys', { body })).json;
    const asKey = async (method: string, route: string, sent?: unknown): Promise<number> => {
      const response = await fetch(server.url + route, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(sent !== undefined && { body: JSON.stringify(sent) }),
      });
      return response.status;
    };
    await asKey('POST', '/indexes/movies/documents', [{ id: 1, title: 'secret words' }]);
    await asKey('PATCH', '/indexes/movies/settings', { filterableAttributes: ['title'] });
    await asKey('POST', '/indexes/movies/search', { q: 'secret words' });
    await asKey('DELETE', '/indexes/movies/documents/1');
    await asKey('PUT', '/aliases/films', { indexUid: 'movies' });
    await asKey('POST', '/dumps');
    await asKey('DELETE', '/indexes/movies');
    // Neither what is refused nor what only reads.
    assert.equal(await asKey('PATCH', '/indexes/movies/settings', { nothing: 1 }), 400);
    await asKey('GET', `/keys/${uid}`);
    // A key may be named by its value.
    await server.call('PATCH', `/keys/${key}`, { body: { name: 'n' } });
    await server.call('DELETE', `/keys/${key}`);
    const aliasLine = shown(from).find((line) => line.includes('aliases'));
    assert.deepEqual(
      shown(from).filter((line) => line !== aliasLine),
      [
        'master keys.create ',
        `${uid} settings.update movies`,
        `${uid} documents.delete movies,1`,
        `${uid} dumps.create `,
        `${uid} indexes.delete movies`,
        `master keys.update ${uid}`,
        `master keys.delete ${uid}`,
      ],
    );
    assert.match(aliasLine!, new RegExp(`^${uid} aliases\\.\\w+ films$`));
    const text = readFileSync(path, 'utf8');
    for (const secret of [key, server.masterKey, 'secret words']) assert.ok(!text.includes(secret));
    const [first] = lines().slice(from);
    assert.match(first!.time, /^\d{4}-.*Z$/);
    assert.match(first!.requestId, /^[\w-]{8,}$/);
    assert.equal(first!.address, '127.0.0.1');
    assert.equal(statSync(path).mode & 0o077, 0, 'only the user of the server may read it');
  });

  it('has each acknowledged change after a kill, and no torn line', async () => {
    const from = lines().length;
    const acknowledged: string[] = [];
    const sending = Promise.allSettled(
      Array.from({ length: 40 }, async (_, n) => {
        const { status } = await server.call('PUT', `/aliases/kill-${n}`, {
          body: { indexUid: 'movies' },
        });
        if (status < 400) acknowledged.push(`kill-${n}`);
        if (acknowledged.length === 10) await server.kill();
      }),
    );
    await sending;
    appendFileSync(path, '{"time":"2026-');
    await server.restart();
    await server.call('DELETE', '/aliases/kill-0');
    const recorded = new Set(shown(from).map((line) => line.split(' ')[2]));
    assert.ok(acknowledged.length >= 10);
    for (const name of acknowledged) assert.ok(recorded.has(name), name);
  });
});

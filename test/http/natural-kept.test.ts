/**
 * What questions find stays the same however the documents were written, and after a restart, in a
 * dump, in a snapshot and over the servers of a network.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { mulberry } from '../support/random.ts';
import { settle } from './kill/support/compare.ts';
import { addonIsBuilt, type ServerProcess } from './kill/support/server-process.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { ServerFolder } from './support/server-folder.ts';

const SEED = Number(process.env['GANNET_SEED'] ?? 1);
const DOCUMENTS = 120;

const random = mulberry(SEED);
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;

const STEMS = ['hunt', 'sail', 'garden', 'paint', 'load', 'print', 'walk', 'fish', 'light', 'mark'];
const ENDINGS = ['', '', 's', 'ing', 'ed', 'er'];
const SMALL = ['the', 'of', 'and', 'a', 'in'];
const text = (words: number): string =>
  Array.from({ length: words }, () =>
    random() < 0.4 ? pick(SMALL) : pick(STEMS) + pick(ENDINGS),
  ).join(' ');

const SETTINGS = {
  searchableAttributes: [{ attribute: 'text', weight: 2.5 }, 'title'],
  defaultMatchingStrategy: 'natural',
};
const QUESTIONS = [text(1), text(3), text(9), text(20), `${text(4)} `, `who ${text(2)}?`];

const documents = (): object[] =>
  Array.from({ length: DOCUMENTS }, (_, id) => ({
    id,
    title: text(1 + Math.floor(random() * 4)),
    text: text(Math.floor(random() * 25)),
  }));

const LIMIT = 30;
const queryOf = (q: string): object => ({
  ...{ q, attributesToRetrieve: ['id'] },
  ...{ showRankingScore: true, showRankingScoreDetails: true },
});
const bodyOf = (q: string): object => ({ ...queryOf(q), limit: LIMIT });

describe(`Questions after (seed ${SEED})`, function () {
  this.timeout(180_000);

  let folder: ServerFolder;
  let first: ServerProcess;
  const lines = documents();
  let expected: unknown;

  const results = async ({ client }: ServerProcess): Promise<unknown> => {
    const all: unknown[] = [await client.get<any>('/indexes/docs/settings')];
    for (const q of QUESTIONS) {
      const response = await client.call('POST', '/indexes/docs/search', { body: bodyOf(q) });
      const { hits, estimatedTotalHits } = response.json<any>();
      all.push([q, hits, estimatedTotalHits]);
    }
    return all;
  };
  const start = (db: string, ...args: string[]): Promise<ServerProcess> =>
    folder.start(db, [
      ...['--dump-dir', join(folder.dir, 'dumps'), '--snapshot-dir', join(folder.dir, 'snapshots')],
      ...args,
    ]);
  const fill = async ({ client }: ServerProcess, size: number): Promise<void> => {
    await client.call('PATCH', '/indexes/docs/settings', { body: SETTINGS });
    for (let at = 0; at < lines.length; at += size) {
      const body = lines.slice(at, at + size);
      await client.call('POST', '/indexes/docs/documents?primaryKey=id', { body });
      await settle(client);
      // Tables that a question has made are made for merged segments as well.
      await client.call('POST', '/indexes/docs/search', { body: bodyOf(QUESTIONS[0]!) });
    }
  };

  before(async function () {
    if (!addonIsBuilt()) return this.skip();
    folder = new ServerFolder('gannet-natural-');
    first = await start('first');
    await fill(first, DOCUMENTS);
    expected = await results(first);
  });
  after(async () => {
    await folder?.remove();
  });

  it('many small batches are those after one', async () => {
    const second = await start('second');
    await fill(second, 7);
    assert.deepEqual(await results(second), expected);
  });

  it('a dump are the same, with the same settings', async () => {
    await first.client.call('POST', '/dumps');
    await settle(first.client);
    const dumps = join(folder.dir, 'dumps');
    const third = await start('third', '--import-dump', join(dumps, readdirSync(dumps)[0]!));
    await settle(third.client);
    assert.deepEqual(await results(third), expected);
  });

  it('a snapshot, and after a restart, are the same', async () => {
    await first.client.call('POST', '/snapshots');
    await settle(first.client);
    const snapshots = join(folder.dir, 'snapshots');
    const file = join(snapshots, readdirSync(snapshots)[0]!);
    const fourth = await start('fourth', '--import-snapshot', file);
    assert.deepEqual(await results(fourth), expected);
    await fourth.stop();
    assert.deepEqual(await results(await start('fourth')), expected);
  });
});

describe(`Questions to a network (seed ${SEED})`, function () {
  this.timeout(60_000);

  let cluster: Cluster;

  before(async () => {
    cluster = await startCluster({ count: 3 });
    for (const [n, server] of cluster.servers.entries()) {
      await server.finish('PATCH', '/indexes/docs/settings', { body: SETTINGS });
      const body = documents().filter((_, id) => id % 3 === n);
      await server.finish('POST', '/indexes/docs/documents?primaryKey=id', { body });
    }
  });
  after(() => cluster?.close());

  /** What a hit is ordered by, and where it came from. */
  const shown = (hits: any[], remote?: string): unknown[] =>
    hits.map(({ id, _rankingScore, _rankingScoreDetails, _federation }) => ({
      ...{ id, _rankingScore, remote: remote ?? _federation.remote },
      natural: _rankingScoreDetails.natural,
    }));

  it('find the best of what each server finds', async () => {
    const [asked] = cluster.servers;
    for (const q of QUESTIONS) {
      const wanted: any[] = [];
      for (const [n, server] of cluster.servers.entries()) {
        const { json } = await server.call('POST', '/indexes/docs/search', { body: bodyOf(q) });
        wanted.push(...shown(json.hits, cluster.names[n]));
      }
      wanted.sort((a, b) => b._rankingScore - a._rankingScore);
      const whole = await asked!.call('POST', '/indexes/docs/search', {
        body: { ...bodyOf(q), useNetwork: true },
      });
      const queries = cluster.names.map((remote) => ({
        ...queryOf(q),
        ...{ indexUid: 'docs', federationOptions: { remote } },
      }));
      const body = { federation: { limit: LIMIT }, queries };
      const federated = await asked!.call('POST', '/multi-search', { body });
      for (const { status, json } of [whole, federated]) {
        assert.equal(status, 200, JSON.stringify(json));
        assert.deepEqual(json.remoteErrors, {});
        const given = shown(json.hits) as any[];
        assert.ok(given.length > 0, q);
        const scores = (list: any[]): number[] => list.map(({ _rankingScore: score }) => score);
        assert.deepEqual(scores(given), scores(wanted.slice(0, given.length)), q);
        // Hits with the same score are in any order.
        for (const hit of given) {
          const same = wanted.find(({ id, remote }) => id === hit.id && remote === hit.remote);
          assert.deepEqual(hit, same, q);
        }
      }
    }
  });
});

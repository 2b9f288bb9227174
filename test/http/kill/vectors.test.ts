import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../support/free-port.ts';
import { settle } from './support/compare.ts';
import { newSeed, Random } from './support/random.ts';
import { addonIsBuilt, ServerProcess, verify } from './support/server-process.ts';

const KILLS = Number(process.env['KILLS'] ?? 5);
const IDS = 60;
/** A batch with a third of the ids, or a tenth. */
const SIZES = [20, 6, 1];

interface Stored {
  id: number;
  generation: number;
  _vectors: Record<string, { embeddings: number[][]; regenerate: boolean }>;
}

/**
 * The content of every document sent in one task: its text and its vectors show the same
 * generation.
 */
function document(id: number, generation: number): Record<string, unknown> {
  return {
    id,
    generation,
    _vectors: {
      e: [generation, id, 1],
      f:
        id % 3 === 0
          ? null
          : [
              [id, generation],
              [generation, 0],
            ],
    },
  };
}

describe('a server with vectors, killed again and again', function () {
  this.timeout(KILLS * 60_000);

  let dir: string;
  before(function () {
    if (!addonIsBuilt()) this.skip();
    dir = mkdtempSync(join(tmpdir(), 'gannet-vectors-'));
  });
  after(() => dir !== undefined && rmSync(dir, { recursive: true, force: true }));

  it('keeps the vectors of every acknowledged document, and those of one generation with it', async () => {
    const random = new Random(newSeed());
    const port = await freePort();
    const latest = new Map<number, number>();
    let generation = 0;
    for (let round = 0; round <= KILLS; round++) {
      const server = await ServerProcess.start({ dir, port });
      const { client } = server;
      if (round === 0) {
        await client.call('PATCH', '/indexes/v/settings', {
          body: {
            embedders: {
              e: { source: 'userProvided', dimensions: 3 },
              f: { source: 'userProvided', dimensions: 2 },
            },
          },
        });
      }
      await settle(client);
      const { results } = (
        await client.call('GET', `/indexes/v/documents?limit=${IDS}&retrieveVectors=true`)
      ).json<{ results: Stored[] }>();
      let embeddings = 0;
      for (const { id, generation: stored, _vectors } of results ?? []) {
        assert.equal(stored, latest.get(id), `document ${id}`);
        assert.deepEqual(_vectors['e'], { embeddings: [[stored, id, 1]], regenerate: false });
        const more =
          id % 3 === 0
            ? []
            : [
                [id, stored],
                [stored, 0],
              ];
        assert.deepEqual(_vectors['f'], { embeddings: more, regenerate: false });
        embeddings += 1 + more.length;
      }
      assert.equal(results?.length ?? 0, latest.size);
      const stats = (await client.call('GET', '/indexes/v/stats')).json<Record<string, unknown>>();
      assert.equal(stats['numberOfEmbeddings'], embeddings);
      assert.equal(stats['numberOfEmbeddedDocuments'], latest.size);
      if (round === KILLS) {
        await server.stop();
        break;
      }

      // Until it is killed; acknowledged tasks count.
      const kill = sleep(random.int(0, 400)).then(() => server.kill());
      for (let alive = true; alive;) {
        generation++;
        const first = random.int(0, IDS);
        const ids = Array.from({ length: random.pick(SIZES) }, (_, n) => (first + n) % IDS);
        const removes = random.chance(0.2);
        try {
          const { status } = removes
            ? await client.call('POST', '/indexes/v/documents/delete-batch', { body: ids })
            : await client.call('POST', '/indexes/v/documents?primaryKey=id', {
                body: ids.map((id) => document(id, generation)),
              });
          assert.equal(status, 202);
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
          alive = false;
          await kill;
          // Whether the last request was accepted is found out by asking.
          const again = await ServerProcess.start({ dir, port });
          await settle(again.client);
          const { total } = (await again.client.call('GET', '/tasks?limit=1')).json<{
            total: number;
          }>();
          await again.kill();
          if (total <= acknowledged) continue;
        }
        acknowledged++;
        for (const id of ids) {
          if (removes) latest.delete(id);
          else latest.set(id, generation);
        }
      }
    }
    const { status, text } = await verify('--db-path', dir);
    assert.equal(status, 0, text);
  });

  /** Number of tasks, including that of the settings. */
  let acknowledged = 1;
});

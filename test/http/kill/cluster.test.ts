/**
 * Nodes of a cluster are killed again and again under a stream of writes: what was acknowledged is
 * on every node.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { BuiltServer } from '../../support/built-server.ts';
import { ClusterStage } from '../../support/cluster-stage.ts';
import { mulberry } from '../../support/random.ts';

const NODES = 3;
const KILLS = 12;
const DOCUMENTS_MAX = 400;

describe('A cluster whose nodes are killed', function () {
  let stage: ClusterStage | undefined;
  let servers: BuiltServer[] = [];

  before(async function () {
    const opened = (stage = await ClusterStage.open(this, {
      leaseSeconds: 2,
      // Not so often that a node which starts is left behind by two of them.
      env: { GANNET_CHECKPOINT_BYTES: '100000' },
    }));
    servers = await Promise.all(Array.from({ length: NODES }, (_, n) => opened.start(`node-${n}`)));
  });

  after(() => stage?.close());

  /**
   * Resolves once no task is left and all nodes are equal. One of them leads and has the whole log,
   * which the others may not know yet.
   */
  async function level(): Promise<void> {
    for (;;) {
      for (const server of servers) await server.idle();
      const applied = new Set<number>();
      for (const server of servers)
        applied.add((await server.call('GET', '/cluster')).json.applied);
      if (applied.size === 1) return;
      await delay(20);
    }
  }

  it('keeps what it has acknowledged', async () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 1_000_000);
    console.log(`      GANNET_SEED=${seed}`);
    const random = mulberry(seed);
    const below = (end: number): number => Math.floor(random() * end);
    /** Ids of documents whose last acknowledged task has added them, or deleted them. */
    const there = new Set<number>();
    const deleted = new Set<number>();
    /** A request without a response may have been accepted. */
    const unknown = new Set<number>();
    const acknowledged: number[] = [];
    let next = 0;
    let isOver = false;

    const send = async (method: string, path: string, body: unknown): Promise<boolean> => {
      const server = servers[below(NODES)]!;
      try {
        const { status, json } = await server.call(method, path, { body });
        if (status === 202) acknowledged.push(json.taskUid);
        else if (status !== 503) assert.fail(`${status} ${JSON.stringify(json)}`);
        return status === 202;
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        return false;
      }
    };
    const client = async (): Promise<void> => {
      while (!isOver) {
        const index = `/indexes/index-${below(2)}/documents`;
        if (below(4) > 0 || there.size === 0) {
          const ids = Array.from({ length: 1 + below(DOCUMENTS_MAX) }, () => next++);
          const documents = ids.map((id) => ({ id, title: `title ${id}`, index }));
          const isTaken = await send('POST', index, documents);
          for (const id of ids) (isTaken ? there : unknown).add(id);
        } else {
          const ids = [...there].filter(() => below(10) === 0).slice(0, 50);
          for (const id of ids) there.delete(id);
          // From both indexes, because each document is in one of them.
          const paths = [0, 1].map((n) => `/indexes/index-${n}/documents/delete-batch`);
          const taken = [await send('POST', paths[0]!, ids), await send('POST', paths[1]!, ids)];
          for (const id of ids) (taken.every(Boolean) ? deleted : unknown).add(id);
        }
        await delay(below(40));
      }
    };
    for (const n of [0, 1]) {
      while (!(await send('POST', `/indexes/index-${n}/documents`, [{ id: next }])))
        await delay(50);
      there.add(next++);
    }
    const clients = Array.from({ length: 4 }, client);
    for (let kill = 0; kill < KILLS; kill++) {
      await delay(300 + below(1500));
      const victim = servers[below(NODES)]!;
      await victim.kill();
      await delay(below(1500));
      await victim.restart();
    }
    isOver = true;
    await Promise.all(clients);

    const uids = new Set(acknowledged);
    assert.equal(uids.size, acknowledged.length, 'no task uid is given twice');
    await level();
    console.log(
      `      ${acknowledged.length} tasks, ${there.size} documents, ${deleted.size} deleted, ${unknown.size} unknown`,
    );
    const tasksOf = async (
      server: BuiltServer,
    ): Promise<{ uid: number; status: string; error: unknown }[]> => {
      const all = [];
      let from: number | null = null;
      do {
        const start: string = from === null ? '' : `&from=${from}`;
        const { json } = await server.call('GET', `/tasks?limit=1000${start}`);
        all.push(...json.results);
        from = json.next;
      } while (from !== null);
      return all;
    };
    const first = await tasksOf(servers[0]!);
    const tasks = new Map(first.map((task) => [task.uid, task]));
    const lost = [...uids].filter((uid) => !tasks.has(uid));
    assert.deepEqual(lost, [], 'acknowledged tasks that do not exist');
    const failed = first.filter(({ uid, status }) => uids.has(uid) && status !== 'succeeded');
    assert.deepEqual(failed, [], 'acknowledged tasks that did not succeed');
    for (const server of servers) {
      assert.deepEqual(await tasksOf(server), first);
      const ids = new Set<number>();
      for (const n of [0, 1]) {
        const path = `/indexes/index-${n}/documents?limit=1000000&fields=id`;
        for (const { id } of (await server.call('GET', path)).json.results) {
          assert.ok(!ids.has(id), `document ${id} is in both indexes`);
          ids.add(id);
        }
      }
      for (const id of there) assert.ok(ids.has(id), `document ${id} is lost`);
      for (const id of deleted) assert.ok(!ids.has(id), `document ${id} is back`);
      const surplus = [...ids].filter((id) => !there.has(id) && !unknown.has(id));
      assert.deepEqual(surplus, []);
    }
    for (const server of servers) {
      const { valid, text } = await server.verify();
      assert.ok(valid, text);
    }
  });
});

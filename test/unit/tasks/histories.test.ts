/**
 * Which tasks belong to an index after any sequence of swaps, renamings, deletions and restarts.
 */
import assert from 'node:assert/strict';
import type { TaskFilter, TaskRequest } from '../../../src/contract/tasks.ts';
import type { TaskView } from '../../../src/contract/responses.ts';
import { add, forget, TestTaskSystem } from '../../support/task-system.ts';
import { mulberry } from '../../support/random.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e'];
const ROUNDS = 6;
const STEPS = 40;

type Random = (below: number) => number;

function randomName(random: Random): string {
  return NAMES[random(NAMES.length)]!;
}

/** null: no request this time. */
function randomRequest(random: Random, n: number): TaskRequest | null {
  const [x, y] = [randomName(random), randomName(random)];
  const swap = (rename: boolean): TaskRequest | null =>
    x === y ? null : { type: 'indexSwap', swaps: [{ indexes: [x, y], rename }] };
  switch (random(8)) {
    case 0:
      return { type: 'indexDeletion', indexUid: x };
    case 1:
      return swap(false);
    case 2:
      return swap(true);
    case 3:
      return { type: 'indexUpdate', indexUid: x, newUid: y };
    case 4:
      return random(3) === 0 ? forget({ statuses: ['failed'] }) : null;
    default:
      return add(x, [{ id: n }]);
  }
}

/**
 * Whether a filter by index must find the task, as far as its view shows. A renaming also belongs
 * to its other uid.
 */
function belongs({ type, indexUid, details }: TaskView, uids: readonly string[]): boolean | null {
  if (type === 'indexSwap') {
    const { swaps } = details as { swaps: { indexes: string[] }[] };
    return swaps.flatMap(({ indexes }) => indexes).every((uid) => uids.includes(uid));
  }
  if (indexUid === null) return false;
  if (uids.includes(indexUid)) return true;
  return type === 'indexUpdate' ? null : false;
}

describe('The tasks of an index', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

  async function check(test: TestTaskSystem, random: Random, context: string): Promise<void> {
    const all = test.tasks();
    const names = NAMES.filter(() => random(3) === 0).concat(randomName(random));
    const filter: TaskFilter = { indexUids: names };
    const page = { limit: 1000, from: null, reverse: random(2) === 0 };
    const { results, total } = await test.system.queue.page(filter, page, null);
    assert.equal(total, results.length, context);
    const empty = await test.system.queue.page(filter, { ...page, limit: 0 }, null);
    assert.equal(empty.total, total, context);
    const found = new Set(results.map(({ uid }) => uid));
    for (const task of all) {
      const expected = belongs(task, names);
      if (expected !== null) assert.equal(found.has(task.uid), expected, `${context}: ${task.uid}`);
    }
    const visible = (uid: string): boolean => uid === names[0];
    const seen = await test.system.queue.page(filter, page, visible);
    assert.equal(seen.total, seen.results.length, context);
  }

  for (let round = 0; round < ROUNDS; round++) {
    it(`are found and counted, seed ${seed + round}`, async () => {
      const uniform = mulberry(seed + round);
      const random: Random = (below) => Math.floor(uniform() * below);
      const test = await TestTaskSystem.open();
      try {
        for (let n = 0; n < STEPS; n++) {
          if (random(20) === 0) await test.restart();
          const request = randomRequest(random, n);
          if (request === null) continue;
          if (random(2) === 0) await test.run(request);
          else await test.register(request);
          await check(test, random, `step ${n}`);
        }
      } finally {
        await test.remove();
      }
    });
  }
});

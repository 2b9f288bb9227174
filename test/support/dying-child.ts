/**
 * A server without HTTP whose task 3 ends the process, as a fault of the engine would. Arguments:
 * folder; how it dies (`abort`, `exit`, `throw`, `SIGKILL`, ..., `never`); requests to register
 * first, as JSON. Prints the tasks as JSON once all have ended.
 */
import { writeSync } from 'node:fs';
import type { TaskRequest } from '../../src/contract/tasks.ts';
import type { BatchKind } from '../../src/tasks/batcher.ts';
import { RUNNERS } from '../../src/tasks/runners.ts';
import type { Runner } from '../../src/tasks/run/run.ts';
import { TestTaskSystem } from './task-system.ts';

const [dir, death, requests] = process.argv.slice(2) as [string, string, string];

function die(): Promise<never> {
  if (death === 'abort') process.abort();
  if (death === 'exit') process.exit(3);
  if (death === 'throw') {
    setImmediate(() => {
      throw new Error('a bug');
    });
  } else process.kill(process.pid, death);
  // The signal arrives a moment later.
  return new Promise(() => {});
}

const DEADLY_TASK = 3;

/** The runner of a kind; it does not survive that task. */
function deadly(kind: BatchKind): Runner {
  const run = RUNNERS[kind]!;
  return (context) =>
    death !== 'never' && context.batch.uids.includes(DEADLY_TASK) ? die() : run(context);
}

/** What JSON makes of a buffer. */
function isBytes(value: unknown): value is { data: number[] } {
  return (value as { type?: unknown } | null)?.type === 'Buffer';
}

async function main(): Promise<void> {
  const test = await TestTaskSystem.open({
    dir,
    started: false,
    runners: {
      documents: deadly('documents'),
      indexCompaction: deadly('indexCompaction'),
      // Stays detached until all others have ended.
      export: async ({ batch, cancel, detach }) => {
        detach();
        const others = (): boolean =>
          test.tasks().some(({ type, finishedAt }) => type !== 'export' && finishedAt === null);
        while (others()) {
          await new Promise((done) => setImmediate(done));
          cancel.check();
        }
        const [uid] = batch.uids;
        if (death !== 'never' && uid === DEADLY_TASK) await die();
        return { ends: [{ uid: uid!, status: 'succeeded', result: null }] };
      },
    },
  });
  const bytes = (_: string, value: unknown): unknown =>
    isBytes(value) ? Buffer.from(value.data) : value;
  for (const request of JSON.parse(requests, bytes) as TaskRequest[]) await test.register(request);
  await test.start();
  await test.settle();
  const documents = test.indexUids.includes('books') ? await test.documents('books') : [];
  writeSync(1, JSON.stringify({ tasks: test.tasks(), logged: test.logged, documents }));
  await test.system.close();
  process.exit(0);
}

void main();

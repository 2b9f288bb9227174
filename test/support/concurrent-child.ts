/**
 * A server without HTTP that kills itself while a change of settings and a deletion of documents
 * run, at a moment of `concurrent-moments.ts`. Arguments: folder, moment.
 */
import { MOMENTS, type Which } from './concurrent-moments.ts';
import { add, settings, TestTaskSystem } from './task-system.ts';

const [dir, moment] = process.argv.slice(2) as [string, string];
const SETTINGS_TASK = 2;

/** The steps reached, and the batches that wait for others. */
const reached = new Set<string>();
const waiting = new Set<() => void>();

function reach(what: string): void {
  reached.add(what);
  for (const look of waiting) look();
}

function until(what: string): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!reached.has(what)) return;
      waiting.delete(look);
      resolve();
    };
    waiting.add(look);
    look();
  });
}

const which = (task: number): Which => (task === SETTINGS_TASK ? 'settings' : 'documents');
const never = (): Promise<void> => new Promise(() => {});

async function main(): Promise<void> {
  const { order } = MOMENTS[moment]!;
  const test = await TestTaskSystem.open({
    dir,
    onFinished: (uids) => {
      for (const uid of uids) reach(`${which(uid)} recorded`);
    },
  });
  await test.run(add('a', [{ id: 1 }]));
  await test.run(add('b', [{ id: 1 }, { id: 2 }]));
  reached.clear();
  test.engine.beforeCommit = async ({ taskUids }) => {
    const name = which(taskUids[0]!);
    reach(`${name} ready`);
    await until('settings ready');
    await until('documents ready');
    const step = order.findIndex(([who]) => who === name);
    if (step < 0) await never();
    for (const [who, what] of order.slice(0, step)) await until(`${who} ${what}`);
  };
  test.engine.afterCommit = async ({ taskUids }) => {
    const name = which(taskUids[0]!);
    reach(`${name} commits`);
    const [, what] = order.find(([who]) => who === name)!;
    if (what === 'commits') await never();
  };
  await test.register(settings('a', { stopWords: ['x'] }));
  await test.register({ type: 'documentDeletion', indexUid: 'b', by: { ids: ['1'] } });
  await until('settings ready');
  await until('documents ready');
  for (const [who, what] of order) await until(`${who} ${what}`);
  process.kill(process.pid, 'SIGKILL');
}

void main();

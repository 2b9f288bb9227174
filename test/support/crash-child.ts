/**
 * A server without HTTP that dies: registers a given number of tasks, prints the uid of each once
 * it is acknowledged, and kills itself at the n-th of some event. Arguments: folder, number of
 * tasks, event (`beforeCommit`, `afterCommit`, `finished`, `registered`, `never`), n.
 */
import { writeSync } from 'node:fs';
import { add, settings, TestTaskSystem } from './task-system.ts';

const [dir, count, event, at] = process.argv.slice(2) as [string, string, string, string];
let seen = 0;

function happens(what: string): void {
  if (what === event && ++seen === Number(at)) process.kill(process.pid, 'SIGKILL');
}

async function main(): Promise<void> {
  const test = await TestTaskSystem.open({
    dir,
    started: false,
    batchedTasksMax: 3,
    onFinished: () => happens('finished'),
  });
  test.engine.beforeCommit = () => happens('beforeCommit');
  test.engine.afterCommit = () => happens('afterCommit');
  await test.start();
  const first = test.system.taskStore.table.nextTaskUid;
  for (let uid = first; uid < Number(count); uid++) {
    const key = Math.floor(uid / 3);
    const index = `index-${key % 2}`;
    // If applied twice, a deletion would report 0 documents.
    const request = [
      add(index, [{ id: key, text: 'x'.repeat(key % 4 === 0 ? 70_000 : 10) }]),
      settings(index, { stopWords: [`w${key}`] }),
      { type: 'documentDeletion' as const, indexUid: index, by: { ids: [String(key)] } },
    ][uid % 3]!;
    const acknowledged = await test.register(request);
    writeSync(1, `${acknowledged}\n`);
    happens('registered');
  }
  await test.settle();
  await test.system.close();
  writeSync(1, 'done\n');
  process.exit(0);
}

void main();

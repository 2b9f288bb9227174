/** Waits for tasks, shows progress, and reports failed tasks. */
import type { Terminal } from './command.ts';
import type { Connection, FinishedTask } from './connection.ts';
import { counted, showProgress } from './progress.ts';

/** Maximum number of failed tasks that are listed individually. */
const FAILURES_SHOWN = 20;

export class TaskTally {
  readonly #terminal: Terminal;
  readonly #isQuiet: boolean;

  constructor(terminal: Terminal, isQuiet: boolean) {
    this.#terminal = terminal;
    this.#isQuiet = isQuiet;
  }

  /**
   * @param origins the file and lines of tasks, where known
   * @returns how many of the tasks failed or were canceled
   */
  async waitFor(
    connection: Connection,
    uids: readonly number[],
    origins: ReadonlyMap<number, string> = new Map(),
  ): Promise<number> {
    const progress = await showProgress(this.#terminal, 'indexing', uids.length, this.#isQuiet);
    const failed: FinishedTask[] = [];
    let ended = 0;
    try {
      await connection.waitFor(uids, (task) => {
        if (task.status !== 'succeeded') failed.push(task);
        progress.update(++ended, `${ended} of ${counted(uids.length, 'task')}`);
      });
    } finally {
      progress.end();
    }
    for (const task of failed.slice(0, FAILURES_SHOWN)) this.#report(task, origins.get(task.uid));
    if (failed.length > FAILURES_SHOWN) {
      this.#terminal.complaints.write(`and ${failed.length - FAILURES_SHOWN} more\n`);
    }
    return failed.length;
  }

  #report({ uid, status, indexUid, error }: FinishedTask, origin: string | undefined): void {
    const why = error === null ? '' : `: ${error.message} (${error.code})`;
    const of = origin === undefined ? '' : `; it contains ${origin}`;
    this.#terminal.complaints.write(`task ${uid} of \`${indexUid ?? '*'}\` ${status}${why}${of}\n`);
  }
}

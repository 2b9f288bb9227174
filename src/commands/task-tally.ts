/** Waits for tasks, with progress, and tells which of them failed. */
import type { Terminal } from './command.ts';
import type { Connection, FinishedTask } from './connection.ts';
import { showProgress } from './progress.ts';

/** Failed tasks that are told one by one. */
const FAILURES_TOLD = 20;

export class TaskTally {
  readonly #terminal: Terminal;
  readonly #isQuiet: boolean;

  constructor(terminal: Terminal, isQuiet: boolean) {
    this.#terminal = terminal;
    this.#isQuiet = isQuiet;
  }

  /**
   * @param places what tasks are of, where that is known
   * @returns how many of the tasks failed or were canceled
   */
  async waitFor(
    connection: Connection,
    uids: readonly number[],
    places: ReadonlyMap<number, string> = new Map(),
  ): Promise<number> {
    const progress = await showProgress(this.#terminal, 'indexing', uids.length, this.#isQuiet);
    const failed: FinishedTask[] = [];
    let ended = 0;
    try {
      await connection.waitFor(uids, (task) => {
        if (task.status !== 'succeeded') failed.push(task);
        progress.update(++ended, `${ended} of ${uids.length} tasks`);
      });
    } finally {
      progress.end();
    }
    for (const task of failed.slice(0, FAILURES_TOLD)) this.#tell(task, places.get(task.uid));
    if (failed.length > FAILURES_TOLD) {
      this.#terminal.complaints.write(`and ${failed.length - FAILURES_TOLD} more\n`);
    }
    return failed.length;
  }

  #tell({ uid, status, indexUid, error }: FinishedTask, place: string | undefined): void {
    const why = error === null ? '' : `: ${error.message} (${error.code})`;
    const of = place === undefined ? '' : `; it is of ${place}`;
    this.#terminal.complaints.write(`task ${uid} of \`${indexUid ?? '*'}\` ${status}${why}${of}\n`);
  }
}

/** Programs that run tests, several at a time, and once more what failed. */
import { availableParallelism } from 'node:os';

export interface TestTime {
  title: string;
  file: string;
  ms: number;
}

/** One run of a program with tests. */
export interface Attempt {
  /** The program ended normally, and no test failed. */
  ok: boolean;
  passed: number;
  failed: number;
  skipped: number;
  /** What it printed. */
  text: string;
  tests: readonly TestTime[];
  /** Files or tests that failed; empty: it is not known which. */
  failing: readonly string[];
  /** Runs those that failed. */
  again(): Promise<Attempt>;
  /** What the failures were of those that then passed alone. */
  unstable?: string;
}

/** With more failing ones than these, of some hundreds, what failed is not the machine. */
const REPEATED_MAX = 10;

/** Runs the tasks in their order, `count` at a time. */
export async function inParallel<T>(
  tasks: readonly (() => Promise<T>)[],
  count = availableParallelism(),
): Promise<T[]> {
  const results: T[] = [];
  const waiting = tasks.entries();
  const work = async (): Promise<void> => {
    for (const [at, task] of waiting) results[at] = await task();
  };
  await Promise.all(Array.from({ length: count }, work));
  return results;
}

/**
 * The runs, with the results of a second attempt for what failed. Some tests measure time or fill
 * memory, and another process may disturb them. What fails alone as well has failed.
 * @param quiet resolves when nothing else runs
 */
export async function repeatedAlone<T extends Attempt>(
  runs: readonly T[],
  quiet: () => Promise<unknown>,
): Promise<T[]> {
  const failing = runs.flatMap((run) => run.failing);
  if (failing.length === 0 || failing.length > REPEATED_MAX) return [...runs];
  await quiet();
  return (await inParallel(
    runs.map((run) => () => repeated(run)),
    1,
  )) as T[];
}

async function repeated(run: Attempt): Promise<Attempt> {
  if (run.ok || run.failing.length === 0) return run;
  console.log(`\nAgain, alone: ${run.failing.join(' ')}`);
  const again = await run.again();
  if (!again.ok) return run;
  return { ...run, ok: true, passed: run.passed + run.failed, failed: 0, unstable: run.text };
}

/** Runs test files in several concurrent processes, and reports the time of each test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Attempt, inParallel } from './attempts.ts';

export interface MochaRun extends Attempt {
  /** The files that it was asked to run. */
  given: readonly string[];
  /** Milliseconds by file, hooks included. */
  files: Readonly<Record<string, number>>;
}

const MOCHA = 'node_modules/mocha/bin/mocha.js';
const REPORTER = 'test/support/timed-reporter.cjs';
/**
 * A process takes a second to start, so it runs many files; there are enough processes that none
 * runs alone at the end.
 */
const SHARES_PER_CORE = 12;
/** A test often waits, for a browser, a disk or a clock: another process computes meanwhile. */
const WAITING_PROCESSES = 1;
/** Seconds that a process may take to end once its tests have. */
const CHECKS_AFTER_REPORT = 30;

/**
 * @param alone slow files that each get their own process; they start first
 * @param env of the tests
 * @param last what begins after the last process has begun
 */
export async function runMocha(
  files: readonly string[],
  alone: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  last: readonly (() => Promise<unknown>)[] = [],
): Promise<MochaRun[]> {
  const cores = availableParallelism();
  const processes = [...alone.map((file) => [file]), ...shares(files, cores * SHARES_PER_CORE)];
  const runs: MochaRun[] = [];
  const work = processes.map((given) => async () => {
    runs.push(await oneProcess(given, env));
  });
  await inParallel([...work, ...last], cores + WAITING_PROCESSES);
  return runs;
}

/** Files distributed by size, so that the shares take about as long. */
function shares(files: readonly string[], count: number): string[][] {
  const bySize = files.toSorted((a, b) => statSync(b).size - statSync(a).size);
  const dealt = Array.from({ length: count }, (_, share) =>
    bySize.filter((_file, at) => at % count === share),
  );
  return dealt.filter((share) => share.length > 0);
}

function oneProcess(files: readonly string[], env: NodeJS.ProcessEnv): Promise<MochaRun> {
  const folder = mkdtempSync(join(tmpdir(), 'gannet-mocha-'));
  const times = join(folder, 'times.json');
  const argv = [MOCHA, '--reporter', REPORTER, ...files];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, argv, {
      stdio: ['ignore', 'pipe', 'pipe'],
      // Half a second of CPU after each start of a server.
      env: { GANNET_WARM_UP_SEARCHES: '0', ...env, GANNET_TEST_TIMES: times },
      detached: true,
    });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    child.once('error', reject);
    const watch = endAfterReport(child, times, () => {
      text += `\nThe process did not end after its tests: ${files.join(' ')}\n`;
    });
    child.once('close', (status) => {
      clearInterval(watch);
      const read = readTimes(times, status);
      process.stdout.write(text);
      const again = (): Promise<MochaRun> => oneProcess(read.failing, env);
      resolve({ given: files, ok: status === 0, text, again, ...read });
      rmSync(folder, { recursive: true });
    });
  });
}

/** A test that leaves something open keeps its process alive: the run fails, and is not stalled. */
function endAfterReport(child: ChildProcess, times: string, onKill: () => void): NodeJS.Timeout {
  let checks = 0;
  return setInterval(() => {
    if (!existsSync(times)) return;
    checks++;
    if (checks < CHECKS_AFTER_REPORT) return;
    onKill();
    // Mocha starts a process of its own, which is in the same group.
    process.kill(-child.pid!, 'SIGKILL');
  }, 1000);
}

type Times = Pick<MochaRun, 'passed' | 'failed' | 'skipped' | 'tests' | 'files' | 'failing'>;

/** A process that ended before its report, or with a failure status, has failed. */
function readTimes(file: string, status: number | null): Times {
  let times: Times;
  try {
    times = JSON.parse(readFileSync(file, 'utf8')) as Times;
  } catch {
    return { passed: 0, failed: 1, skipped: 0, tests: [], files: {}, failing: [] };
  }
  // A hook outside of all files has failed.
  const failing = times.failing.includes('') ? [] : times.failing;
  return status === 0 ? times : { ...times, failing, failed: Math.max(1, times.failed) };
}

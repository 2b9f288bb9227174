/**
 * Simulates clusters, a seed after the other.
 *
 *   npm run test:simulation -- --seeds 1000000   as many seeds, on all cores
 *   npm run test:simulation -- --seed 42         one seed, with its history
 *   --from N                                     the first seed, 1 by default
 *
 * Exit status: 0 when all invariants hold. The first seed that fails is run again, and its history
 * is printed.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { recordRun } from '../support/record-run.ts';
import { simulate } from './simulation.ts';

const HISTORY_LINES = 400;
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
});

async function replay(seed: number): Promise<number> {
  const { violation, history, counts } = await simulate(seed, true);
  console.log(history.slice(-HISTORY_LINES).join('\n'));
  console.log(`seed ${seed}: ${violation ?? 'all invariants hold'}`);
  console.log(JSON.stringify(counts));
  return violation === null ? 0 : 1;
}

async function runAll(from: number, count: number): Promise<number> {
  const totals: Record<string, number> = {};
  const begin = performance.now();
  for (let seed = from; seed < from + count; seed++) {
    const { violation, counts } = await simulate(seed, false);
    for (const [name, n] of Object.entries(counts)) totals[name] = (totals[name] ?? 0) + n;
    if (violation !== null) {
      console.log(`seed ${seed} fails: ${violation}`);
      return replay(seed);
    }
  }
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  console.log(`${count} seeds from ${from}, ${seconds} s: all invariants hold`);
  console.log(JSON.stringify(totals));
  return 0;
}

function job(from: number, count: number): Promise<number> {
  const args = ['--import=tsx', fileURLToPath(import.meta.url), '--jobs', '1'];
  const child = spawn(
    process.execPath,
    [...args, '--from', String(from), '--seeds', String(count)],
    // The whole run is recorded, not its shares.
    { stdio: 'inherit', env: { ...process.env, GANNET_RECORD: '' } },
  );
  return new Promise((resolve) => child.on('close', (status) => resolve(status ?? 1)));
}

async function main(): Promise<number> {
  if (values.seed !== undefined) return replay(Number(values.seed));
  const [from, count, jobs] = [Number(values.from), Number(values.seeds), Number(values.jobs)];
  const status = await runShares(from, count, jobs);
  if (status === 0) recordRun('simulation', count, `${from} to ${from + count - 1}`);
  return status;
}

async function runShares(from: number, count: number, jobs: number): Promise<number> {
  if (jobs <= 1 || count < 1000) return runAll(from, count);
  const share = Math.ceil(count / jobs);
  const statuses = await Promise.all(
    Array.from({ length: jobs }, (_, n) =>
      job(from + n * share, Math.min(share, count - n * share)),
    ),
  );
  return Math.max(...statuses);
}

process.exitCode = await main();

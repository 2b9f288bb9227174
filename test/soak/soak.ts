/**
 * A server under a mixed load for a long time, killed now and then, compared with a model all
 * along. At the end: does its memory grow, do its searches become slower?
 *
 *   node --import=tsx test/soak/soak.ts [--minutes 30] [--lives N] [--seed N] [--port N] [--dir
 * FOLDER]
 *
 * Memory and times are fitted over the lives of the server: a life ends with a kill, and a new
 * process begins with little memory. The exit status is 0 when nothing differs; growth is printed,
 * not judged.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { diskMb, privateMb } from '../../perf/process-stats.ts';
import { percentiles } from '../../perf/statistics.ts';
import { KillRun } from '../http/kill/support/kills.ts';
import { freePort } from '../support/free-port.ts';
import { recordRun } from '../support/record-run.ts';
import { newSeed } from '../http/kill/support/random.ts';
import { INDEXES, WORDS } from '../http/kill/support/workload.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    /** Lives of equal length; each but the last ends with a kill. */
    lives: { type: 'string', default: '3' },
    seed: { type: 'string' },
    /** Default: a free one. */
    port: { type: 'string' },
    dir: { type: 'string' },
  },
});

/** Load between two comparisons, milliseconds. */
const ROUND_MS = 8000;
/** Share of a life that is left out of the fit: heaps and caches find their size. */
const WARM_UP = 0.25;
const TIMED_SEARCHES = 150;

interface Sample {
  /** Age of the server, in hours. */
  hours: number;
  privateMb: number;
  p99Ms: number;
}

async function main(): Promise<void> {
  const seed = values.seed === undefined ? newSeed() : Number(values.seed);
  const dir = values.dir ?? mkdtempSync(join(tmpdir(), 'gannet-soak-'));
  const lives = Number(values.lives);
  const lifeMs = (Number(values.minutes) * 60_000) / lives;
  console.log(`seed ${seed}, folder ${dir}, ${lives} lives of ${(lifeMs / 60_000).toFixed(1)} min`);
  const port = values.port === undefined ? await freePort() : Number(values.port);
  const run = new KillRun(dir, port, seed);
  const samples: Sample[][] = [];
  try {
    await run.open();
    for (let life = 0; life < lives; life++) {
      samples.push(await live(run, dir, lifeMs));
      if (life + 1 < lives) {
        await run.life();
        console.log(`killed: ${run.summary()}`);
      }
    }
    await run.close();
  } catch (error) {
    await run.abandon();
    throw new Error(`seed ${seed}, folder ${dir}`, { cause: error });
  }
  report(samples);
  recordRun('soak', Number(values.minutes), seed);
  if (values.dir === undefined) rmSync(dir, { recursive: true });
}

/** Rounds of load, each followed by a comparison and by timed searches while nothing else runs. */
async function live(run: KillRun, dir: string, lifeMs: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const start = performance.now();
  while (performance.now() - start < lifeMs) {
    await run.load(Math.min(ROUND_MS, lifeMs), 'wait');
    await run.settleAndCompare();
    const p99Ms = await timeSearches(run);
    const memory = privateMb(run.server.pid);
    const disk = diskMb(dir).toFixed(1);
    console.log(
      `${((performance.now() - start) / 60_000).toFixed(1)} min: ${memory.toFixed(1)} MB private, ` +
        `${disk} MB on disk, search p99 ${p99Ms.toFixed(2)} ms; ${run.summary()}`,
    );
    const ms = performance.now() - start;
    if (ms > lifeMs * WARM_UP) samples.push({ hours: ms / 3_600_000, privateMb: memory, p99Ms });
  }
  return samples;
}

async function timeSearches({ client }: KillRun): Promise<number> {
  const ms: number[] = [];
  for (let n = 0; n < TIMED_SEARCHES; n++) {
    const index = INDEXES[n % INDEXES.length]!;
    const q = WORDS[(n * 7) % WORDS.length]!.slice(0, 2 + (n % 5));
    const start = performance.now();
    const { status } = await client.call('POST', `/indexes/${index}/search`, { body: { q } });
    // An index that does not exist is answered at once, which would make the times look good.
    if (status === 200) ms.push(performance.now() - start);
  }
  return ms.length === 0 ? 0 : percentiles(ms).p99Ms;
}

function report(lives: readonly Sample[][]): void {
  lives.forEach((samples, n) => {
    if (samples.length < 3) {
      console.log(`life ${n + 1}: too short to tell of growth`);
      return;
    }
    const memory = slope(samples, ({ privateMb: mb }) => mb);
    const third = Math.floor(samples.length / 3) || 1;
    const first = median(samples.slice(0, third).map(({ p99Ms }) => p99Ms));
    const last = median(samples.slice(-third).map(({ p99Ms }) => p99Ms));
    console.log(
      `life ${n + 1}: memory ${memory >= 0 ? '+' : ''}${memory.toFixed(1)} MB/h, search p99 ` +
        `${first.toFixed(2)} ms in the first third, ${last.toFixed(2)} ms in the last (x ${(last / first).toFixed(2)})`,
    );
  });
}

/** The slope of the least squares line, per hour. */
function slope(samples: readonly Sample[], value: (sample: Sample) => number): number {
  const mean = (list: readonly number[]): number =>
    list.reduce((sum, one) => sum + one, 0) / list.length;
  const x = samples.map(({ hours }) => hours);
  const y = samples.map(value);
  const [meanX, meanY] = [mean(x), mean(y)];
  const covariance = x.reduce((sum, one, n) => sum + (one - meanX) * (y[n]! - meanY), 0);
  return covariance / x.reduce((sum, one) => sum + (one - meanX) ** 2, 0);
}

function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!;
}

await main();

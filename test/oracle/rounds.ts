/**
 * Many rounds, each a random collection with many random searches, until enough hits are compared.
 */
import assert from 'node:assert/strict';
import { Random } from '../http/kill/support/random.ts';
import { Pair } from './compare.ts';
import { Generator, type Focus, type Size } from './generate.ts';
import { describeCase, shrink } from './shrink.ts';

export interface RunOptions {
  seed: number;
  /** Minimum number of hits to compare. */
  comparisons: number;
  /** Only this round, or null for all. */
  round: number | null;
  /** Only rounds of this size, or null for both. */
  size: Size | null;
  focus?: Focus | null;
  keepGoing: boolean;
  /** Whether differing cases are made small before they are shown. */
  shrinks: boolean;
  log: (line: string) => void;
}

export interface RunReport {
  comparisons: number;
  searches: number;
  rounds: number;
  /** Small cases, as text. */
  failures: string[];
}

const SEARCHES: Readonly<Record<Size, number>> = { small: 100, large: 60 };
/** One round in this many is large. */
const LARGE_EVERY = 8;
const REPORT_EVERY_MS = 30_000;
const FAILURES_MAX = 20;

export async function runRounds(options: RunOptions): Promise<RunReport> {
  const { seed, log } = options;
  const report: RunReport = { comparisons: 0, searches: 0, rounds: 0, failures: [] };
  let reported = Date.now();
  for (let round = options.round ?? 0; report.comparisons < options.comparisons; round++) {
    await runRound(round, options, report);
    if (report.failures.length >= (options.keepGoing ? FAILURES_MAX : 1)) break;
    if (options.round !== null) break;
    if (Date.now() - reported > REPORT_EVERY_MS) {
      log(`  ${report.comparisons} comparisons, ${report.rounds} rounds`);
      reported = Date.now();
    }
  }
  log(
    `seed ${seed}: ${report.comparisons} comparisons in ${report.searches} searches over ${report.rounds} ` +
      `collections, ${report.failures.length} differences`,
  );
  return report;
}

async function runRound(round: number, options: RunOptions, report: RunReport): Promise<void> {
  const random = new Random(options.seed * 7919 + round);
  const size = options.size ?? (round % LARGE_EVERY === LARGE_EVERY - 1 ? 'large' : 'small');
  const generator = new Generator(random, size, options.focus);
  const { collection } = generator;
  const pair = await Pair.of(collection);
  try {
    assert.deepEqual(await pair.engine.documents(), pair.oracle.documents);
    report.rounds++;
    for (let i = 0; i < SEARCHES[size]; i++) {
      const params = generator.search();
      const { found, hits } = await pair.compare(params);
      report.searches++;
      report.comparisons += hits;
      if (found.length === 0) continue;
      const met = { ...collection, params };
      const [small, left] = options.shrinks ? await shrink(met, found) : [met, found];
      const text = `seed ${options.seed}, round ${round}\n${describeCase(small, left)}`;
      options.log(text);
      report.failures.push(text);
      // One difference per collection: others probably have the same cause.
      return;
    }
  } finally {
    pair.close();
  }
}

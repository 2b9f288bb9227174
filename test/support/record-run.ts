/**
 * The record of long runs, from which `docs/reliability.md` is written.
 *
 * With `GANNET_RECORD=1` each campaign that found nothing appends a line to
 * `test/reliability.ndjson`. A run that finds a fault is not counted: the fault gets a line in
 * docs/internals/faults.md.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';

export const RECORD_FILE = 'test/reliability.ndjson';

/** What each campaign counts, the command that repeats it, and what it looks for. */
export const CAMPAIGNS = {
  kill: {
    counts: 'kills of a server',
    command: 'npm run test:kill -- --kills 1000',
    finds: 'an acknowledged write that is lost or done twice; damage after a kill',
  },
  damage: {
    counts: 'damaged files',
    command: 'npm run test:damage -- --changes 2000',
    finds: 'a crash, a wrong response, or damage that `verify` does not name',
  },
  simulation: {
    counts: 'simulated clusters',
    command: 'npm run test:simulation -- --seeds 1000000',
    finds: 'a broken invariant under lost messages, pauses, kills and moving leaders',
  },
  cluster: {
    counts: 'minutes of real clusters',
    command: 'npm run test:cluster -- --minutes 60',
    finds:
      'a history that is not linearizable; nodes that differ from each other or from the model',
  },
  oracle: {
    counts: 'hits compared',
    command: 'npm run oracle -- --comparisons 1000000',
    finds: 'a hit, an order or a score that the slow reference model does not give',
  },
  requests: {
    counts: 'random requests',
    command: 'npm run fuzz:http -- --minutes 30',
    finds: 'a crash, status 500, or an event loop that is held',
  },
  parsers: {
    counts: 'inputs of parsers',
    command: 'npm run fuzz -- --seconds 600',
    finds: 'a crash or undefined behaviour of a parser of the engine',
  },
  access: {
    counts: 'decisions on access',
    command: 'npm run test:access',
    finds: 'a key or token with other rights than its record says',
  },
  soak: {
    counts: 'minutes of mixed load',
    command: 'npm run test:soak',
    finds: 'a difference from the model; memory or times that grow',
  },
} as const;

export type Campaign = keyof typeof CAMPAIGNS;

export interface Recorded {
  readonly date: string;
  /** The first 12 digits; with `+` if files were changed. */
  readonly commit: string;
  readonly campaign: Campaign;
  readonly count: number;
  /** The seeds, one or a range with both ends. */
  readonly seeds?: string;
}

/** Appends a run that found nothing, if the environment asks for it. */
export function recordRun(campaign: Campaign, count: number, seeds?: string | number): void {
  if (process.env.GANNET_RECORD !== '1' || count === 0) return;
  const git = (...argv: string[]): string => execFileSync('git', argv, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', '.', `:!${RECORD_FILE}`);
  const line: Recorded = {
    date: new Date().toISOString().slice(0, 10),
    commit: git('rev-parse', '--short=12', 'HEAD') + (changed === '' ? '' : '+'),
    campaign,
    count,
    ...(seeds !== undefined && { seeds: String(seeds) }),
  };
  appendFileSync(RECORD_FILE, `${JSON.stringify(line)}\n`);
}

export function recordedRuns(): Recorded[] {
  const lines = readFileSync(RECORD_FILE, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Recorded);
}

/**
 * Predicts how many searches per second a machine serves and how long they take, for 2 to 64 cores,
 * from the CPU time of searches on one and two cores.
 *
 *   node --import=tsx perf/model.ts [--data FILE.ndjson] [--fields title,author] [--settings JSON]
 *       [--seconds 5] [--rounds 5] [--load 0.7] [--loops 1 | --cores-per-loop 4]
 *
 * It measures a server on one core, on two cores, and on two cores with two HTTP threads,
 * alternately: CPU per search with many clients, and the CPU of each search of one client for the
 * distribution. Then it simulates (`queueing.ts`) the measured machines and prints both results,
 * and larger ones.
 *
 * A search needs more CPU in the engine when there are more cores (locks, shared caches): what each
 * doubling adds is taken from the first. It also needs more in an event loop that is one of
 * several, because each wakes up for fewer searches at once; that is the same for two loops as for
 * more.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { type BuiltServer, startBuiltServer } from '../test/support/built-server.ts';
import { mulberry } from '../test/support/random.ts';
import { CpuClock } from './process-stats.ts';
import { median } from './statistics.ts';
import { capacity, type Machine, type Outcome, simulate, type Steps } from './queueing.ts';
import { bytesOf, searchBodies } from './searches.ts';
import { requestsPerSecond } from './throughput.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: 'test/demo/books.ndjson' },
    fields: { type: 'string', default: 'title,author' },
    settings: { type: 'string', default: '{}' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '32' },
    load: { type: 'string', default: '0.7' },
    loops: { type: 'string' },
    'cores-per-loop': { type: 'string', default: '4' },
    seed: { type: 'string', default: '7' },
  },
});

const SEARCHES = 1000;
const SIMULATED = 200_000;
const PREDICTED_CORES = [2, 4, 8, 16, 32, 64];
/** Engine threads of a server on this machine. */
const ENGINE_THREADS = 2;

const random = mulberry(Number(values.seed));
const documents = bytesOf(values.data);
const bodies = searchBodies(documents, values.fields.split(','), SEARCHES, random);
const clients = Number(values.connections);

interface Setup {
  cores: 1 | 2;
  loops: 1 | 2;
}

/** One core, two cores, two cores with two loops. */
const SETUPS: readonly Setup[] = [
  { cores: 1, loops: 1 },
  { cores: 2, loops: 1 },
  { cores: 2, loops: 2 },
];

interface Round {
  perSecond: number;
  p50: number;
  p99: number;
  /** CPU per search, ms. With several loops `mainMs` is not that of the loops. */
  mainMs: number;
  cpuMs: number;
  /** Cores that the server had on average: other processes use them as well. */
  coresUsed: number;
}

async function started(loops: number): Promise<BuiltServer> {
  const options = ['--http-threads', String(loops), '--http-payload-size-limit', '2GB'];
  const server = await startBuiltServer(options);
  await server.finish('PATCH', '/indexes/perf/settings', {
    text: values.settings,
    type: 'application/json',
  });
  const type = 'application/x-ndjson';
  await server.finish('POST', '/indexes/perf/documents', { text: documents.toString(), type });
  return server;
}

function pin({ pid }: BuiltServer, cores: number): void {
  const pinned = spawnSync('taskset', ['-a', '-p', '-c', cores === 1 ? '0' : '0,1', String(pid)]);
  if (pinned.status !== 0) throw new Error(String(pinned.stderr));
}

function measure(server: BuiltServer): Round {
  const cpu = new CpuClock(server.pid);
  const seconds = Number(values.seconds);
  const begin = performance.now();
  const { requests, failures, latency } = requestsPerSecond({
    port: Number(new URL(server.url).port),
    path: '/indexes/perf/search',
    ...{ bodies, connections: clients, seconds, key: server.masterKey },
  });
  if (failures > 0) throw new Error(`${failures} searches failed`);
  const { mainMs, otherMs } = cpu.lap();
  const searches = requests * seconds;
  return {
    perSecond: requests,
    ...latency,
    mainMs: mainMs / searches,
    cpuMs: (mainMs + otherMs) / searches,
    coresUsed: (mainMs + otherMs) / (performance.now() - begin),
  };
}

/** CPU of each search of one client, ms: of the event loop, and of the engine. */
async function samplesOf(server: BuiltServer): Promise<{ loop: number; engine: number }[]> {
  const cpu = new CpuClock(server.pid);
  const samples: { loop: number; engine: number }[] = [];
  for (const text of bodies) {
    cpu.lap();
    await server.call('POST', '/indexes/perf/search', { text });
    const { mainMs, otherMs } = cpu.lap();
    samples.push({ loop: mainMs, engine: otherMs });
  }
  return samples;
}

const mean = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0) / list.length;

const [single, double] = [await started(1), await started(2)];
const serverOf = ({ loops }: Setup): BuiltServer => (loops === 1 ? single : double);
const rounds: Round[][] = SETUPS.map(() => []);
let samples: { loop: number; engine: number }[];
try {
  // The first round warms up.
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const [at, setup] of SETUPS.entries()) {
      pin(serverOf(setup), setup.cores);
      const one = measure(serverOf(setup));
      if (round > 0) rounds[at]!.push(one);
    }
  }
  samples = await samplesOf(single);
} finally {
  await single.close();
  await double.close();
}

const medians = rounds.map((list) => {
  const of = (key: keyof Round): number => median(list.map((one) => one[key]));
  return {
    ...{ perSecond: of('perSecond'), p50: of('p50'), p99: of('p99') },
    ...{ mainMs: of('mainMs'), cpuMs: of('cpuMs'), coresUsed: of('coresUsed') },
  };
});
const [one, two] = medians as [Round, Round, Round];
const loopMs = one.mainMs;
const engineMs = one.cpuMs - one.mainMs;
const ratioOfPairs = (of: (round: Round) => number, a: number, b: number): number =>
  median(rounds[a]!.map((round, n) => of(rounds[b]![n]!) / of(round)));
/** What a doubling of cores, and several loops, multiply the CPU of a search by. */
const perCores = Math.max(
  1,
  ratioOfPairs(({ cpuMs, mainMs }) => cpuMs - mainMs, 0, 1),
);
const moreCpu = ratioOfPairs(({ cpuMs }) => cpuMs, 1, 2);
const severalLoops = Math.max(1, 1 + ((moreCpu - 1) * two.cpuMs) / two.mainMs);

const means = {
  loop: mean(samples.map(({ loop }) => loop)),
  engine: mean(samples.map(({ engine }) => engine)),
};

/** Draws the steps of searches on such a machine. */
function stepsFor({ cores, loops }: { cores: number; loops: number }, slowness = 1): () => Steps {
  const loopFactor = (loopMs * (loops > 1 ? severalLoops : 1) * slowness) / means.loop;
  const engineFactor = (engineMs * perCores ** Math.log2(cores) * slowness) / means.engine;
  return () => {
    const { loop, engine } = samples[Math.floor(random() * samples.length)]!;
    const half = (loop * loopFactor) / 2;
    return { receive: half, engine: engine * engineFactor, send: half };
  };
}

function meanSteps(next: () => Steps): Steps {
  const drawn = Array.from({ length: 20_000 }, next);
  const of = (key: keyof Steps): number => mean(drawn.map((steps) => steps[key]));
  return { receive: of('receive'), engine: of('engine'), send: of('send') };
}

const row = (cells: readonly (string | number)[]): void => console.log(`| ${cells.join(' | ')} |`);
const ms = (figure: number): string => figure.toFixed(2);

console.log(
  `A search takes ${loopMs.toFixed(3)} ms of CPU in the event loop and ${engineMs.toFixed(3)} ms in ` +
    `the engine (of one client: ${means.loop.toFixed(3)} and ${means.engine.toFixed(3)} ms); twice ` +
    `the cores: engine × ${perCores.toFixed(2)}; several loops: loop × ${severalLoops.toFixed(2)}.\n`,
);
row([
  'cores, loops',
  'cores had',
  'searches/s',
  'predicted',
  'p50',
  'predicted',
  'p99',
  'predicted',
]);
row(Array.from({ length: 8 }, () => '---'));
for (const [at, setup] of SETUPS.entries()) {
  const measured = medians[at]!;
  const machine: Machine = { ...setup, engineThreads: ENGINE_THREADS };
  // Other processes took the rest: everything takes longer.
  const next = stepsFor(setup, setup.cores / measured.coresUsed);
  const predicted: Outcome = simulate({
    ...{ machine, next, random, searches: SIMULATED },
    arrivals: { kind: 'closed', clients },
  });
  row([
    `${setup.cores}, ${setup.loops}`,
    measured.coresUsed.toFixed(2),
    ...[Math.round(measured.perSecond), Math.round(predicted.perSecond)],
    ...[ms(measured.p50), ms(predicted.p50), ms(measured.p99), ms(predicted.p99)],
  ]);
}

const load = Number(values.load);
console.log(`\nPredicted; times at ${load * 100} % of the most searches:\n`);
row(['cores', 'loops', 'most searches/s', 'limit', 'p50', 'p99']);
row(Array.from({ length: 6 }, () => '---'));
for (const cores of PREDICTED_CORES) {
  const perLoop = Number(values['cores-per-loop']);
  const choices = [1, Number(values.loops ?? Math.max(1, Math.floor(cores / perLoop)))];
  for (const loops of new Set(choices)) {
    const machine: Machine = { cores, loops, engineThreads: cores };
    const next = stepsFor(machine);
    const { perSecond, limit } = capacity(machine, meanSteps(next));
    const { p50, p99 } = simulate({
      ...{ machine, next, random, searches: SIMULATED },
      arrivals: { kind: 'open', perSecond: load * perSecond },
    });
    row([cores, loops, Math.round(perSecond), limit, ms(p50), ms(p99)]);
  }
}

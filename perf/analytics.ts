/**
 * What recording searches costs a search: two servers over the same documents, one of which records, are asked the same
 * queries by turns, and the CPU time that the kernel counts for each is compared block by block.
 *
 *   node --import=tsx perf/analytics.ts [--data FILE.ndjson] [--fields title,author] [--pairs 400] [--searches 250] [--control]
 *
 * Half of the pairs are of servers started in the other order. The mean of the logarithms of the ratios, without the
 * tenth at either end, counts.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { type BuiltServer, startBuiltServer } from '../test/support/built-server.ts';
import { mulberry } from '../test/support/random.ts';
import { CpuClock } from './process-stats.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: 'test/demo/books.ndjson' },
    fields: { type: 'string', default: 'title,author' },
    pairs: { type: 'string', default: '400' },
    searches: { type: 'string', default: '250' },
    seed: { type: 'string', default: '7' },
    // Neither side records: what the comparison itself is worth.
    control: { type: 'boolean', default: false },
  },
});
const USERS = 500;
const AT_ONCE = 4;

const file = readFileSync(values.data);
const documents = (values.data.endsWith('.gz') ? gunzipSync(file) : file).toString();
const random = mulberry(Number(values.seed));
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;

function queries(): string[] {
  const fields = values.fields.split(',');
  const lines = documents.trimEnd().split('\n');
  return Array.from({ length: 2000 }, () => {
    const document = JSON.parse(pick(lines)) as Record<string, unknown>;
    const words = String(document[pick(fields)] ?? '').split(/\s+/);
    const from = Math.floor(random() * words.length);
    return words.slice(from, from + 2).join(' ');
  });
}

/** Milliseconds of CPU time for a block of searches. */
async function block(
  side: Side,
  bodies: readonly { body: string; user: string }[],
): Promise<number> {
  side.cpu.lap();
  let next = 0;
  const ask = async (): Promise<void> => {
    while (next < bodies.length) await search(side, bodies[next++]!);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  const { mainMs, otherMs } = side.cpu.lap();
  return mainMs + otherMs;
}

interface Side {
  server: BuiltServer;
  agent: Agent;
  cpu: CpuClock;
}

function search(
  { server, agent }: Side,
  { body, user }: { body: string; user: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      authorization: `Bearer ${server.masterKey}`,
      'x-svc-user-id': user,
    };
    const url = `${server.url}/indexes/perf/search`;
    const sent = request(url, { method: 'POST', headers, agent }, (answer) => {
      answer.resume();
      answer.on('end', () =>
        answer.statusCode === 200 ? resolve() : reject(new Error(`status ${answer.statusCode}`)),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function start(options: readonly string[]): Promise<Side> {
  const server = await startBuiltServer(options);
  const type = 'application/x-ndjson';
  await server.finish('POST', '/indexes/perf/documents', { text: documents, type });
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  return { server, agent, cpu: new CpuClock(server.pid) };
}

interface Outcome {
  /** Logarithms of the time with recording over that without, a pair each. */
  ratios: number[];
  plainMs: number;
  recordingMs: number;
}

/** Compares two fresh servers; the one that is started first has an advantage. */
async function compare(recordsFirst: boolean): Promise<Outcome> {
  const recorded = values.control ? [] : ['--analytics-retention-days', '30'];
  const sides: Side[] = [];
  try {
    for (const options of recordsFirst ? [recorded, []] : [[], recorded]) {
      sides.push(await start(options));
    }
    const [recording, plain] = (recordsFirst ? sides : sides.toReversed()) as [Side, Side];
    for (const side of sides) await block(side, bodies(3000));
    const outcome: Outcome = { ratios: [], plainMs: 0, recordingMs: 0 };
    for (let pair = 0; pair < pairs / 2; pair++) {
      const same = bodies(searches);
      const times = new Map<Side, number>();
      for (const side of pair % 2 === 0 ? sides : sides.toReversed()) {
        times.set(side, await block(side, same));
      }
      outcome.plainMs += times.get(plain)!;
      outcome.recordingMs += times.get(recording)!;
      outcome.ratios.push(Math.log(times.get(recording)! / times.get(plain)!));
    }
    return outcome;
  } finally {
    for (const side of sides) {
      side.agent.destroy();
      await side.server.close();
    }
  }
}

const pairs = Number(values.pairs);
const searches = Number(values.searches);
const asked = queries();

function bodies(count: number): { body: string; user: string }[] {
  return Array.from({ length: count }, () => ({
    body: JSON.stringify({ q: pick(asked) }),
    user: `user ${Math.floor(random() * USERS)}`,
  }));
}

const outcomes = [await compare(false), await compare(true)];
const ratios = outcomes.flatMap((outcome) => outcome.ratios).toSorted((a, b) => a - b);
const tenth = Math.floor(ratios.length / 10);
const middle = ratios.slice(tenth, ratios.length - tenth);
const mean = middle.reduce((sum, ratio) => sum + ratio, 0) / middle.length;
const spread = Math.sqrt(
  middle.reduce((sum, ratio) => sum + (ratio - mean) ** 2, 0) / middle.length ** 2,
);
const more = (logarithm: number): string => `${(Math.expm1(logarithm) * 100).toFixed(2)} %`;
const at = (share: number): string => more(ratios[Math.floor(share * (ratios.length - 1))]!);
const each = (time: (outcome: Outcome) => number): string => {
  const ms = outcomes.reduce((sum, outcome) => sum + time(outcome), 0);
  return `${((ms * 1000) / (ratios.length * searches)).toFixed(1)} us`;
};
process.stdout.write(
  `CPU of a search: ${each(({ plainMs }) => plainMs)} without recording, ${each(({ recordingMs }) => recordingMs)} with it\n` +
    `by pairs: mean ${more(mean)} more (standard error ${(spread * 100).toFixed(2)} %), median ${at(0.5)}, ` +
    `quartiles ${at(0.25)} and ${at(0.75)} (${ratios.length} pairs of ${searches} searches)\n`,
);

/**
 * What recording searches costs a search: two servers over the same documents, one of which records, are asked the same
 * queries by turns, and the CPU time that the kernel counts for each is compared block by block.
 *
 *   node --import=tsx perf/analytics.ts [--data FILE.ndjson] [--fields title,author] [--pairs 3000] [--searches 25] [--control]
 *
 * Blocks are short, so that both of a pair meet the same machine; the mean without the tenth at either end counts.
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
    pairs: { type: 'string', default: '3000' },
    searches: { type: 'string', default: '25' },
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

const plain = await start([]);
const recording = await start(values.control ? [] : ['--analytics-retention-days', '30']);
try {
  const asked = queries();
  const bodies = (): { body: string; user: string }[] =>
    Array.from({ length: Number(values.searches) }, () => ({
      body: JSON.stringify({ q: pick(asked) }),
      user: `user ${Math.floor(random() * USERS)}`,
    }));
  const warmUp = Array.from({ length: 3000 }, () => bodies()[0]!);
  for (const side of [plain, recording]) await block(side, warmUp);
  const ratios: number[] = [];
  let plainMs = 0;
  let recordingMs = 0;
  for (let pair = 0; pair < Number(values.pairs); pair++) {
    const same = bodies();
    const order = pair % 2 === 0 ? [plain, recording] : [recording, plain];
    const times = new Map<Side, number>();
    for (const side of order) times.set(side, await block(side, same));
    plainMs += times.get(plain)!;
    recordingMs += times.get(recording)!;
    ratios.push(times.get(recording)! / times.get(plain)!);
  }
  ratios.sort((a, b) => a - b);
  const tenth = Math.floor(ratios.length / 10);
  const middle = ratios.slice(tenth, ratios.length - tenth);
  const mean = middle.reduce((sum, ratio) => sum + ratio, 0) / middle.length;
  const spread = Math.sqrt(
    middle.reduce((sum, ratio) => sum + (ratio - mean) ** 2, 0) / middle.length ** 2,
  );
  const at = (share: number): string =>
    `${((ratios[Math.floor(share * (ratios.length - 1))]! - 1) * 100).toFixed(2)} %`;
  const each = (ms: number): string =>
    `${((ms * 1000) / (Number(values.pairs) * Number(values.searches))).toFixed(1)} us`;
  process.stdout.write(
    `CPU of a search: ${each(plainMs)} without recording, ${each(recordingMs)} with it\n` +
      `by pairs: mean ${((mean - 1) * 100).toFixed(2)} % more (standard error ${(spread * 100).toFixed(2)} %), median ${at(0.5)} more, quartiles ${at(0.25)} and ${at(0.75)} (${ratios.length} pairs)\n`,
  );
} finally {
  await plain.server.close();
  await recording.server.close();
}

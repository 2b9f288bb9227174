/**
 * Measures what recording searches costs a search. A server that records gets the same queries
 * alternately without and with the header `Meili-Proxy-Search`. Other servers of a network send
 * this header, and searches that have it are not recorded. Compares the CPU time that the kernel
 * counts for the process, block by block.
 *
 *   node --import=tsx perf/analytics.ts [--data FILE.ndjson] [--fields title,author]
 *       [--pairs 400] [--searches 250] [--control]
 *
 * The result is the mean of the logarithms of the ratios, without the tenth at either end.
 */
import { Agent, request } from 'node:http';
import { parseArgs } from 'node:util';
import { type BuiltServer, startBuiltServer } from '../test/support/built-server.ts';
import { mulberry } from '../test/support/random.ts';
import { CpuClock } from './process-stats.ts';
import { bytesOf } from './searches.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: 'test/demo/books.ndjson' },
    fields: { type: 'string', default: 'title,author' },
    pairs: { type: 'string', default: '400' },
    searches: { type: 'string', default: '250' },
    seed: { type: 'string', default: '7' },
    // Neither side records, which shows the error of the comparison itself.
    control: { type: 'boolean', default: false },
  },
});
const USERS = 500;
const AT_ONCE = 4;

const documents = bytesOf(values.data).toString();
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

interface Search {
  body: string;
  user: string;
}

interface Asked {
  server: BuiltServer;
  agent: Agent;
  cpu: CpuClock;
}

/** Milliseconds of CPU time for a block of searches. */
async function block(
  asked: Asked,
  searches: readonly Search[],
  recorded: boolean,
): Promise<number> {
  asked.cpu.lap();
  let next = 0;
  const ask = async (): Promise<void> => {
    while (next < searches.length) await search(asked, searches[next++]!, recorded);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  const { mainMs, otherMs } = asked.cpu.lap();
  return mainMs + otherMs;
}

function search(
  { server, agent }: Asked,
  { body, user }: Search,
  recorded: boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      authorization: `Bearer ${server.masterKey}`,
      'x-svc-user-id': user,
      // As long as the other header, so that reading it takes the same time.
      [recorded ? 'meili-other-search' : 'meili-proxy-search']: 'true',
    };
    const url = `${server.url}/indexes/perf/search`;
    const sent = request(url, { method: 'POST', headers, agent }, (response) => {
      response.resume();
      response.on('end', () =>
        response.statusCode === 200
          ? resolve()
          : reject(new Error(`status ${response.statusCode}`)),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const pairs = Number(values.pairs);
const searches = Number(values.searches);
const asked = queries();

function bodies(count: number): Search[] {
  return Array.from({ length: count }, () => ({
    body: JSON.stringify({ q: pick(asked) }),
    user: `user ${Math.floor(random() * USERS)}`,
  }));
}

const server = await startBuiltServer(['--analytics-retention-days', '30']);
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
const ratios: number[] = [];
let plainMs = 0;
let recordingMs = 0;
try {
  const type = 'application/x-ndjson';
  await server.finish('POST', '/indexes/perf/documents', { text: documents, type });
  const one: Asked = { server, agent, cpu: new CpuClock(server.pid) };
  await block(one, bodies(5000), true);
  for (let pair = 0; pair < pairs; pair++) {
    const same = bodies(searches);
    const times = { plain: 0, recording: 0 };
    const order = ['plain', 'recording'] as const;
    for (const side of pair % 2 === 0 ? order : order.toReversed()) {
      times[side] = await block(one, same, side === 'recording' && !values.control);
    }
    plainMs += times.plain;
    recordingMs += times.recording;
    ratios.push(Math.log(times.recording / times.plain));
  }
} finally {
  agent.destroy();
  await server.close();
}
ratios.sort((a, b) => a - b);
const tenth = Math.floor(ratios.length / 10);
const middle = ratios.slice(tenth, ratios.length - tenth);
const mean = middle.reduce((sum, ratio) => sum + ratio, 0) / middle.length;
const spread = Math.sqrt(
  middle.reduce((sum, ratio) => sum + (ratio - mean) ** 2, 0) / middle.length ** 2,
);
const more = (logarithm: number): string => `${(Math.expm1(logarithm) * 100).toFixed(2)} %`;
const at = (share: number): string => more(ratios[Math.floor(share * (ratios.length - 1))]!);
const each = (ms: number): string => `${((ms * 1000) / (pairs * searches)).toFixed(1)} us`;
process.stdout.write(
  `CPU of a search: ${each(plainMs)} without recording, ${each(recordingMs)} with it\n` +
    `by pairs: mean ${more(mean)} more (standard error ${(spread * 100).toFixed(2)} %), median ${at(0.5)}, ` +
    `quartiles ${at(0.25)} and ${at(0.75)} (${ratios.length} pairs of ${searches} searches)\n`,
);

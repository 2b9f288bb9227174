/**
 * Measures the cost of open chat streams: private memory per stream, the delay of a provider's
 * chunk until it reaches the client, and CPU per chunk.
 *
 *     node --import=tsx perf/chat-streams.ts [--streams 500] [--rounds 20]
 *
 * Starts the built server (dist/main.cjs) and a provider on loopback, which holds all streams open
 * at once.
 */
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startBuiltServer } from '../test/support/built-server.ts';
import { cpuSeconds, privateMb } from './process-stats.ts';
import { percentiles } from './statistics.ts';

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '20' },
  },
});
const streams = Number(values.streams);
const rounds = Number(values.rounds);
/** Time for the server's garbage collector, ms. */
const SETTLE_MS = 3000;

/** Open responses of the provider. */
const open = new Set<ServerResponse>();
const provider = createServer((incoming, response) => {
  incoming.resume();
  incoming.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk('begin'));
    open.add(response);
    response.on('close', () => open.delete(response));
  });
});

function chunk(content: string, finishReason: string | null = null): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: finishReason }];
  const fields = { id: 'chunk', object: 'chat.completion.chunk', created: 1, model: 'm' };
  return `data: ${JSON.stringify({ ...fields, choices })}\n\n`;
}

await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
const server = await startBuiltServer();
await server.call('PATCH', '/experimental-features', { body: { chatCompletions: true } });
const settings = { filterableAttributes: ['kind'] };
await server.finish('PATCH', '/indexes/books/settings', { body: settings });
await server.finish('POST', '/indexes/books/documents', {
  body: Array.from({ length: 1000 }, (_, id) => ({ id, title: `Book ${id}`, kind: `k${id % 7}` })),
});
await server.call('PATCH', '/chats/c/settings', {
  body: {
    source: 'vLlm',
    baseUrl: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`,
  },
});

const agent = new Agent({ maxSockets: Infinity });
const body = JSON.stringify({
  model: 'm',
  stream: true,
  messages: [{ role: 'user', content: 'Which books?' }],
});
/** Resolves to the status of the response when it ends. */
function converse(onText: (text: string) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${server.url}/chats/c/chat/completions`,
      {
        ...{ method: 'POST', agent },
        headers: {
          authorization: `Bearer ${server.masterKey}`,
          'content-type': 'application/json',
        },
      },
      (response) => {
        response.on('data', (part: Buffer) => onText(part.toString()));
        response.on('end', () => resolve(response.statusCode!));
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

async function endAll(ended: Promise<number>[]): Promise<void> {
  for (const response of open) response.end(`${chunk('', 'stop')}data: [DONE]\n\n`);
  const statuses = await Promise.all(ended);
  if (!statuses.every((status) => status === 200)) throw new Error(`statuses ${statuses.join()}`);
}

async function hold(count: number, onText: (text: string) => void): Promise<Promise<number>[]> {
  const ended = Array.from({ length: count }, () => converse(onText));
  while (open.size < count) await sleep(10);
  return ended;
}

try {
  // The first conversations load code and data that stay in memory.
  for (let n = 0; n < 3; n++) await endAll(await hold(50, () => {}));
  await sleep(SETTLE_MS);
  const before = privateMb(server.pid);

  const late: number[] = [];
  let heard = 0;
  const ended = await hold(streams, (text) => {
    for (const [, at] of text.matchAll(/"at (\d+)"/g)) {
      late.push(Date.now() - Number(at));
      heard++;
    }
  });
  await sleep(SETTLE_MS);
  const idle = privateMb(server.pid);
  const refused = await converse(() => {});

  const cpuBefore = cpuSeconds(server.pid);
  for (let round = 1; round <= rounds; round++) {
    for (const response of open) response.write(chunk(`at ${Date.now()}`));
    while (heard < round * streams) await sleep(1);
  }
  const cpu = cpuSeconds(server.pid) - cpuBefore;
  await sleep(SETTLE_MS);
  const busy = privateMb(server.pid);
  await endAll(ended);

  const { p50Ms, p99Ms } = percentiles(late);
  const perStream = (mb: number): string => `${(((mb - before) * 1000) / streams).toFixed(1)} kB`;
  console.log(`${streams} streams open: ${perStream(idle)} each beyond ${before.toFixed(0)} MB`);
  console.log(`after ${rounds} chunks in each: ${perStream(busy)} each`);
  console.log(`one more is answered with ${refused}`);
  console.log(`a chunk to all of them: p50 ${p50Ms} ms, p99 ${p99Ms} ms from provider to client`);
  console.log(`CPU of a chunk: ${((cpu * 1e6) / (rounds * streams)).toFixed(0)} us`);
} finally {
  await server.close();
  provider.closeAllConnections();
  provider.close();
  agent.destroy();
}

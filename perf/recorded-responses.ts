/**
 * Replays the recorded responses of another server to the same queries. What a client measures
 * against this is the cost of the client and the machine, without any search. With `--busy`, each
 * response first uses the processor for that many microseconds, which simulates a server whose
 * every search takes the same time. Asks for the same scheduling priority as the server does, or it
 * would be measured waiting for the client.
 *
 *   node --import=tsx perf/recorded-responses.ts --server http://127.0.0.1:7700 --index bench
 *       --queries q.ndjson [--busy 150]
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadAddon } from '../src/engine/addon.ts';
import { loadSocketLibrary } from '../src/http/socket-library.ts';

const { values } = parseArgs({
  options: {
    server: { type: 'string', default: 'http://127.0.0.1:7700' },
    key: { type: 'string' },
    index: { type: 'string', default: 'bench' },
    queries: { type: 'string' },
    limit: { type: 'string', default: '20' },
    port: { type: 'string', default: '7898' },
    busy: { type: 'string', default: '0' },
  },
});

/** Responses by query text, requested one after the other. */
async function record(texts: readonly string[]): Promise<Map<string, Buffer>> {
  const responses = new Map<string, Buffer>();
  const headers = {
    'content-type': 'application/json',
    ...(values.key !== undefined && { authorization: `Bearer ${values.key}` }),
  };
  for (const q of texts) {
    const body = JSON.stringify({ q, limit: Number(values.limit) });
    const url = `${values.server}/indexes/${values.index}/search`;
    const response = await fetch(url, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(`${response.status} for ${JSON.stringify(q)}`);
    responses.set(q, Buffer.from(await response.arrayBuffer()));
  }
  return responses;
}

function serve(responses: Map<string, Buffer>): void {
  const library = loadSocketLibrary();
  if (library === null) throw new Error('the socket library is not there for this version of Node');
  const app = library.App().any('/*', (res) => {
    let body = '';
    res.onAborted(() => undefined);
    res.onData((chunk, last) => {
      body += Buffer.from(chunk).toString();
      if (!last) return;
      const { q } = JSON.parse(body) as { q: string };
      const recorded = responses.get(q);
      const until = performance.now() + Number(values.busy) / 1000;
      while (performance.now() < until);
      res.cork(() => {
        if (recorded === undefined) res.writeStatus('404 Not Found').end();
        else res.writeHeader('content-type', 'application/json').end(recorded);
      });
    });
  });
  app.listen('127.0.0.1', Number(values.port), library.LIBUS_LISTEN_EXCLUSIVE_PORT, (token) => {
    if (token === false) throw new Error(`port ${values.port} cannot be listened on`);
    console.log(`${responses.size} recorded responses at http://127.0.0.1:${values.port}`);
  });
}

loadAddon().configure({ searchThreads: 1, indexingThreads: 1, indexingMemoryBytes: 64 << 20 });
if (values.queries === undefined) throw new Error('--queries FILE is missing: NDJSON with `q`');
const lines = readFileSync(values.queries, 'utf8').trim().split('\n');
serve(await record(lines.map((line) => (JSON.parse(line) as { q: string }).q)));

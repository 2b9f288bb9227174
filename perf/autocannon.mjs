/**
 * Runs autocannon with the load in the file named first and prints the outcome as JSON. See
 * throughput.ts.
 */
import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';

const { port, path, headers, bodies, connections, seconds } = JSON.parse(
  readFileSync(process.argv[2], 'utf8'),
);
const result = await autocannon({
  url: `http://127.0.0.1:${port}`,
  connections,
  duration: seconds,
  requests: bodies.map((body) => ({
    method: 'POST',
    path,
    headers,
    body,
  })),
});
const failures = result.non2xx + result.errors + result.timeouts;
const { p50, p99 } = result.latency;
console.log(JSON.stringify({ requests: result.requests.average, failures, latency: { p50, p99 } }));

/**
 * Sends GET /health continuously and records the longest wait, on a thread of its own so that
 * nothing else delays it.
 */
import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const { url, waits } = workerData as { url: string; waits: SharedArrayBuffer };
/** Longest wait in microseconds since it was last read. */
const longest = new Int32Array(waits);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function ask(): Promise<void> {
  return new Promise((resolve) => {
    const asked = request(`${url}/health`, { agent }, (response) => {
      response.resume();
      response.on('end', resolve);
    });
    asked.on('error', () => resolve());
    asked.end();
  });
}

async function probe(): Promise<void> {
  for (;;) {
    const since = performance.now();
    await ask();
    const waited = Math.round((performance.now() - since) * 1000);
    if (waited > Atomics.load(longest, 0)) Atomics.store(longest, 0, waited);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread of Node
parentPort?.postMessage('ready');
void probe();

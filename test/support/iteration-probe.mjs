/**
 * Loaded into a server under test (`--import`): records the CPU time of its JavaScript thread per
 * iteration of the event loop. A timer that is due in each iteration reads the CPU time of the
 * thread, so that other processes do not count. The file GANNET_ITERATIONS gets a line per longer
 * iteration: its CPU milliseconds.
 */
import { openSync, readSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const NOTED_MS_MIN = 3;

const path = process.env.GANNET_ITERATIONS;
if (isMainThread && path !== undefined) {
  const clock = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const iterations = openSync(path, 'a');
  const text = Buffer.alloc(128);
  /** CPU time of this thread since its start. */
  const cpuMs = () => {
    const length = readSync(clock, text, 0, text.length, 0);
    return Number.parseInt(text.toString('latin1', 0, length), 10) / 1e6;
  };
  let last = cpuMs();
  setInterval(() => {
    const now = cpuMs();
    if (now - last >= NOTED_MS_MIN) writeSync(iterations, `${(now - last).toFixed(1)}\n`);
    last = now;
  }, 1).unref();
}

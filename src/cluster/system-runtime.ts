import { connect } from 'node:net';
import type { Runtime } from './runtime.ts';

const PROBE_MS = 1000;

/** The runtime of the machine that the process runs on. */
export function systemRuntime(log: (message: string) => void): Runtime {
  return {
    now: () => Date.now(),
    elapsed: () => performance.now(),
    random: () => Math.random(),
    log,
    probe,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        const timer = setTimeout(wake, ms);
        if (signal.aborted) wake();
        else signal.addEventListener('abort', wake, { once: true });
      }),
  };
}

/**
 * Connects without sending anything. A machine refuses a connection to a port that no process
 * listens on.
 */
function probe(url: string): Promise<'alive' | 'dead' | 'unknown'> {
  const { hostname, port, protocol } = new URL(url);
  const socket = connect({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
    timeout: PROBE_MS,
  });
  return new Promise((resolve) => {
    const end = (found: 'alive' | 'dead' | 'unknown'): void => {
      socket.destroy();
      resolve(found);
    };
    socket.once('connect', () => end('alive'));
    socket.once('timeout', () => end('unknown'));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      end(error.code === 'ECONNREFUSED' ? 'dead' : 'unknown');
    });
  });
}

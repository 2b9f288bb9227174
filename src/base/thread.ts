import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * Starts the thread whose file lies beside the program, or its source when that is run from sources.
 * @param from `import.meta.url` of the caller
 * @param bundled of the program, relative to it
 * @param source relative to the caller
 */
export function startThread(
  from: string,
  bundled: string,
  source: string,
  options: WorkerOptions = {},
): Worker {
  if (!from.endsWith('.ts')) return new Worker(new URL(bundled, from), options);
  const entry = JSON.stringify(new URL(source, from).href);
  const script = `import('tsx/esm/api').then(({ register }) => (register(), import(${entry})));`;
  return new Worker(script, { ...options, eval: true, execArgv: [] });
}

import { setImmediate as yieldToLoop } from 'node:timers/promises';

const SLICE_MS = 5;

/**
 * @returns a function that yields to other work of the thread when the time slice is used up, and
 *   returns whether it did
 */
export function pauser(): () => Promise<boolean> | false {
  let until = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < until) return false;
    return yieldToLoop(true).then((paused) => {
      until = performance.now() + SLICE_MS;
      return paused;
    });
  };
}

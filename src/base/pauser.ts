const SLICE_MS = 5;

/** What waits for its next slice. Each iteration of the event loop has one. */
const waiting: (() => void)[] = [];

function turn(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(turn);
}

/**
 * @returns a function that yields to other work of the thread when the time slice is used up, and
 *   returns whether it did
 */
export function pauser(): () => Promise<boolean> | false {
  let until = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < until) return false;
    return new Promise((resolve) => {
      waiting.push(() => {
        until = performance.now() + SLICE_MS;
        resolve(true);
      });
      if (waiting.length === 1) setImmediate(turn);
    });
  };
}

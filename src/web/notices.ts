/**
 * The outcome of the last action, which the shell shows above every view, and the event that
 * something on the server was changed.
 */
import { useEffect, useState } from 'preact/hooks';

export interface Notice {
  readonly kind: 'working' | 'done' | 'failed';
  readonly text: string;
}

let notice: Notice | null = null;
let changes = 0;
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** @param next null: nothing is shown any more */
export function notify(next: Notice | null): void {
  notice = next;
  tell();
}

/** Called after an action of the page succeeded. Lists that it may have changed load again. */
export function announceChange(): void {
  changes++;
  tell();
}

function useStore<T>(read: () => T): T {
  const [value, setValue] = useState(read);
  useEffect(() => {
    const update = (): void => setValue(read);
    listeners.add(update);
    update();
    return () => {
      listeners.delete(update);
    };
  }, []);
  return value;
}

export function useNotice(): Notice | null {
  return useStore(() => notice);
}

/** The number of changes so far. */
export function useChanges(): number {
  return useStore(() => changes);
}

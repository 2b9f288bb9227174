import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Fault } from './client.ts';

export interface Loaded<T> {
  /** The last one, also while the next is on its way. */
  readonly value: T | undefined;
  readonly error: Error | null;
  readonly loading: boolean;
  reload(): void;
}

/** How long after a server could not be reached it is asked again. */
const AWAY_MS = 1500;

/**
 * The answer to a question that is asked anew whenever `inputs` change, and while the server cannot
 * be reached. An answer that is late is dropped.
 * @param everyMs ask again after so long, while the page can be seen; 0: do not
 */
export function useLoaded<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  everyMs = 0,
): Loaded<T> {
  const [state, setState] = useState<{ value?: T; error: Error | null; loading: boolean }>({
    error: null,
    loading: true,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = (waitMs: number): void => {
      if (waitMs > 0 && !ended.signal.aborted) timer = setTimeout(run, waitMs);
    };
    const run = (): void => {
      if (document.hidden && everyMs > 0) {
        again(everyMs);
        return;
      }
      ask(ended.signal).then(
        (value) => {
          if (ended.signal.aborted) return;
          setState({ value, error: null, loading: false });
          again(everyMs);
        },
        (error: unknown) => {
          if (ended.signal.aborted) return;
          const fault = error instanceof Error ? error : new Error(String(error));
          setState((old) => ({ ...old, error: fault, loading: false }));
          const isAway = error instanceof Fault && error.status === 0;
          again(isAway ? Math.max(everyMs, AWAY_MS) : everyMs);
        },
      );
    };
    setState((old) => ({ ...old, loading: true }));
    run();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [...inputs, round, everyMs]);
  const reload = useCallback(() => setRound((old) => old + 1), []);
  return { value: state.value, error: state.error, loading: state.loading, reload };
}

export interface Action {
  readonly running: boolean;
  readonly error: Error | null;
  /** What the last run that went well had to say. */
  readonly done: string | null;
  /** @param work returns what to say when it went well */
  run(work: () => Promise<string | null>): void;
}

/** Something that is done on a click, and how it went. */
export function useAction(): Action {
  const [state, setState] = useState<Omit<Action, 'run'>>({
    running: false,
    error: null,
    done: null,
  });
  const shown = useRef(true);
  useEffect(() => {
    shown.current = true;
    return () => {
      shown.current = false;
    };
  }, []);
  const run = useCallback((work: () => Promise<string | null>): void => {
    setState({ running: true, error: null, done: null });
    work().then(
      (done) => {
        if (shown.current) setState({ running: false, error: null, done });
      },
      (error: unknown) => {
        const fault = error instanceof Error ? error : new Error(String(error));
        if (shown.current) setState({ running: false, error: fault, done: null });
      },
    );
  }, []);
  return { ...state, run };
}

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Fault } from './client.ts';
import { announceChange, notify } from './notices.ts';
import { useSession } from './session.ts';

export interface Loaded<T> {
  /**
   * The last value. It stays while the next one is loading, and while a reload fails; it goes when
   * the load for other inputs fails.
   */
  readonly value: T | undefined;
  readonly error: Error | null;
  readonly loading: boolean;
  reload(): void;
}

/** Delay before a retry when the server could not be reached. */
const AWAY_MS = 1500;

/**
 * Loads a value, and loads it again whenever `inputs` change or the server could not be reached.
 * Results of outdated loads are dropped.
 * @param everyMs reload interval while the page is visible; 0: no reloading
 */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  everyMs = 0,
): Loaded<T> {
  const [state, setState] = useState<{ value?: T; error: Error | null; loading: boolean }>({
    error: null,
    loading: true,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    let hasLoaded = false;
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
      load(ended.signal).then(
        (value) => {
          if (ended.signal.aborted) return;
          hasLoaded = true;
          setState({ value, error: null, loading: false });
          again(everyMs);
        },
        (error: unknown) => {
          if (ended.signal.aborted) return;
          const fault = error instanceof Error ? error : new Error(String(error));
          const isAway = error instanceof Fault && error.status === 0;
          // What was loaded for other inputs is no result of these.
          setState(({ value, ...old }) => ({
            ...(hasLoaded || isAway ? { ...old, value } : {}),
            error: fault,
            loading: false,
          }));
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

/**
 * What the server responds to a GET of the path.
 * @param path null: nothing is asked
 * @param inputs it is asked again when they change
 */
export function useGet<T>(
  path: string | null,
  everyMs = 0,
  inputs: readonly unknown[] = [],
): Loaded<T | undefined> {
  const { client } = useSession();
  return useLoaded(
    (signal) =>
      path === null ? Promise.resolve(undefined) : client.send<T>('GET', path, { signal }),
    [client, path, ...inputs],
    everyMs,
  );
}

export interface Action {
  readonly running: boolean;
  readonly error: Error | null;
  /** The message of the last successful run. */
  readonly done: string | null;
  /** @param work returns a message to show on success */
  run(work: () => Promise<string | null>): void;
}

/** An action started by a click, with its progress and outcome. */
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
    notify({ kind: 'working', text: 'Working …' });
    work().then(
      (done) => {
        notify(done === null ? null : { kind: 'done', text: done });
        announceChange();
        if (shown.current) setState({ running: false, error: null, done });
      },
      (error: unknown) => {
        const fault = error instanceof Error ? error : new Error(String(error));
        // The view that shows the error may be closed.
        notify(shown.current ? null : { kind: 'failed', text: fault.message });
        if (shown.current) setState({ running: false, error: fault, done: null });
      },
    );
  }, []);
  return { ...state, run };
}

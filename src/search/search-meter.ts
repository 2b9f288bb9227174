/** Counts the searches of a request towards the limits of its key. */
export interface SearchMeter {
  /** `end` must follow with the same number. */
  begin(searches: number): void;
  end(searches: number): void;
}

/** Runs searches, which count from their start to their end. */
export async function metered<T>(
  meter: SearchMeter | undefined,
  searches: number,
  run: () => Promise<T>,
): Promise<T> {
  meter?.begin(searches);
  try {
    return await run();
  } finally {
    meter?.end(searches);
  }
}

/**
 * Runs one operation of an in-memory log or object store. A test may delay, lose or repeat it, or
 * hide its outcome.
 */
export type Io = <T>(operation: string, run: () => T) => Promise<T>;

/** Runs every operation at once and without faults. */
export const reliableIo: Io = async (_, run) => run();

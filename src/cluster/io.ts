/** Runs one operation of an in-memory log or object store. A test delays it, loses it, repeats it or hides its outcome. */
export type Io = <T>(operation: string, run: () => T) => Promise<T>;

/** Every operation runs at once, and succeeds. */
export const reliableIo: Io = async (_, run) => run();

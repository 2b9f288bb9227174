import { type Blobs, bufferSource } from './blobs/blobs.ts';
import { sha256 } from './bytes.ts';
import { demandOwner, type ExpectedOwner, readOwner } from './owner.ts';
import type { Runtime } from './runtime.ts';

/** Pause after a successful check, ms. */
const CHECK_MS = 5000;
/** Pause after a failed check, ms. */
const RECHECK_MS = 1000;

export interface StoreWatchParts {
  readonly blobs: Blobs;
  readonly runtime: Runtime;
  /** Name of this node. */
  readonly node: string;
  readonly signal: AbortSignal;
  /** The owner that the store must have; null: not known yet. */
  expected(): ExpectedOwner | null;
  /** Called after each check. */
  onCheck(): void;
}

/**
 * Checks again and again whether this node can read and write the object store of its cluster. A
 * node that cannot is unable to store files of a commit, or to fetch those of others.
 */
export class StoreWatch {
  readonly #parts: StoreWatchParts;
  readonly #alive: string;
  #fault: string | null = 'The object store has not been checked yet';
  #failingSince: number | null = null;
  /** Ends the present pause. */
  #pause = new AbortController();

  constructor(parts: StoreWatchParts) {
    this.#parts = parts;
    this.#alive = `checks/${parts.node}-alive`;
    parts.signal.addEventListener('abort', () => this.#pause.abort(), { once: true });
  }

  /** Why the store cannot be used; null: it can. */
  get fault(): string | null {
    return this.#fault;
  }

  /** For how long all checks have failed, ms. */
  get failingMs(): number {
    return this.#failingSince === null ? 0 : this.#parts.runtime.elapsed() - this.#failingSince;
  }

  /** Checks the store at once, because a request to it has failed. */
  suspect(): void {
    this.#pause.abort();
  }

  async run(): Promise<void> {
    const { runtime, signal, onCheck } = this.#parts;
    while (!signal.aborted) {
      const asked = runtime.elapsed();
      const fault = await this.#check();
      if (fault !== null && fault !== this.#fault) runtime.log(`The object store: ${fault}`);
      this.#failingSince = fault === null ? null : (this.#failingSince ?? asked);
      this.#fault = fault;
      onCheck();
      this.#pause = new AbortController();
      if (signal.aborted) return;
      await runtime.sleep(fault === null ? CHECK_MS : RECHECK_MS, this.#pause.signal);
    }
  }

  /** Returns why the store cannot be used. */
  async #check(): Promise<string | null> {
    const { blobs, expected } = this.#parts;
    try {
      const wanted = expected();
      if (wanted === null) return 'It is not known which object store the cluster has';
      demandOwner(await readOwner(blobs), wanted);
      const bytes = Buffer.from(this.#alive);
      await blobs.put(this.#alive, bufferSource(bytes, sha256(bytes)));
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }
}

/**
 * Sends batches of documents and finds those that the server refuses, at once or in the task, so
 * that all others are taken: a refused batch is sent in halves.
 *
 * Sending again changes nothing for documents with ids, if their order stays the same. So the
 * batches after one whose task fails are sent again after its halves.
 */
import { documentFault, taskFault } from './bad-records.ts';
import type { Batch } from './batches.ts';
import { CommandFailure } from './command.ts';
import type { Connection } from './connection.ts';

const KEPT_BYTES = 160e6;
/** If the server takes none of this many documents, it will take none of the others. */
const REFUSED_AT_FIRST_MAX = 100;

export interface BatchSenderParts {
  readonly connection: Connection;
  /** Registers the task of a batch. */
  readonly register: (batch: Batch) => Promise<number>;
  /** Called with each batch that was given to `send`, whenever it is sent, and its last task. */
  readonly registered?: (batch: Batch, taskUid: number) => Promise<void>;
  /** Called with a batch of one document that the server refuses. */
  readonly refused: (batch: Batch, fault: string) => Promise<void>;
  /** Whether the ends of tasks matter. If not, only what is refused at once is found. */
  readonly waits: boolean;
  /** Maximum size of the batches that are kept because their tasks have not ended. */
  readonly keptBytes?: number;
}

export class BatchSender {
  readonly #parts: BatchSenderParts;
  /** Batches whose tasks may not have ended, in the order in which they were sent. */
  #open: { batch: Batch; taskUid: number }[] = [];
  /** Tasks that have taken all their documents or failed as a whole, with their lines. */
  readonly #ended = new Map<number, Batch['lines']>();
  #keptBytes: number;
  #taken = 0;
  refused = 0;

  constructor(parts: BatchSenderParts) {
    this.#parts = parts;
    this.#keptBytes = parts.keptBytes ?? KEPT_BYTES;
  }

  /** The number of documents sent without those that were refused. */
  get documents(): number {
    return this.#taken;
  }

  /** Whether as many batches are kept as may be: call `settle` before the next one is sent. */
  get isFull(): boolean {
    return this.#open.reduce((sum, { batch }) => sum + batch.bytes.length, 0) > this.#keptBytes;
  }

  async send(batch: Batch): Promise<void> {
    const outcome = await this.#register(batch);
    if (typeof outcome === 'number') {
      this.keep(batch, outcome);
      await this.#parts.registered?.(batch, outcome);
      return;
    }
    // Its halves are not kept, so nothing before them may be sent again later.
    await this.#settleAll();
    await this.#note(batch, await this.#sendParts(batch, outcome.fault));
  }

  async #note(batch: Batch, last: number | null): Promise<void> {
    if (last !== null) await this.#parts.registered?.(batch, last);
  }

  /** Adds a batch that was sent before. */
  keep(batch: Batch, taskUid: number): void {
    this.#taken += batch.documents;
    if (this.#parts.waits) this.#open.push({ batch, taskUid });
    else this.#ended.set(taskUid, batch.lines);
  }

  /** Waits for the oldest batches, until others may be sent. */
  async settle(): Promise<void> {
    while (this.isFull) await this.#settleOldest();
  }

  /** Waits for all batches. @returns the lines of all tasks, some of which may have failed */
  async end(): Promise<ReadonlyMap<number, Batch['lines']>> {
    await this.#settleAll();
    return this.#ended;
  }

  async #settleAll(): Promise<void> {
    while (this.#open.length > 0) await this.#settleOldest();
  }

  async #settleOldest(): Promise<void> {
    const { batch, taskUid } = this.#open.shift()!;
    const fault = await this.#faultOf(taskUid);
    if (fault === null) {
      this.#ended.set(taskUid, batch.lines);
      return;
    }
    this.#taken -= batch.documents;
    const later = this.#open;
    this.#open = [];
    // From now on each batch is waited for, so that none must be sent again.
    this.#keptBytes = 0;
    await this.#note(batch, await this.#sendParts(batch, fault));
    for (const { batch: one } of later) {
      this.#taken -= one.documents;
      await this.#note(one, await this.#sendWhole(one));
    }
  }

  /** Sends a batch, waits for its task, and finds what is refused. @returns as `#sendParts` */
  async #sendWhole(batch: Batch): Promise<number | null> {
    const outcome = await this.#register(batch);
    if (typeof outcome !== 'number') return this.#sendParts(batch, outcome.fault);
    const fault = this.#parts.waits ? await this.#faultOf(outcome) : null;
    if (fault !== null) return this.#sendParts(batch, fault);
    this.#taken += batch.documents;
    this.#ended.set(outcome, batch.lines);
    return outcome;
  }

  /**
   * @param fault why the whole batch was refused
   * @returns the last task; null: every document was refused
   */
  async #sendParts(batch: Batch, fault: string): Promise<number | null> {
    let last: number | null = null;
    if (batch.documents > 1) {
      for (const half of batch.halves()) last = (await this.#sendWhole(half)) ?? last;
      return last;
    }
    this.refused++;
    await this.#parts.refused(batch, fault);
    if (this.#taken === 0 && this.refused >= REFUSED_AT_FIRST_MAX) {
      throw new CommandFailure(`The server refuses all of the first ${this.refused} documents.`);
    }
    return last;
  }

  async #register(batch: Batch): Promise<number | { fault: string }> {
    try {
      return await this.#parts.register(batch);
    } catch (error) {
      const fault = documentFault(error);
      if (fault === null) throw error;
      return { fault };
    }
  }

  /** Waits for a task. @returns the fault of a document; null: none, or another one */
  async #faultOf(taskUid: number): Promise<string | null> {
    let fault: string | null = null;
    await this.#parts.connection.waitFor([taskUid], (task) => (fault = taskFault(task)));
    return fault;
  }
}

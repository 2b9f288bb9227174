import type { CancelSignal } from '../base/cancel-signal.ts';
import { cancelable } from './handle.ts';
import type { EngineResult, EngineText, HeldPage, NativeAddon, ServerResponse } from './native.ts';

/** The functions of the engine for pages. */
export type NativePages = Pick<
  NativeAddon,
  | 'reorderPage'
  | 'findReferences'
  | 'attachDocuments'
  | 'writePage'
  | 'responseOfPage'
  | 'dropPage'
  | 'cancelSearch'
>;

/** A result, or a response that is not written yet. */
export interface PagedResult extends EngineResult {
  /** Set if later steps change the response. There are no bytes then. */
  page?: Page;
}

/** The result, with its page if the engine keeps that. */
export function withPage(
  native: NativePages,
  result: EngineResult,
  signal: CancelSignal,
): PagedResult {
  const { page, pageBytes = 0 } = result.head;
  return page === undefined
    ? result
    : { ...result, page: new Page(native, page, pageBytes, signal) };
}

/** The index of other documents, and the field with their ids. */
export interface PageKey {
  foreignIndexUid: string;
  fieldName: string;
}

/** The ids of documents of one index that hits refer to. */
export interface References {
  uid: string;
  ids: string[];
  /** There are more than a page may refer to. */
  tooMany?: true;
}

/**
 * A response that the engine holds until it is written. Its memory is freed as soon as it is
 * written or dropped, or its client disconnects. Call one function at a time.
 */
export class Page {
  readonly #native: NativePages;
  readonly #signal: CancelSignal;
  #held: HeldPage | null;
  #bytes: number;

  constructor(native: NativePages, held: HeldPage, bytes: number, signal: CancelSignal) {
    this.#native = native;
    this.#signal = signal;
    this.#held = held;
    this.#bytes = bytes;
    signal.onAbort(() => this.drop());
  }

  /** The size of the response as it is now. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Orders the documents by their scores, the best first, and keeps the hits that the client asked
   * for.
   * @param scores null: they could not be made, and the response says so
   */
  async reorder(scores: readonly number[] | null): Promise<void> {
    const numbers = scores === null ? null : Float64Array.from(scores);
    this.#bytes = await this.#run((held, cancelId) =>
      this.#native.reorderPage([held], numbers, cancelId),
    );
  }

  /** @param keys for each page, by query */
  static async findReferences(
    pages: readonly Page[],
    keys: readonly (readonly (readonly PageKey[])[])[],
  ): Promise<References[]> {
    const [first] = pages;
    if (first === undefined) return [];
    const held = pages.map((page) => page.#only());
    return JSON.parse(
      await first.#run((_, cancelId) =>
        first.#native.findReferences(held, JSON.stringify(keys), cancelId),
      ),
    ) as References[];
  }

  /**
   * Puts documents in the place of their ids; an id that names none becomes `{}`.
   * @param listing response to a listing of the index
   * @param hidesKey documents are shown without their primary key
   */
  static async attach(
    pages: readonly Page[],
    uid: string,
    listing: Buffer,
    primaryKey: string,
    hidesKey: boolean,
  ): Promise<void> {
    const held = pages.map((page) => page.#only());
    const first = pages[0]!;
    await first.#run((_, cancelId) =>
      first.#native.attachDocuments(held, uid, listing, primaryKey, hidesKey, cancelId),
    );
  }

  /**
   * The bytes of the response; the page is used up.
   * @param extra JSON of members to add, each with a comma before it
   */
  async write(extra: EngineText): Promise<Buffer> {
    const { bytes } = await this.#run((held, cancelId) =>
      this.#native.writePage([held], extra, cancelId),
    );
    this.drop();
    return bytes;
  }

  /** The response of this server, to be merged with those of others; the page is used up. */
  async forMerging(): Promise<ServerResponse> {
    const response = await this.#run((held, cancelId) =>
      this.#native.responseOfPage([held], cancelId),
    );
    this.drop();
    return response;
  }

  drop(): void {
    if (this.#held !== null) this.#native.dropPage(this.#held);
    this.#held = null;
  }

  #run<T>(work: (held: HeldPage, cancelId: number) => Promise<T>): Promise<T> {
    const held = this.#only();
    return cancelable(this.#native, this.#signal, (cancelId) => work(held, cancelId));
  }

  #only(): HeldPage {
    if (this.#held === null) throw new Error('the page was written, or its client went away');
    return this.#held;
  }
}

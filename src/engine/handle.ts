import { type CancelSignal, NEVER_CANCELED } from '../base/cancel-signal.ts';
import { longApart, longTogether } from '../base/long-values.ts';
import { toApiError } from '../contract/errors.ts';
import { BatchCanceled, CANCELED, fromEngine } from './errors.ts';
import { completeStates } from './embedder-states.ts';
import type { SearchedHandle } from './searched-index.ts';
import type {
  BatchJob,
  BatchOutcome,
  BatchProgress,
  BatchStep,
  DocumentStream,
  EngineResult,
  EngineText,
  IndexState,
  ListingPart,
  NativeAddon,
} from './native.ts';

let lastCancelId = 0;

/** Starts a search of the engine, and cancels it when `signal` is canceled. */
export function cancelable<T>(
  native: Pick<NativeAddon, 'cancelSearch'>,
  signal: CancelSignal,
  start: (cancelId: number) => Promise<T>,
): Promise<T> {
  lastCancelId = (lastCancelId % 0xffff_ffff) + 1;
  const cancelId = lastCancelId;
  const result = start(cancelId);
  signal.onAbort(() => native.cancelSearch(cancelId));
  return result;
}

/**
 * One open index of the engine. Errors are `ApiError`s, or `BatchCanceled` from `applyBatch`.
 *
 * `busy` counts the calls in progress. A registry closes a handle to save memory only at 0.
 */
export class IndexHandle implements SearchedHandle {
  readonly #native: NativeAddon;
  readonly #handle: number;
  busy = 0;
  /** For the registry, milliseconds of a steady clock. */
  lastUse = 0;

  /** @param creates create the index if it does not exist */
  constructor(native: NativeAddon, dir: string, creates: boolean) {
    this.#native = native;
    try {
      this.#handle = native.openIndex(dir, creates);
    } catch (error) {
      throw fromEngine(error);
    }
  }

  /** For calls of the engine over several indexes, and for other threads. */
  get number(): number {
    return this.#handle;
  }

  hold(): number {
    this.busy++;
    return this.#handle;
  }

  release(): void {
    this.busy--;
  }

  state(): IndexState {
    return JSON.parse(this.#sync(() => this.#native.indexState(this.#handle))) as IndexState;
  }

  /**
   * The settings as stored: the complete API object and `embedderStates`; null when they were never
   * set.
   */
  settings(): Readonly<Record<string, unknown>> | null {
    const stored = this.#sync(() => this.#native.indexSettings(this.#handle));
    if (stored === null) return null;
    const rest = JSON.parse(stored.json) as Record<string, unknown>;
    return longTogether(rest, (name) => stored.long[name]!);
  }

  fields(): string[] {
    return JSON.parse(this.#sync(() => this.#native.indexFields(this.#handle))) as string[];
  }

  #cancelable<T>(signal: CancelSignal, ask: (id: number) => Promise<T>): Promise<T> {
    return this.track(cancelable(this.#native, signal, ask));
  }

  search(
    request: EngineText,
    signal: CancelSignal = NEVER_CANCELED,
    timed = false,
  ): Promise<EngineResult> {
    return this.#cancelable(signal, (id) => this.#native.search(this.#handle, request, id, timed));
  }

  facetSearch(
    request: EngineText,
    signal: CancelSignal = NEVER_CANCELED,
    timed = false,
  ): Promise<EngineResult> {
    return this.#cancelable(signal, (id) =>
      this.#native.facetSearch(this.#handle, request, id, timed),
    );
  }

  similar(
    request: EngineText,
    signal: CancelSignal = NEVER_CANCELED,
    timed = false,
  ): Promise<EngineResult> {
    return this.#cancelable(signal, (id) => this.#native.similar(this.#handle, request, id, timed));
  }

  fetchDocuments(request: EngineText, signal: CancelSignal = NEVER_CANCELED): Promise<ListingPart> {
    return this.#cancelable(signal, (id) => this.#native.fetchDocuments(this.#handle, request, id));
  }

  /** The whole response body in one piece, however long that takes. */
  async fetchAllDocuments(
    request: EngineText,
    signal: CancelSignal = NEVER_CANCELED,
  ): Promise<Buffer> {
    let part = await this.#cancelable(signal, (id) =>
      this.#native.fetchDocuments(this.#handle, request, id, true),
    );
    if (part.rest === null) return part.bytes;
    const parts = [part.bytes];
    while (part.rest !== null) {
      part = await this.track(this.#native.fetchRest(part.rest));
      parts.push(part.bytes);
    }
    return Buffer.concat(parts);
  }

  getDocument(id: string, fields: string[] | null, retrieveVectors: boolean): Buffer | null {
    return this.#sync(() => this.#native.getDocument(this.#handle, id, fields, retrieveVectors));
  }

  /** @param request JSON, see `NativeAddon.openDocuments` */
  async openDocuments(
    request: string,
    signal: CancelSignal = NEVER_CANCELED,
  ): Promise<OpenDocuments> {
    const { stream, total } = await this.#cancelable(signal, (id) =>
      this.#native.openDocuments(this.#handle, request, id),
    );
    return new OpenDocuments(this.#native, stream, total);
  }

  copyTo(dir: string): Promise<void> {
    return this.track(this.#native.copyIndex(this.#handle, dir));
  }

  /**
   * @param payloads long settings are appended to them
   * @param embed embeds documents of the batch; the bytes are those of `NativeAddon.applyBatch` and
   *   `completeEmbed`
   */
  async applyBatch(
    job: BatchJob,
    payloads: Buffer[],
    embed?: (documents: Buffer) => Promise<Buffer>,
  ): Promise<BatchOutcome> {
    const native = this.#native;
    const handle = this.#handle;
    const ask = (call: number, documents: Buffer): void => {
      embed!(documents).then(
        (result) => native.completeEmbed(handle, call, result),
        (error: unknown) => {
          const { code, message } =
            error instanceof BatchCanceled ? { code: CANCELED, message: '' } : toApiError(error);
          native.failEmbed(handle, call, code, message);
        },
      );
    };
    const steps = job.steps.map((step) =>
      step.kind === 'settings' ? settingsStep(step, payloads) : step,
    );
    const outcome = native.applyBatch(
      handle,
      JSON.stringify({ ...job, steps }),
      payloads,
      embed === undefined ? null : ask,
    );
    return JSON.parse(await this.track(outcome)) as BatchOutcome;
  }

  /** See `NativeAddon.applyRecord`. */
  applyRecord(logId: string, sequence: number, delta: Buffer): Promise<boolean> {
    return this.track(this.#native.applyRecord(this.#handle, logId, sequence, delta));
  }

  async compact(): Promise<void> {
    await this.track(this.#native.compactIndex(this.#handle));
  }

  cancelBatch(): void {
    this.#native.cancelBatch(this.#handle);
  }

  batchProgress(): BatchProgress | null {
    return JSON.parse(this.#native.batchProgress(this.#handle)) as BatchProgress | null;
  }

  isMerging(): boolean {
    return this.#native.isMerging(this.#handle);
  }

  /** Bytes of the segments that are merged next. */
  mergeDebt(): number {
    return this.#native.mergeDebt(this.#handle);
  }

  /** Whether damage was found in its files since it was opened. */
  isDamaged(): boolean {
    return this.#native.isDamaged(this.#handle);
  }

  mergeAtRest(): void {
    this.#native.mergeAtRest(this.#handle);
  }

  takeMergeFault(): string | null {
    return this.#native.takeMergeFault(this.#handle);
  }

  /** Removes files that the index does not use. */
  sweep(): void {
    this.#sync(() => this.#native.sweepIndex(this.#handle));
  }

  /** Resolves when nothing uses the index any more and its files are closed. */
  close(): Promise<void> {
    return this.#native.closeIndex(this.#handle);
  }

  async track<T>(work: Promise<T>): Promise<T> {
    this.busy++;
    try {
      return await work;
    } catch (error) {
      throw fromEngine(error);
    } finally {
      this.busy--;
    }
  }

  #sync<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw fromEngine(error);
    }
  }
}

type SettingsStep = Extract<BatchStep, { kind: 'settings' }>;

/** The step in the form of the engine: long settings become payloads. */
function settingsStep(step: SettingsStep, payloads: Buffer[]): SettingsStep {
  const { rest, long } = longApart(completeStates(step.settings));
  const numbers = [...long].map(([name, { bytes }]) => [name, payloads.push(bytes) - 1]);
  return { ...step, settings: rest, long: Object.fromEntries(numbers) };
}

/** The documents of an index as of its opening. Must be closed. Errors are `ApiError`s. */
export class OpenDocuments {
  readonly #native: NativeAddon;
  readonly #stream: DocumentStream;
  /** Number of documents. */
  readonly total: number;

  constructor(native: NativeAddon, stream: DocumentStream, total: number) {
    this.#native = native;
    this.#stream = stream;
    this.total = total;
  }

  /** All lines of JSON from the first on, in chunks of about `bytes` bytes. */
  async *lines(bytes: number): AsyncGenerator<Buffer, undefined> {
    this.#native.rewindDocuments(this.#stream);
    for (;;) {
      let lines: Buffer;
      try {
        lines = await this.#native.nextDocuments(this.#stream, bytes);
      } catch (error) {
        throw fromEngine(error);
      }
      if (lines.length === 0) return;
      yield lines;
    }
  }

  close(): void {
    this.#native.closeDocuments(this.#stream);
  }
}

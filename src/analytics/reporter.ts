import type { Clock } from '../base/clock.ts';
import { builtFile } from '../base/built-file.ts';
import { Isolate } from '../base/isolate.ts';
import { ApiError } from '../contract/errors.ts';
import type { AnalyticsStore } from '../store/analytics-store.ts';
import type { Recorder } from './recorder.ts';
import type { ReportInput, ReportOutput, ReportSources, ReportSpec } from './report-worker.ts';

/** Maximum number of reports waiting while one is computed. */
export const REPORTS_WAITING_MAX = 8;
/** Maximum number of chunks sent to the thread that it has not read yet. */
const CHUNKS_AHEAD = 4;
/** Maximum heap of the thread. A report that needs more is refused. */
const HEAP_MB_MAX = 256;

export interface ReporterOptions {
  store: AnalyticsStore;
  recorder: Recorder;
  clock: Clock;
  /** Maximum age of reported rows in milliseconds. */
  retentionMs: number;
  /** The other nodes of the cluster, and their rows from one time to another. */
  others?: (from: number, to: number) => Promise<readonly OtherRows[]>;
}

/** What another node has recorded. */
export interface OtherRows {
  readonly name: string;
  /** Texts of rows, as stored; null: the node does not run. */
  readonly chunks: AsyncIterator<string, undefined> | null;
}

export interface MadeReport {
  readonly body: string;
  /** Nodes of the cluster whose rows do not count, or not all of them. */
  readonly missing: readonly string[];
}

/** Computes reports one at a time, each in its own thread. */
export class Reporter {
  readonly #options: ReporterOptions;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /**
   * Resolves to the body of the response.
   * @param isCancelled whether the client has disconnected; then the promise rejects
   */
  report(spec: ReportSpec, isCancelled: () => boolean): Promise<MadeReport> {
    if (this.#waiting > REPORTS_WAITING_MAX) {
      return Promise.reject(
        new ApiError(
          'too_many_search_requests',
          'Too many reports are requested at the same time.',
        ),
      );
    }
    this.#waiting++;
    const made = this.#last.then(() => this.#make(spec, isCancelled));
    this.#last = made.then(
      () => void this.#waiting--,
      () => void this.#waiting--,
    );
    return made;
  }

  async #make(spec: ReportSpec, isCancelled: () => boolean): Promise<MadeReport> {
    const { store, recorder, clock, retentionMs, others } = this.#options;
    if (isCancelled()) throw new Error('the client disconnected');
    await recorder.flushed();
    const from = Math.max(spec.from, clock.now() - retentionMs);
    const elsewhere = (await others?.(from, spec.to)) ?? [];
    const sources: ReportSources = [
      { name: '', isMissing: false },
      ...elsewhere.map(({ name, chunks }) => ({ name, isMissing: chunks === null })),
    ];
    const chunks = [store.chunks(from, spec.to), ...elsewhere.map((one) => one.chunks)];
    try {
      return await this.#feed({ spec: { ...spec, from }, sources }, chunks, isCancelled);
    } finally {
      for (const { chunks: rest } of elsewhere) void rest?.return?.();
    }
  }

  /** @param chunks by source; null: there are none */
  async #feed(
    workerData: { spec: ReportSpec; sources: ReportSources },
    chunks: readonly (Iterator<string> | AsyncIterator<string> | null)[],
    isCancelled: () => boolean,
  ): Promise<MadeReport> {
    const thread = new Isolate<ReportInput, ReportOutput>({
      host: {
        thread: builtFile('report-worker.cjs'),
        options: { workerData, resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX } },
      },
      take: (output) => {
        if ('body' in output) report.resolve(output);
        else if ('fault' in output) report.reject(new ApiError('bad_request', output.fault));
        else if (isCancelled()) report.reject(new Error('the client disconnected'));
        else void sendNext(output.ready);
      },
      fault: ({ error }) => reportFault(error ?? new Error('the thread of a report has ended')),
    });
    const report = thread.open<MadeReport>();
    const sendNext = async (source: number): Promise<void> => {
      try {
        const next = await chunks[source]?.next();
        if (next === undefined) return;
        if (next.done === true) thread.send({ source, isMissing: false });
        else thread.send({ source, rows: next.value });
      } catch (error) {
        if (source === 0) report.reject(error as Error);
        else thread.send({ source, isMissing: true });
      }
    };
    for (const source of chunks.keys()) {
      for (let n = 0; n < CHUNKS_AHEAD; n++) void sendNext(source);
    }
    try {
      return await report.result;
    } finally {
      void thread.end(new Error('the report has ended'));
    }
  }
}

/** The error to send when the thread of a report has failed. */
function reportFault(error: Error): Error {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') return error;
  return new ApiError(
    'bad_request',
    `The report needs more than ${HEAP_MB_MAX} MB of memory; choose fewer indexes or a shorter time.`,
  );
}

import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import { builtFile } from '../base/built-file.ts';
import { ApiError } from '../contract/errors.ts';
import type { AnalyticsStore } from '../store/analytics-store.ts';
import type { Recorder } from './recorder.ts';
import type { ReportInput, ReportOutput, ReportSpec } from './report-worker.ts';

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
  report(spec: ReportSpec, isCancelled: () => boolean): Promise<string> {
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

  async #make(spec: ReportSpec, isCancelled: () => boolean): Promise<string> {
    const { store, recorder, clock, retentionMs } = this.#options;
    if (isCancelled()) throw new Error('the client disconnected');
    await recorder.flushed();
    const from = Math.max(spec.from, clock.now() - retentionMs);
    const worker = new Worker(builtFile('report-worker.cjs'), {
      workerData: { ...spec, from },
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    });
    try {
      return await this.#feed(worker, store.chunks(from, spec.to), isCancelled);
    } finally {
      void worker.terminate();
    }
  }

  #feed(worker: Worker, chunks: Generator<string>, isCancelled: () => boolean): Promise<string> {
    const send = (input: ReportInput): void => worker.postMessage(input, []);
    const sendNext = (): boolean => {
      const next = chunks.next();
      send(next.done === true ? { end: true } : { rows: next.value });
      return next.done !== true;
    };
    return new Promise((resolve, reject) => {
      let more = true;
      worker.on('message', (output: ReportOutput) => {
        if ('body' in output) resolve(output.body);
        else if ('fault' in output) reject(new ApiError('bad_request', output.fault));
        else if (isCancelled()) reject(new Error('the client disconnected'));
        else {
          try {
            if (more) more = sendNext();
          } catch (error) {
            reject(error);
          }
        }
      });
      worker.on('error', (error) => reject(reportFault(error)));
      worker.on('exit', () => reject(new Error('the thread of a report has ended')));
      try {
        for (let n = 0; n < CHUNKS_AHEAD && more; n++) more = sendNext();
      } catch (error) {
        reject(error);
      }
    });
  }
}

/** The error to send when the thread of a report has failed. */
function reportFault(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') return error;
  return new ApiError(
    'bad_request',
    `The report needs more than ${HEAP_MB_MAX} MB of memory; choose fewer indexes or a shorter time.`,
  );
}

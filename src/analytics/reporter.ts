import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import { builtFile } from '../base/built-file.ts';
import { ApiError } from '../contract/errors.ts';
import type { AnalyticsStore } from '../store/analytics-store.ts';
import type { Recorder } from './recorder.ts';
import type { ReportInput, ReportOutput, ReportSpec } from './report-worker.ts';

/** Reports that wait while one is made. */
export const REPORTS_WAITING_MAX = 8;
/**
 * Chunks that are handed over before the thread must have read one: the event loop reads no more at
 * once.
 */
const CHUNKS_AHEAD = 4;
/** Heap of the thread; a report that needs more is refused. */
const HEAP_MB_MAX = 256;

export interface ReporterOptions {
  store: AnalyticsStore;
  recorder: Recorder;
  clock: Clock;
  /** Nothing older is reported, milliseconds. */
  retentionMs: number;
}

/** Makes reports, one at a time, each in a thread of its own. */
export class Reporter {
  readonly #options: ReporterOptions;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /**
   * Resolves to the body of the answer.
   * @param isGone whether the client has gone away; then it rejects
   */
  report(spec: ReportSpec, isGone: () => boolean): Promise<string> {
    if (this.#waiting > REPORTS_WAITING_MAX) {
      return Promise.reject(
        new ApiError(
          'too_many_search_requests',
          'Too many reports are requested at the same time.',
        ),
      );
    }
    this.#waiting++;
    const made = this.#last.then(() => this.#make(spec, isGone));
    this.#last = made.then(
      () => void this.#waiting--,
      () => void this.#waiting--,
    );
    return made;
  }

  async #make(spec: ReportSpec, isGone: () => boolean): Promise<string> {
    const { store, recorder, clock, retentionMs } = this.#options;
    if (isGone()) throw new Error('the client went away');
    await recorder.flushed();
    const from = Math.max(spec.from, clock.now() - retentionMs);
    const worker = new Worker(builtFile('report-worker.cjs'), {
      workerData: { ...spec, from },
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    });
    try {
      return await this.#feed(worker, store.chunks(from, spec.to), isGone);
    } finally {
      void worker.terminate();
    }
  }

  #feed(worker: Worker, chunks: Generator<string>, isGone: () => boolean): Promise<string> {
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
        else if (isGone()) reject(new Error('the client went away'));
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

/** What to answer when the thread of a report has failed. */
function reportFault(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') return error;
  return new ApiError(
    'bad_request',
    `The report needs more than ${HEAP_MB_MAX} MB of memory; choose fewer indexes or a shorter time.`,
  );
}

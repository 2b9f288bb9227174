import { JsonFloat } from '../base/json.ts';
import type { ProgressView } from '../contract/responses.ts';
import type { BatchProgress } from '../engine/native.ts';

/** The steps of a running batch, outermost first, and how long each took. */
export class Progress {
  readonly #steps: { currentStep: string; finished: number; total: number }[] = [];
  readonly #trace: Record<string, number> = {};
  readonly #started: number[] = [];
  readonly #now: () => number;
  /** Returns the steps below ours; called when the progress is shown. */
  inner: (() => BatchProgress | null) | null = null;

  /** @param now milliseconds of a steady clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Enters step `finished` of `total` at a depth. Ends the steps at this depth and below. */
  enter(depth: number, currentStep: string, finished: number, total: number): void {
    this.#leave(depth);
    this.#steps[depth] = { currentStep, finished, total };
    this.#started[depth] = this.#now();
  }

  #leave(depth: number): void {
    while (this.#steps.length > depth) {
      const path = this.#steps.map((step) => step.currentStep).join(' > ');
      this.#steps.pop();
      const started = this.#started.pop();
      if (started === undefined) continue;
      this.#trace[path] = (this.#trace[path] ?? 0) + (this.#now() - started);
    }
  }

  view(): ProgressView {
    let inner: BatchProgress | null = null;
    try {
      inner = this.inner?.() ?? null;
    } catch {
      // The batch may just have ended.
    }
    const steps = [...this.#steps, ...(inner?.steps ?? [])];
    let share = 1;
    let percentage = 0;
    for (const { finished, total } of steps) {
      if (total <= 0) break;
      share /= total;
      percentage += finished * share;
    }
    return { steps, percentage: new JsonFloat(Math.min(100, percentage * 100)) };
  }

  /** Maps the path of each step to its time so far. */
  traceSoFar(): Record<string, string> {
    const times = { ...this.#trace };
    let path = '';
    for (const [depth, { currentStep }] of this.#steps.entries()) {
      path = depth === 0 ? currentStep : `${path} > ${currentStep}`;
      const started = this.#started[depth];
      if (started !== undefined) times[path] = (times[path] ?? 0) + (this.#now() - started);
    }
    return timesAsText(times);
  }

  /** Ends all steps, and maps the path of each to its time. */
  trace(): Record<string, string> {
    this.#leave(0);
    return timesAsText(this.#trace);
  }
}

function timesAsText(times: Readonly<Record<string, number>>): Record<string, string> {
  const entries = Object.entries(times).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([path, ms]) => [path, shortDuration(ms)]));
}

/** Two decimals and a unit, such as `12.34ms`. */
export function shortDuration(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)}s`;
  if (ms >= 1) return `${ms.toFixed(2)}ms`;
  if (ms >= 0.001) return `${(ms * 1000).toFixed(2)}µs`;
  return `${(ms * 1_000_000).toFixed(2)}ns`;
}

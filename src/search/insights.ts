/**
 * Which searches run, and which shapes of searches cost most. A shape is what searches have in
 * common: the route, the indexes, the names of the parameters and the number of words, but no
 * values. Each hour keeps a limited number of shapes, the costliest ones.
 */
import { INSIGHT_HOURS_MAX } from '../contract/insights.ts';
import type { EngineStage } from '../engine/native.ts';

const HOUR_MS = 3_600_000;
/** How many hours are kept, the present one included. */
const HOURS = INSIGHT_HOURS_MAX;
/** The shapes of an hour that are kept when there are twice as many: those with most CPU time. */
const SHAPES_KEPT = 200;
/** Indexes of a shape. */
const INDEXES_MAX = 10;
/** More words count as this number. */
const WORDS_MAX = 10;
/**
 * One search in this many is timed in stages, and the first of each shape in an hour: for the
 * example of its shape.
 */
const TIMED_EVERY = 64;
/** Buckets of times: each is half as long again as the one before it; the first ends at 0.1 ms. */
const BUCKETS = 40;
const FIRST_MS = 0.1;
const GROWTH = 1.5;

export interface Shape {
  kind: string;
  /** In order; `*` after the first ones stands for more. */
  indexUids: string[];
  parameters: string[];
  /** Those of the longest query. */
  words: number;
}

/** A search of a shape whose stages are known. */
export interface Example {
  requestId: string;
  /** Milliseconds since the epoch. */
  at: number;
  ms: number;
  stages: readonly EngineStage[];
}

/** What is known of the searches of a shape. It is sent between threads as it is. */
export interface ShapeTotals extends Shape {
  count: number;
  failed: number;
  cpuMs: number;
  ms: number;
  /** How many took how long, by bucket. */
  times: number[];
  /** The longest of those that were timed in stages. */
  example: Example | null;
}

export interface RunningSearch extends Shape {
  id: string;
  requestId: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
}

export interface Duration {
  upToMs: number;
  count: number;
}

interface Running {
  view: RunningSearch;
  /** See `keyOf`. */
  key: string;
  cancel: () => void;
}

export class Insights {
  /** By the number of the hour, the oldest first. */
  readonly #hours = new Map<number, Map<string, ShapeTotals>>();
  readonly #running = new Map<string, Running>();
  readonly #prefix: string;
  readonly #now: () => number;
  #count = 0;

  /** @param prefix of the ids of running searches: unique among the threads of the process */
  constructor(prefix: string, now: () => number = Date.now) {
    this.#prefix = prefix;
    this.#now = now;
  }

  /**
   * A search begins. `ended` must follow with the same id.
   * @returns `isTimed`: it is to be timed in stages
   */
  began(shape: Shape, requestId: string, cancel: () => void): { id: string; isTimed: boolean } {
    const key = keyOf(shape);
    const known = this.#hours.get(this.#hour())?.get(key);
    const isTimed = this.#count % TIMED_EVERY === 0 || (known?.example ?? null) === null;
    const id = `${this.#prefix}-${this.#count++}`;
    const view = { id, requestId, startedAt: this.#now(), ...shape };
    this.#running.set(id, { view, key, cancel });
    return { id, isTimed };
  }

  /** @param outcome null: the search names what does not exist, or what its key may not see */
  ended(
    id: string,
    outcome: {
      ms: number;
      cpuMs: number;
      failed: boolean;
      stages: readonly EngineStage[] | null;
    } | null,
  ): void {
    const { view, key } = this.#running.get(id)!;
    this.#running.delete(id);
    if (outcome === null) return;
    const { ms, cpuMs, failed, stages } = outcome;
    const of = this.#totalsOf(key, view);
    of.count++;
    if (failed) of.failed++;
    of.cpuMs += cpuMs;
    of.ms += ms;
    const bucket = bucketOf(ms);
    of.times[bucket] = (of.times[bucket] ?? 0) + 1;
    if (stages !== null && ms > (of.example?.ms ?? -1)) {
      of.example = { requestId: view.requestId, at: view.startedAt, ms, stages };
    }
  }

  running(): RunningSearch[] {
    return [...this.#running.values()].map(({ view }) => view);
  }

  /** False: no such search runs here. */
  cancel(id: string): boolean {
    const running = this.#running.get(id);
    running?.cancel();
    return running !== undefined;
  }

  /** The totals of the last hours, the present one included. */
  totals(hours: number): ShapeTotals[] {
    const first = this.#hour() - hours + 1;
    const kept = [...this.#hours].filter(([hour]) => hour >= first);
    return sumOf(kept.flatMap(([, shapes]) => [...shapes.values()]));
  }

  #hour(): number {
    return Math.floor(this.#now() / HOUR_MS);
  }

  #totalsOf(key: string, { kind, indexUids, parameters, words }: Shape): ShapeTotals {
    const hour = this.#hour();
    let shapes = this.#hours.get(hour);
    if (shapes === undefined) {
      shapes = new Map();
      this.#hours.set(hour, shapes);
      for (const old of this.#hours.keys()) {
        if (old <= hour - HOURS || old > hour) this.#hours.delete(old);
      }
    }
    let totals = shapes.get(key);
    if (totals === undefined) {
      if (shapes.size >= 2 * SHAPES_KEPT) keepCostliest(shapes);
      const none = { count: 0, failed: 0, cpuMs: 0, ms: 0, times: [], example: null };
      totals = { kind, indexUids, parameters, words, ...none };
      shapes.set(key, totals);
    }
    return totals;
  }
}

/** What the threads of this process know together. */
export class AllInsights {
  readonly #own: Insights;
  /** Other threads that run searches; null: there are none. */
  threads: ThreadInsights | null = null;

  constructor(own: Insights) {
    this.#own = own;
  }

  async totals(hours: number): Promise<ShapeTotals[]> {
    const others = (await this.threads?.insights(hours)) ?? [];
    return sumOf([...this.#own.totals(hours), ...others.flatMap(({ totals }) => totals)]);
  }

  async running(): Promise<RunningSearch[]> {
    const others = (await this.threads?.insights(0)) ?? [];
    return [...this.#own.running(), ...others.flatMap(({ running }) => running)];
  }

  /** False: no such search runs. */
  async cancel(id: string): Promise<boolean> {
    return this.#own.cancel(id) || (await this.threads?.cancelSearch(id)) === true;
  }
}

/** What a thread knows. */
export interface KnownSearches {
  totals: ShapeTotals[];
  running: RunningSearch[];
}

interface ThreadInsights {
  /** @param hours see `Insights.totals` */
  insights(hours: number): Promise<KnownSearches[]>;
  cancelSearch(id: string): Promise<boolean>;
}

/** The totals with those of equal shapes added up. */
function sumOf(all: readonly ShapeTotals[]): ShapeTotals[] {
  const sums = new Map<string, ShapeTotals>();
  for (const one of all) {
    const sum = sums.get(keyOf(one));
    if (sum === undefined) {
      sums.set(keyOf(one), { ...one, times: [...one.times] });
      continue;
    }
    sum.count += one.count;
    sum.failed += one.failed;
    sum.cpuMs += one.cpuMs;
    sum.ms += one.ms;
    for (const [bucket, count] of one.times.entries()) {
      sum.times[bucket] = (sum.times[bucket] ?? 0) + (count ?? 0);
    }
    if ((one.example?.ms ?? -1) > (sum.example?.ms ?? -1)) sum.example = one.example;
  }
  return [...sums.values()];
}

/** How many searches took at most so long, and longer than the entry before; without empty ones. */
export function durationsOf({ times }: Pick<ShapeTotals, 'times'>): Duration[] {
  return Array.from(times, (count = 0, bucket) => ({ upToMs: endOf(bucket), count })).filter(
    ({ count }) => count > 0,
  );
}

/** The time that 99 of 100 searches did not exceed: the end of its bucket. */
export function p99Of(durations: readonly Duration[]): number {
  let left = Math.ceil(durations.reduce((sum, { count }) => sum + count, 0) * 0.99);
  return durations.find(({ count }) => (left -= count) <= 0)?.upToMs ?? 0;
}

function endOf(bucket: number): number {
  return Number((FIRST_MS * GROWTH ** bucket).toPrecision(4));
}

/** @param requests the parameters of each query */
export function shapeOf(
  kind: string,
  indexUids: readonly string[],
  requests: readonly { q?: string | null }[],
): Shape {
  // Names of parameters, which are those of the contract.
  const names = new Set<string>();
  let words = 0;
  for (const request of requests) {
    for (const [name, value] of Object.entries(request)) {
      if (value !== undefined && value !== null) names.add(name);
    }
    if (typeof request.q === 'string') words = Math.max(words, wordsOf(request.q));
  }
  const all = [...new Set(indexUids)].sort();
  const uids = all.length <= INDEXES_MAX ? all : [...all.slice(0, INDEXES_MAX), '*'];
  return { kind, indexUids: uids, parameters: [...names].sort(), words };
}

/** Runs of characters between spaces, up to a maximum. */
function wordsOf(q: string): number {
  const word = /\S+/g;
  let count = 0;
  while (count < WORDS_MAX && word.test(q)) count++;
  return count;
}

function bucketOf(ms: number): number {
  if (ms <= FIRST_MS) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log(ms / FIRST_MS) / Math.log(GROWTH)));
}

export function keyOf({ kind, indexUids, parameters, words }: Readonly<Shape>): string {
  return `${kind} ${words} ${indexUids.join()} ${parameters.join()}`;
}

function keepCostliest(shapes: Map<string, ShapeTotals>): void {
  const costs = Float64Array.from(shapes.values(), ({ cpuMs }) => cpuMs).sort();
  const min = costs[costs.length - SHAPES_KEPT]!;
  for (const [key, { cpuMs }] of shapes) {
    if (cpuMs < min || (cpuMs === min && shapes.size > SHAPES_KEPT)) shapes.delete(key);
  }
}

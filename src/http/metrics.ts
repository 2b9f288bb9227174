/**
 * Metrics in the Prometheus text format: those of requests and searches, which are counted as they
 * end, and a writer for values that are read on demand.
 */
import { setImmediate } from 'node:timers/promises';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { SearchKind } from '../contract/search-kind.ts';
import type { SearchObserver } from '../search/report.ts';

const PREFIX = 'gannet_';

/** Upper bounds of the response time buckets, seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** Upper bounds of the waiting time buckets, seconds: most searches wait for nothing. */
const WAIT_BUCKETS = [0, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What happened once. */
export type Observation =
  /** @param pattern the path of the route */
  | readonly [is: 'request', method: string, pattern: string, status: number, seconds: number]
  /** @param order what determines the order of the hits */
  | readonly [is: 'search', kind: string, order: SearchKind, seconds: number]
  /** A request got its first permit for a search. */
  | readonly [is: 'permit', waitedSeconds: number];

export class RequestMetrics {
  readonly enabled: () => boolean;
  /** Gets the counts of other threads. */
  collect: () => Promise<void> = async () => {};
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: `${PREFIX}http_requests_total`,
    help: 'Finished requests',
    labelNames: ['method', 'path', 'status'],
    registers: [this.#registry],
  });
  readonly #times = new Histogram({
    name: `${PREFIX}http_response_time_seconds`,
    help: 'Response times',
    labelNames: ['method', 'path'],
    buckets: BUCKETS,
    registers: [this.#registry],
  });
  readonly #searches = new Histogram({
    name: `${PREFIX}search_duration_seconds`,
    help: 'Times of searches, waiting included',
    labelNames: ['kind', 'order'],
    buckets: BUCKETS,
    registers: [this.#registry],
  });
  readonly #waits = new Histogram({
    name: `${PREFIX}search_wait_seconds`,
    help: 'Times that searches waited for a permit',
    buckets: WAIT_BUCKETS,
    registers: [this.#registry],
  });

  /** @param enabled whether anything is counted */
  constructor(enabled: () => boolean) {
    this.enabled = enabled;
  }

  record(observed: Observation): void {
    switch (observed[0]) {
      case 'request': {
        const [, method, pattern, status, seconds] = observed;
        const path = pattern.replace(/:(\w+)/g, '{$1}');
        this.#requests.inc({ method, path, status });
        this.#times.observe({ method, path }, seconds);
        return;
      }
      case 'search': {
        const [, kind, order, seconds] = observed;
        this.#searches.observe({ kind, order }, seconds);
        return;
      }
      case 'permit':
        this.#waits.observe(observed[1]);
    }
  }

  async text(): Promise<string> {
    await this.collect();
    return textOf(this.#registry);
  }
}

/** Passes on what searches report, while anything is counted. */
export function searchObserver(
  metrics: Pick<RequestMetrics, 'enabled' | 'record'>,
): SearchObserver {
  const record = (observed: Observation): void => {
    if (metrics.enabled()) metrics.record(observed);
  };
  return {
    ended: (kind, order, ms) => record(['search', kind, order, ms / 1000]),
    permitted: (ms) => record(['permit', ms / 1000]),
  };
}

/** Writes one metric per iteration of the event loop: some have thousands of lines. */
async function textOf(registry: Registry): Promise<string> {
  const texts: string[] = [];
  for (const { name } of registry.getMetricsAsArray()) {
    texts.push(await registry.getSingleMetricAsString(name));
    await setImmediate();
  }
  return `${texts.join('\n\n')}\n`;
}

/** Metrics of prom-client that use internals of Node, or names that checkers refuse. */
const LEFT_OUT = ['handles', 'requests', 'resources'].flatMap((what) => [
  `nodejs_active_${what}`,
  `nodejs_active_${what}_total`,
]);

/**
 * The metrics `process_*` and `nodejs_*` of this process. Node starts to measure its event loop and
 * garbage collector when they are first read.
 */
export class ProcessMetrics {
  #registry: Registry | null = null;

  text(): Promise<string> {
    if (this.#registry === null) {
      this.#registry = new Registry();
      collectDefaultMetrics({ register: this.#registry });
      for (const name of LEFT_OUT) this.#registry.removeSingleMetric(name);
    }
    return textOf(this.#registry);
  }
}

/**
 * Earlier names, which are those of the reference, by the present name, and how many of the earlier
 * unit the present one has. Version 1.1 drops them.
 */
const EARLIER: ReadonlyMap<string, { name: string; factor: number }> = new Map([
  ['indexes', { name: 'index_count', factor: 1 }],
  ['index_documents', { name: 'index_docs_count', factor: 1 }],
  [
    'last_finished_batch_step_duration_seconds',
    { name: 'last_finished_batches_progress_trace_ms', factor: 1000 },
  ],
  ['last_indexed_documents', { name: 'last_indexed_documents_count', factor: 1 }],
  [
    'last_indexed_documents_duration_seconds',
    { name: 'last_indexed_documents_duration_ms', factor: 1000 },
  ],
]);

export type Labels = Readonly<Record<string, string>>;

/** Writes the values of one metric. */
export type MetricWriter = (labels: Labels, value: number) => void;

/** Metrics that are read from the server on request. */
export class MetricsText {
  readonly #registry = new Registry();

  /** A metric with labels, and the same under its earlier name; listed even without values. */
  family(
    name: string,
    kind: 'counter' | 'gauge',
    help: string,
    labelNames: readonly string[],
  ): MetricWriter {
    const write = this.#write(name, kind, help, labelNames);
    const earlier = EARLIER.get(name);
    if (earlier === undefined) return write;
    const note = `Earlier name of ${PREFIX}${name}, until version 1.1`;
    const writeEarlier = this.#write(earlier.name, kind, note, labelNames);
    return (labels, value) => {
      write(labels, value);
      writeEarlier(labels, Number((value * earlier.factor).toPrecision(12)));
    };
  }

  #write(
    name: string,
    kind: 'counter' | 'gauge',
    help: string,
    labelNames: readonly string[],
  ): MetricWriter {
    const settings = {
      name: PREFIX + name,
      help,
      labelNames: [...labelNames],
      registers: [this.#registry],
    };
    if (kind === 'counter') {
      const counter = new Counter(settings);
      return (labels, value) => counter.inc(labels, value);
    }
    const gauge = new Gauge(settings);
    return (labels, value) => gauge.set(labels, value);
  }

  gauge(name: string, help: string, value: number): void {
    this.family(name, 'gauge', help, [])({}, value);
  }

  text(): Promise<string> {
    return textOf(this.#registry);
  }
}

/**
 * Metrics in the Prometheus text format: the HTTP counters, and a writer for values that are read
 * on demand.
 */
import { setImmediate } from 'node:timers/promises';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

const PREFIX = 'gannet_';

/** Upper bounds of the response time buckets, seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

export class HttpMetrics {
  readonly enabled: () => boolean;
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

  constructor(enabled: () => boolean) {
    this.enabled = enabled;
  }

  /** @param pattern the path of the route */
  record(method: string, pattern: string, status: number, seconds: number): void {
    const path = pattern.replace(/:(\w+)/g, '{$1}');
    this.#requests.inc({ method, path, status });
    this.#times.observe({ method, path }, seconds);
  }

  text(): Promise<string> {
    return textOf(this.#registry);
  }
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

export type Labels = Readonly<Record<string, string>>;

/** Writes the values of one metric. */
export type MetricWriter = (labels: Labels, value: number) => void;

/** Metrics that are read from the server on request. */
export class MetricsText {
  readonly #registry = new Registry();

  /** A metric with labels; it is listed even without values. */
  family(
    name: string,
    kind: 'counter' | 'gauge',
    help: string,
    labelNames: readonly string[],
  ): MetricWriter {
    const settings = {
      ...{ name: PREFIX + name, help, labelNames: [...labelNames] },
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

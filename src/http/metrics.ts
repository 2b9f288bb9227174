/** Prometheus text (exposition format 0.0.4): the HTTP counters, and the writer for all metrics. */
import type { Route } from './route.ts';

const PREFIX = 'gannet_';

/** Upper bounds of the response time buckets, seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

interface Timing {
  /** Per bucket, not cumulative; the last one is for everything slower. */
  readonly counts: number[];
  sum: number;
}

export class HttpMetrics {
  readonly enabled: () => boolean;
  readonly #requests = new Map<string, number>();
  readonly #timings = new Map<string, Timing>();

  constructor(enabled: () => boolean) {
    this.enabled = enabled;
  }

  record(route: Pick<Route, 'method' | 'path'>, status: number, seconds: number): void {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    const place = `method="${route.method}",path="${path}"`;
    const request = `${place},status="${status}"`;
    this.#requests.set(request, (this.#requests.get(request) ?? 0) + 1);
    let timing = this.#timings.get(place);
    if (timing === undefined) {
      timing = { counts: BUCKETS.map(() => 0).concat(0), sum: 0 };
      this.#timings.set(place, timing);
    }
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
    timing.counts[bucket < 0 ? BUCKETS.length : bucket]!++;
    timing.sum += seconds;
  }

  write(out: MetricsText): void {
    out.head('http_requests_total', 'counter', 'Finished requests');
    for (const [labels, count] of this.#requests) out.value('http_requests_total', labels, count);
    const name = 'http_response_time_seconds';
    out.head(name, 'histogram', 'Response times');
    for (const [labels, { counts, sum }] of this.#timings) {
      let total = 0;
      for (const [i, count] of counts.entries()) {
        total += count;
        out.value(`${name}_bucket`, `${labels},le="${BUCKETS[i] ?? '+Inf'}"`, total);
      }
      out.value(`${name}_sum`, labels, sum);
      out.value(`${name}_count`, labels, total);
    }
  }
}

export class MetricsText {
  readonly #lines: string[] = [];

  head(name: string, kind: 'counter' | 'gauge' | 'histogram', help: string): void {
    this.#lines.push(`# HELP ${PREFIX}${name} ${help}`, `# TYPE ${PREFIX}${name} ${kind}`);
  }

  /** `labels`: written out, or empty. */
  value(name: string, labels: string, value: number): void {
    this.#lines.push(`${PREFIX}${name}${labels === '' ? '' : `{${labels}}`} ${value}`);
  }

  gauge(name: string, help: string, value: number): void {
    this.head(name, 'gauge', help);
    this.value(name, '', value);
  }

  toString(): string {
    return `${this.#lines.join('\n')}\n`;
  }
}

export function label(name: string, value: string): string {
  const escaped = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  return `${name}="${escaped}"`;
}

/** Traces, which are sent to a collector. */
import type { Logger } from '../base/logger.ts';
import { bad, type GivenOptions, type Options } from '../base/options.ts';
import { Tracer } from '../base/tracing.ts';
import { TraceExporter } from '../outbound/trace-exporter.ts';
import type { Part } from './part.ts';
import { serviceUrl } from './values.ts';

/** How long a stop waits for the collector. */
const CLOSE_MS_MAX = 1000;

export const OPTIONS = {
  'otlp-endpoint': {
    kind: 'text',
    ours: true,
    read: serviceUrl,
    help: 'URL of a collector for traces.',
  },
  'otlp-headers': {
    kind: 'text',
    ours: true,
    needs: ['otlp-endpoint'],
    read: headers,
    help: '`name=value` for the collector, comma-separated.',
  },
  'otlp-sampling-ratio': {
    kind: 'text',
    ours: true,
    needs: ['otlp-endpoint'],
    read: ratio,
    initial: '1',
    help: 'Share of new traces that are sent.',
  },
} as const satisfies Options;

export type TracingConfig = ReturnType<typeof configure>;

export function configure({ values }: GivenOptions<typeof OPTIONS>) {
  const url = values['otlp-endpoint'];
  return {
    /** null: nothing is traced. */
    tracing:
      url === null
        ? null
        : {
            endpoint: url,
            headers: values['otlp-headers'] ?? {},
            ratio: values['otlp-sampling-ratio'],
          },
  };
}

interface Deps {
  version: string;
  instance: string;
  logger: Logger;
}

export function open(
  { tracing }: TracingConfig,
  { version, instance, logger }: Deps,
): Part & { tracer: Tracer | null } {
  if (tracing === null) return { tracer: null, close() {} };
  const { ratio: share, ...target } = tracing;
  const resource = {
    'service.name': 'gannet',
    'service.version': version,
    'service.instance.id': instance,
  };
  const exporter = new TraceExporter({ ...target, resource, log: logger });
  return {
    tracer: new Tracer(share, exporter.take),
    close: (timeoutMs) => exporter.close(Math.min(timeoutMs, CLOSE_MS_MAX)),
  };
}

function headers(text: string, name: string): Record<string, string> {
  const pairs = text.split(',').map((pair) => {
    const [, key, value] = /^\s*([\w-]+)\s*=\s*([\x20-\x7e]*?)\s*$/.exec(pair) ?? [];
    return key === undefined ? bad(name, '***', '`name=value`, comma-separated') : [key, value!];
  });
  return Object.fromEntries(pairs) as Record<string, string>;
}

function ratio(text: string, name: string): number {
  const value = Number(text);
  return text.trim() !== '' && value >= 0 && value <= 1 ? value : bad(name, text, '0 to 1');
}

/** The log, the service manager, and how long a stop may take. */
import { bad, type GivenOptions, type Options } from '../base/options.ts';
import { isLogLevel, type LogLevel, Logs } from '../base/logger.ts';
import { ServiceManager } from '../base/service-manager.ts';
import type { Part } from './part.ts';
import { TIMER_SECONDS_MAX } from './values.ts';

/** How long a stop waits for the reader of the log. */
const LOG_MS_MAX = 500;

export const OPTIONS = {
  'log-level': {
    kind: 'text',
    initial: 'INFO',
    read: logLevel,
    help: 'OFF, ERROR, WARN, INFO, DEBUG or TRACE.',
  },
  'experimental-logs-mode': {
    kind: 'text',
    initial: 'HUMAN',
    oneOf: ['human', 'json'],
    help: 'HUMAN or JSON.',
  },
  'shutdown-seconds': {
    kind: 'count',
    ours: true,
    initial: '10',
    max: TIMER_SECONDS_MAX,
    help: 'How long a stop may take to finish responses and roll back batches.',
  },
  'no-analytics': { kind: 'flag', help: 'No effect: there is no telemetry.' },
} as const satisfies Options;

export type ServiceConfig = ReturnType<typeof configure>;

export function configure({ values }: GivenOptions<typeof OPTIONS>) {
  return {
    logLevel: values['log-level'],
    logMode: values['experimental-logs-mode'],
    shutdownSeconds: values['shutdown-seconds'],
  };
}

/** What the log says first. */
export interface Origins {
  /**
   * Options that change nothing here or have another name, and variables that nobody reads.
   */
  notices: string[];
  /** Variables of the reference that were taken for ours. */
  takenVariables: string[];
}

export function open({
  logLevel: level,
  logMode,
  notices,
  takenVariables,
}: ServiceConfig & Origins): Part & { logs: Logs; manager: ServiceManager } {
  const logs = new Logs(level, logMode, process.stderr.isTTY === true);
  const log = logs.of('start');
  for (const notice of notices) log.warn(notice);
  if (takenVariables.length > 0) {
    log.info(`Variables used as if they began with GANNET_: ${takenVariables.join(', ')}.`);
  }
  const manager = new ServiceManager({ env: process.env, warn: (message) => log.warn(message) });
  return {
    logs,
    manager,
    end: (timeoutMs) => manager.stopping(timeoutMs),
    async close() {
      await manager.sent();
      await logs.written(LOG_MS_MAX);
    },
  };
}

function logLevel(text: string, name: string): LogLevel {
  const level = text.toLowerCase();
  return isLogLevel(level) ? level : bad(name, level, 'OFF, ERROR, WARN, INFO, DEBUG or TRACE');
}

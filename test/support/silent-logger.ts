import { pino } from 'pino';
import type { Logger } from '../../src/base/logger.ts';

export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}

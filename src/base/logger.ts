import { pino, type Logger as PinoLogger } from 'pino';
import pretty from 'pino-pretty';

export type Logger = Pick<
  PinoLogger,
  'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child' | 'level'
>;

export type LogLevel = 'off' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** Where secrets may stand in what is logged. */
const SECRETS = ['masterKey', 'apiKey', '*.apiKey', 'headers.authorization', '*.authorization'];

/** Logs to standard error: lines for people, or one JSON object per line. */
export function createLogger(level: LogLevel, mode: 'human' | 'json'): Logger {
  const options = {
    level: level === 'off' ? 'silent' : level,
    base: null,
    redact: SECRETS,
    timestamp: (): string => `,"timestamp":"${new Date().toISOString()}"`,
  };
  return pino(
    options,
    mode === 'human'
      ? pretty({
          destination: 2,
          sync: true,
          timestampKey: 'timestamp',
          translateTime: 'SYS:standard',
        })
      : pino.destination({ dest: 2, sync: true }),
  );
}

export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}

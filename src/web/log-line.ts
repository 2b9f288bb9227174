/** Lines of the log, as `POST /logs/stream` sends them. Pure functions. */

export const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const;
export type Level = (typeof LEVELS)[number];

export interface LogLine {
  /** Counts the lines of a stream. */
  readonly number: number;
  /** Hours to milliseconds. */
  readonly time: string;
  readonly level: Level;
  readonly module: string;
  readonly text: string;
}

/** Characters of a line that are kept. */
const TEXT_MAX = 2000;

/** @param json a line of the mode `json` */
export function logLine(json: string, number: number): LogLine {
  const { timestamp, level, target, fields } = JSON.parse(json) as {
    timestamp: string;
    level: Level;
    target: string;
    fields: Readonly<Record<string, unknown>>;
  };
  const { message = '', ...others } = fields;
  const words = Object.entries(others).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const text = [String(message), ...words].join(' ').slice(0, TEXT_MAX);
  return { number, time: timestamp.slice(11, 23), level, module: target, text };
}

/** The lines of a level or of a graver one that contain the text, whatever its case. */
export function matchingLines(
  lines: readonly LogLine[],
  level: Level,
  sought: string,
): readonly LogLine[] {
  const wanted = LEVELS.slice(0, LEVELS.indexOf(level) + 1);
  const text = sought.toLowerCase();
  return lines.filter(
    (line) =>
      wanted.includes(line.level) && `${line.module} ${line.text}`.toLowerCase().includes(text),
  );
}

import { pino, type Logger as PinoLogger } from 'pino';
import pretty from 'pino-pretty';
import { err, ok, type Result } from './result.ts';

export type Logger = Pick<PinoLogger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'>;

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'off'] as const;
export type LogLevel = (typeof LEVELS)[number];

/** Values of the levels in pino. */
const LEVEL_VALUES: Readonly<Record<LogLevel, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  off: 100,
};

export type LogMode = 'human' | 'json';

/** Which events pass: by module, and for the modules not named. */
export interface LogFilter {
  readonly modules: ReadonlyMap<string, LogLevel>;
  readonly others: LogLevel;
}

export function isLogLevel(text: string): text is LogLevel {
  return (LEVELS as readonly string[]).includes(text);
}

/**
 * `module=level` items and at most one bare level, separated by commas. An item without a known level
 * after `=` names a module that is then silent; unknown modules are accepted.
 */
export function parseLogFilter(text: string): Result<LogFilter, string> {
  const modules = new Map<string, LogLevel>();
  let others: LogLevel = 'off';
  if (text.trim() === '') {
    return err(
      'the target is empty; expected is `<module>=<level>` or `<level>`, several separated by commas; `OFF` switches the logs off',
    );
  }
  for (const item of text.split(',').map((piece) => piece.trim())) {
    if (item === '') continue;
    const [name, level, ...rest] = item.split('=').map((piece) => piece.trim());
    if (rest.length > 0) return err(`\`${item}\` has more than one \`=\``);
    if (level === undefined) {
      const bare = name!.toLowerCase();
      if (isLogLevel(bare)) others = bare;
      else modules.set(name!, 'trace');
    } else if (level === '') modules.set(name!, 'trace');
    else {
      const known = level.toLowerCase();
      if (!isLogLevel(known)) {
        return err(
          `\`${level}\` is not a level; known are off, error, warn, info, debug and trace`,
        );
      }
      modules.set(name!, known);
    }
  }
  return ok({ modules, others });
}

function mostVerbose({ modules, others }: LogFilter): number {
  return Math.min(...[others, ...modules.values()].map((level) => LEVEL_VALUES[level]));
}

interface Sink {
  filter: LogFilter;
  write(line: string): void;
}

/** Where secrets may stand in what is logged. */
const SECRETS = ['masterKey', 'apiKey', '*.apiKey', 'headers.authorization', '*.authorization'];

/**
 * The log of the process: to standard error, and to at most one client that listens. Each module logs
 * under its name, the field `target`.
 */
export class Logs {
  readonly #root: PinoLogger;
  readonly #children: PinoLogger[] = [];
  readonly #stderr: Sink;
  #stream: (Sink & { end(): void }) | null = null;

  /** @param tty colours and short times when people look at it */
  constructor(level: LogLevel, mode: LogMode, tty: boolean) {
    this.#stderr = {
      filter: { modules: new Map(), others: level },
      write: mode === 'json' ? writeToStderr : prettyWriter(tty, writeToStderr),
    };
    this.#root = pino(
      {
        base: null,
        redact: SECRETS,
        timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
        formatters: { level: (label, value) => ({ level: label, severity: value }) },
        messageKey: 'message',
        errorKey: 'err',
      },
      { write: (line: string) => this.#forward(line) },
    );
    this.#applyLevel();
  }

  /** The logger of one module. */
  of(target: string): Logger {
    const child = this.#root.child({ target });
    child.level = this.#root.level;
    this.#children.push(child);
    return child;
  }

  setStderrFilter(filter: LogFilter): void {
    this.#stderr.filter = filter;
    this.#applyLevel();
  }

  /** false: somebody listens already. `write` gets whole lines. */
  openStream(
    filter: LogFilter,
    mode: LogMode,
    write: (line: string) => void,
    end: () => void,
  ): boolean {
    if (this.#stream !== null) return false;
    this.#stream = { filter, write: mode === 'json' ? write : prettyWriter(false, write), end };
    this.#applyLevel();
    // A first line lets the client know at once that it is connected.
    const timestamp = new Date().toISOString();
    const opened = {
      timestamp,
      level: 'info',
      fields: { message: 'log stream open' },
      target: 'http',
    };
    this.#stream.write(`${JSON.stringify(opened)}\n`);
    return true;
  }

  /** Ends the stream, if there is one. */
  closeStream(): void {
    const stream = this.#stream;
    this.#stream = null;
    this.#applyLevel();
    stream?.end();
  }

  #applyLevel(): void {
    const filters = [this.#stderr.filter, ...(this.#stream === null ? [] : [this.#stream.filter])];
    const value = Math.min(...filters.map(mostVerbose));
    const name = LEVELS.find((level) => LEVEL_VALUES[level] === value) ?? 'off';
    const level = name === 'off' ? 'silent' : name;
    this.#root.level = level;
    for (const child of this.#children) child.level = level;
  }

  #forward(line: string): void {
    const event = JSON.parse(line) as Record<string, unknown>;
    const { severity, level, target = 'gannet', timestamp, ...fields } = event;
    const text = `${JSON.stringify({ timestamp, level, fields, target })}\n`;
    for (const sink of [this.#stderr, this.#stream]) {
      if (sink === null) continue;
      const least = sink.filter.modules.get(String(target)) ?? sink.filter.others;
      if (Number(severity) >= LEVEL_VALUES[least]) sink.write(text);
    }
  }
}

function writeToStderr(line: string): void {
  process.stderr.write(line);
}

/** One line for people: date, level, module, text, fields. */
function prettyWriter(colorize: boolean, write: (line: string) => void): (line: string) => void {
  const format = pretty.prettyFactory({
    colorize,
    singleLine: true,
    timestampKey: 'timestamp',
    messageKey: 'message',
    ignore: 'target',
  });
  return (line) => {
    const event = JSON.parse(line) as { fields: object } & Record<string, unknown>;
    const { fields, target, ...head } = event;
    const { message, ...rest } = fields as { message?: string };
    write(format({ ...head, ...rest, target, message: `${String(target)}: ${message ?? ''}` }));
  };
}

export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}

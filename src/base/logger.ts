import { pino, type Logger as PinoLogger } from 'pino';
import { err, ok, type Result } from './result.ts';
import { withoutSecrets } from './secrets.ts';
import { activeSpan } from './tracing.ts';
import { StderrWriter } from './stderr-writer.ts';

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

/** The events to log: by module, and for all other modules. */
export interface LogFilter {
  readonly modules: ReadonlyMap<string, LogLevel>;
  readonly others: LogLevel;
}

export function isLogLevel(text: string): text is LogLevel {
  return (LEVELS as readonly string[]).includes(text);
}

/**
 * Comma-separated `module=level` items and at most one bare level. An item without a known level
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

/** The filter that lets through whatever one of the filters does. */
function loosest(filters: readonly LogFilter[]): LogFilter {
  const lower = (one: LogLevel, other: LogLevel): LogLevel =>
    LEVEL_VALUES[one] < LEVEL_VALUES[other] ? one : other;
  const levelOf = (module: string): LogLevel =>
    filters.map(({ modules, others }) => modules.get(module) ?? others).reduce(lower, 'off');
  const names = new Set(filters.flatMap(({ modules }) => [...modules.keys()]));
  return {
    modules: new Map([...names].map((name) => [name, levelOf(name)])),
    others: filters.map(({ others }) => others).reduce(lower, 'off'),
  };
}

function levelMin({ modules, others }: LogFilter): number {
  return Math.min(...[others, ...modules.values()].map((level) => LEVEL_VALUES[level]));
}

/** An event as logged in the mode `json`. */
export interface LogEvent {
  timestamp: string;
  level: string;
  fields: { message?: string; [field: string]: unknown };
  target: string;
}

interface Sink {
  filter: LogFilter;
  write(event: LogEvent): void;
}

/**
 * The logged fields of an error: other members may hold anything, such as a request with its
 * headers.
 */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? withoutSecrets(error) : error;
  const { name, message, stack = '', code, cause } = error as Error & { code?: unknown };
  return {
    type: name,
    message: withoutSecrets(message),
    stack: withoutSecrets(stack),
    ...(['string', 'number'].includes(typeof code) ? { code } : {}),
    ...(cause instanceof Error ? { cause: errorFields(cause) } : {}),
  };
}

/** Paths that may hold secrets in logged values. */
const SECRETS = ['masterKey', 'apiKey', '*.apiKey', 'headers.authorization', '*.authorization'];

/**
 * The log of the process: to standard error, and to at most one listening client. Each module logs
 * under its name, the field `target`.
 */
export class Logs {
  readonly #root: PinoLogger;
  readonly #children: PinoLogger[] = [];
  readonly #stderr: Sink;
  #stream: (Sink & { end(): void }) | null = null;
  #writer: StderrWriter | null = null;
  #onFilter: (filter: LogFilter) => void = () => {};

  /**
   * @param tty use colours, for a terminal
   * @param take gets what is logged instead of standard error
   */
  constructor(level: LogLevel, mode: LogMode, tty: boolean, take?: (event: LogEvent) => void) {
    this.#stderr = {
      filter: { modules: new Map(), others: level },
      write: take ?? writer(mode, tty, (line) => (this.#writer ??= new StderrWriter()).write(line)),
    };
    this.#root = pino(
      {
        base: null,
        redact: SECRETS,
        timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
        formatters: { level: (label) => ({ level: label }) },
        messageKey: 'message',
        errorKey: 'err',
        serializers: { err: errorFields },
        mixin: () => {
          const traceId = activeSpan()?.traceId;
          return traceId === undefined ? {} : { traceId };
        },
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

  /**
   * For events that happen thousands of times a second: takes about 3 us, and nothing when nobody
   * listens. `fields` must hold no secret; nothing is redacted.
   */
  often(level: LogLevel, target: string, fields: LogEvent['fields']): void {
    const value = LEVEL_VALUES[level];
    if (!lets(this.#stderr, target, value) && !lets(this.#stream, target, value)) return;
    this.#emit({ timestamp: new Date().toISOString(), level, fields, target }, value);
  }

  /** Logs an event of another thread. */
  takeEvent(event: LogEvent): void {
    // `fatal` passes wherever `error` does.
    this.#emit(event, LEVEL_VALUES[event.level as LogLevel] ?? LEVEL_VALUES.error);
  }

  /** Calls `listener` now and after each change with what other threads have to send. */
  onFilter(listener: (filter: LogFilter) => void): void {
    this.#onFilter = listener;
    listener(loosest(this.#filters()));
  }

  /**
   * Resolves when everything logged so far is written to standard error, after `timeoutMs` at the
   * latest.
   */
  async written(timeoutMs: number): Promise<void> {
    await this.#writer?.written(timeoutMs);
  }

  setStderrFilter(filter: LogFilter): void {
    this.#stderr.filter = filter;
    this.#applyLevel();
  }

  /**
   * Null: another client is listening. `write` gets whole lines.
   * @returns a function that ends this stream, and no later one
   */
  openStream(
    filter: LogFilter,
    mode: LogMode,
    write: (line: string) => void,
    end: () => void,
  ): (() => void) | null {
    if (this.#stream !== null) return null;
    const stream = { filter, write: writer(mode, false, write), end };
    this.#stream = stream;
    this.#applyLevel();
    // The first line shows the client at once that it is connected.
    const timestamp = new Date().toISOString();
    stream.write({
      timestamp,
      level: 'info',
      fields: { message: 'log stream open' },
      target: 'http',
    });
    return () => {
      if (this.#stream === stream) this.closeStream();
    };
  }

  /** Ends the stream, if there is one. */
  closeStream(): void {
    const stream = this.#stream;
    this.#stream = null;
    this.#applyLevel();
    stream?.end();
  }

  #filters(): LogFilter[] {
    return [this.#stderr.filter, ...(this.#stream === null ? [] : [this.#stream.filter])];
  }

  #applyLevel(): void {
    const filters = this.#filters();
    this.#onFilter(loosest(filters));
    const value = Math.min(...filters.map(levelMin));
    const name = LEVELS.find((level) => LEVEL_VALUES[level] === value) ?? 'off';
    const level = name === 'off' ? 'silent' : name;
    this.#root.level = level;
    for (const child of this.#children) child.level = level;
  }

  #forward(line: string): void {
    const { level, target, timestamp, ...fields } = JSON.parse(line) as Record<string, unknown>;
    if (typeof fields.message === 'string') fields.message = withoutSecrets(fields.message);
    const event = {
      timestamp: String(timestamp),
      level: String(level),
      fields,
      target: String(target ?? 'gannet'),
    };
    this.takeEvent(event);
  }

  #emit(event: LogEvent, value: number): void {
    for (const sink of [this.#stderr, this.#stream]) {
      if (lets(sink, event.target, value)) sink!.write(event);
    }
  }
}

function lets(sink: Sink | null, target: string, value: number): boolean {
  if (sink === null) return false;
  const { modules, others } = sink.filter;
  return value >= LEVEL_VALUES[modules.get(target) ?? others];
}

function writer(
  mode: LogMode,
  colours: boolean,
  write: (line: string) => void,
): (event: LogEvent) => void {
  return mode === 'json'
    ? (event) => write(`${JSON.stringify(event)}\n`)
    : (event) => write(humanLine(event, colours));
}

/** ANSI colours of the levels. */
const COLOURS: Readonly<Record<string, number>> = { fatal: 31, error: 31, warn: 33, info: 32 };

/** One line for people: date, level, module, text, fields. */
function humanLine({ timestamp, level, fields, target }: LogEvent, colours: boolean): string {
  const name = level.toUpperCase().padEnd(5);
  const shown = colours ? `\u001b[${COLOURS[level] ?? 90}m${name}\u001b[39m` : name;
  const { message = '', ...rest } = fields;
  let line = `${timestamp} ${shown} ${target}: ${oneLine(message)}`;
  for (const field in rest) {
    const value = rest[field];
    line += ` ${field}=${typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value)}`;
  }
  return `${line}\n`;
}

/** Needs no quotes. */
const PLAIN = /^[\w.:/{}-]+$/;

/** Control characters must not start a line or colour it. */
function oneLine(text: string): string {
  // eslint-disable-next-line no-control-regex
  return /[\u0000-\u001f\u007f-\u009f]/.test(text) ? JSON.stringify(text) : text;
}

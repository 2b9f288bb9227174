/** A command of the program beside the server: how it is declared, and what runs it. */
import type { Readable, Writable } from 'node:stream';
import {
  BadOption,
  type Environment,
  GivenOptions,
  type Options,
  optionsHelp,
  readEnvironment,
  readFlags,
} from '../base/options.ts';
import { RefusedRequest } from '../outbound/api-peer.ts';
import { OutboundError } from '../outbound/outbound-error.ts';

/** Exit statuses of every command. */
export const DONE = 0;
/** The server refused something, a task failed, counts differ, the server is not well. */
export const FAILED = 1;
/** The command line is wrong, or a file cannot be read or written. */
const MISUSED = 2;
/** The server cannot be reached, or the connection broke, after all attempts. */
const UNREACHED = 3;
/** Ctrl-C, as shells expect it. */
export const INTERRUPTED = 130;

const EXITS =
  '0 done; 1 the server refused something or a task failed; 2 the command line is wrong or a file cannot\n' +
  'be read or written; 3 the server cannot be reached; 130 interrupted';

/** Where a command reads from and writes to. */
export interface Terminal {
  input: Readable;
  /** What was asked for. */
  output: Writable;
  /** Progress and complaints. */
  complaints: Writable & { isTTY?: boolean };
  /** Aborted when the command is to end. */
  signal: AbortSignal;
}

export interface Command<O extends Options = Options> {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** What follows the name, such as `[FILE]...`; empty when nothing may. */
  readonly operands: string;
  /** What is to be known beyond the options; may be empty. */
  readonly notes: string;
  /** Command lines, without the name of the program. */
  readonly examples: readonly string[];
  readonly options: O;
  /** What exit statuses mean, where they mean something else than usual. */
  readonly exits?: string;
  /**
   * @returns the exit status. Throws `BadOption`, `FileError`, `CommandFailure`, `RefusedRequest`
   * and `OutboundError` for what the runner tells of.
   */
  run(
    given: GivenOptions<O>,
    operands: readonly string[],
    terminal: Terminal,
  ): Promise<number> | number;
}

/** Gives a command the type that a list of commands has. */
export function command<O extends Options>(declared: Command<O>): Command {
  return declared as unknown as Command;
}

/** A file that cannot be read or written, or does not hold what it should. */
export class FileError extends Error {
  override readonly name = 'FileError';
}

/** What was asked for cannot be done as things are. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}

/**
 * Runs a command.
 * @param argv without the program and the name of the command.
 * @returns the exit status
 */
export async function runCommand(
  declared: Command,
  argv: readonly string[],
  env: Environment,
  terminal: Terminal,
): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    terminal.output.write(commandHelp(declared));
    return DONE;
  }
  const { options, operands } = declared;
  const complain = (message: string): void => void terminal.complaints.write(`${message}\n`);
  const flags = readFlags(options, argv, operands !== '');
  if (!flags.ok) {
    complain(flags.error);
    return MISUSED;
  }
  const given = new GivenOptions({ ...readEnvironment(options, env), ...flags.value.values });
  try {
    return await declared.run(given, flags.value.operands, terminal);
  } catch (error) {
    if (terminal.signal.aborted) {
      complain('Interrupted.');
      return INTERRUPTED;
    }
    const told = tellOf(error);
    if (told === null) throw error;
    complain(told.message);
    return told.status;
  }
}

function tellOf(error: unknown): { message: string; status: number } | null {
  if (error instanceof BadOption || error instanceof FileError) {
    return { message: error.message, status: MISUSED };
  }
  if (error instanceof CommandFailure) return { message: error.message, status: FAILED };
  if (error instanceof RefusedRequest) return { message: refusalText(error), status: FAILED };
  if (error instanceof OutboundError) return { message: `${error.message}.`, status: UNREACHED };
  return null;
}

/** What a server says of what it refuses. */
export function refusalText({ status, body }: RefusedRequest): string {
  const { message, code } = body;
  const text = typeof message === 'string' ? message.slice(0, 1000) : 'no message';
  return `The server responded with status ${status}: ${text}${typeof code === 'string' ? ` (${code})` : ''}`;
}

function commandHelp(declared: Command): string {
  const { name, summary, operands, notes, examples, options, exits } = declared;
  return [
    `Usage: gannet ${name} [OPTIONS]${operands === '' ? '' : ` ${operands}`}`,
    `\n${summary}\n${notes === '' ? '' : `\n${notes}\n`}`,
    `Options. Each is also an environment variable:\n${optionsHelp(options)}  --help\n      Show this text.`,
    `\n${examples.length === 1 ? 'Example' : 'Examples'}:\n${examples.map((line) => `  gannet ${line}\n`).join('')}`,
    `Exit status: ${exits ?? EXITS}.\n`,
  ].join('\n');
}

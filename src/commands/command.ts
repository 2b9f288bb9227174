/** Commands of the program other than the server: their declaration and how they are run. */
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

/** Exit statuses of all commands. */
export const DONE = 0;
/** The server refused a request, a task failed, counts differ, or the server is unhealthy. */
export const FAILED = 1;
/** The command line is invalid, or a file cannot be read or written. */
const MISUSED = 2;
/** The server cannot be reached, or the connection was lost, after all attempts. */
const UNREACHED = 3;
/** Everything was done, but the server refused documents, which were named and skipped. */
export const SKIPPED = 4;
/** Ctrl-C, with the status that shells expect. */
export const INTERRUPTED = 130;

const EXITS =
  '0 success; 1 the server refused a request or a task failed; 2 the command line is invalid or a file cannot\n' +
  'be read or written; 3 the server cannot be reached; 4 refused documents were skipped; 130 interrupted';

/** OpenSSL's codes for a certificate that nobody vouches for. */
const CERTIFICATE_CODE = /\(\w*(?:SELF_SIGNED|ISSUER_CERT|UNABLE_TO_VERIFY)\w*\)/;

/** The streams that a command reads and writes. */
export interface Terminal {
  input: Readable & { isTTY?: boolean };
  /** The result of the command. */
  output: Writable;
  /** Progress and error messages. */
  complaints: Writable & { isTTY?: boolean };
  /** Aborted when the command must end. */
  signal: AbortSignal;
}

export interface Command<O extends Options = Options> {
  readonly name: string;
  /** Summary in one line. */
  readonly summary: string;
  /** The operands after the name, such as `[FILE]...`; empty: none. */
  readonly operands: string;
  /** Further notes for `--help`; may be empty. */
  readonly notes: string;
  /** Example command lines, without the name of the program. */
  readonly examples: readonly string[];
  readonly options: O;
  /** The meaning of the exit statuses, where it differs from the usual one. */
  readonly exits?: string;
  /**
   * @returns the exit status. Throws `BadOption`, `FileError`, `CommandFailure`, `RefusedRequest`
   * and `OutboundError`, which the runner reports.
   */
  run(
    given: GivenOptions<O>,
    operands: readonly string[],
    terminal: Terminal,
  ): Promise<number> | number;
}

/** Converts a command to the element type of a list of commands. */
export function command<O extends Options>(declared: Command<O>): Command {
  return declared as unknown as Command;
}

/** A file cannot be read or written, or has invalid content. */
export class FileError extends Error {
  override readonly name = 'FileError';
}

/** The command cannot be carried out in the current state. */
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
  const given = new GivenOptions(options, {
    ...readEnvironment(options, env),
    ...flags.value.values,
  });
  try {
    return await declared.run(given, flags.value.operands, terminal);
  } catch (error) {
    if (terminal.signal.aborted) {
      complain('Interrupted.');
      return INTERRUPTED;
    }
    const report = reportOf(error);
    if (report === null) throw error;
    complain(report.message);
    return report.status;
  }
}

function reportOf(error: unknown): { message: string; status: number } | null {
  if (error instanceof BadOption || error instanceof FileError) {
    return { message: error.message, status: MISUSED };
  }
  if (error instanceof CommandFailure) return { message: error.message, status: FAILED };
  if (error instanceof RefusedRequest) return { message: refusalText(error), status: FAILED };
  if (error instanceof OutboundError) {
    const advice = CERTIFICATE_CODE.test(error.message)
      ? ' Its certificate is not trusted: name the file of the authority that signed it with --ca.'
      : '';
    return { message: `${error.message}.${advice}`, status: UNREACHED };
  }
  return null;
}

/** The message for a refused request. */
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

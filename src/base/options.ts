/**
 * Options of a program: declared once, read from flags and the environment, documented by --help.
 */
import { parseArgs } from 'node:util';
import { err, ok, type Result } from './result.ts';
import { parseSize } from './size.ts';
import { suggest } from './suggest.ts';

export type OptionKind = 'text' | 'flag' | 'size' | 'count' | 'optionalCount';

export interface Option {
  kind: OptionKind;
  help: string;
  /** As shown by --help. */
  initial?: string;
  /** --help begins with it. */
  common?: true;
  /** Meilisearch has no such option. */
  ours?: true;
  /**
   * A name of earlier versions of the reference for the option named here. --help leaves it out.
   */
  means?: string;
  /**
   * Accepted from start scripts of the reference and without effect; --help leaves it out, and
   * `help` is the reason that is logged.
   */
  ignored?: true;
}

export type Options = Readonly<Record<string, Option>>;
export type Environment = Readonly<Record<string, string | undefined>>;
export type OptionName<O extends Options> = keyof O & string;
type Value = string | number | boolean;
/** The values as given: not yet checked. */
export type Values<O extends Options> = Partial<Record<OptionName<O>, Value>>;

/** An option has an invalid value. The message is for the person who gave it. */
export class BadOption extends Error {
  override readonly name = 'BadOption';
}

/** Throws `BadOption`. */
export function bad(name: string, value: unknown, expected: string): never {
  throw new BadOption(`Bad value \`${String(value)}\` for ${name}: expected ${expected}.`);
}

export function isOptionOf<O extends Options>(options: O, name: string): name is OptionName<O> {
  return Object.hasOwn(options, name);
}

export interface Flags<O extends Options> {
  values: Values<O>;
  /** Arguments that are not options. */
  operands: string[];
}

/** @param takesOperands whether operands are allowed */
export function readFlags<O extends Options>(
  options: O,
  argv: readonly string[],
  takesOperands: boolean,
): Result<Flags<O>, string> {
  const isFollowed = (at: number): boolean => argv[at + 1]?.startsWith('--') === false;
  const kindOf = (name: OptionName<O>): OptionKind => options[name]!.kind;
  const args = argv.map((argument, at) => {
    const name = argument.slice(2);
    const optional =
      isOptionOf(options, name) && kindOf(name) === 'optionalCount' && !isFollowed(at);
    return optional ? `${argument}=true` : argument;
  });
  const { tokens } = parseArgs({
    args,
    options: Object.fromEntries(
      Object.entries(options).map(
        ([name, { kind }]) => [name, { type: kind === 'flag' ? 'boolean' : 'string' }] as const,
      ),
    ),
    strict: false,
    tokens: true,
  });
  const values: Record<string, Value> = {};
  const operands: string[] = [];
  for (const token of tokens) {
    if (takesOperands && token.kind === 'positional') operands.push(token.value);
    if (takesOperands && token.kind !== 'option') continue;
    if (token.kind !== 'option' || !token.rawName.startsWith('--')) {
      return err(`Unexpected argument \`${args[token.index]}\`. See --help.`);
    }
    const { name, value, inlineValue } = token;
    if (!isOptionOf(options, name)) {
      return err(
        unknownOption(
          token.rawName,
          Object.keys(options).map((other) => `--${other}`),
        ),
      );
    }
    if (kindOf(name) === 'flag') values[name] = value === undefined ? true : isTrue(value);
    else if (value === undefined || (inlineValue === false && value.startsWith('--'))) {
      return err(`The option --${name} needs a value.`);
    } else {
      values[name] = kindOf(name) === 'optionalCount' && value === 'true' ? true : value;
    }
  }
  return ok({ values: values as Values<O>, operands });
}

export function unknownOption(name: string, accepted: readonly string[]): string {
  const near = suggest(name, accepted);
  return `Unknown option ${name}${near === undefined ? '' : `, did you mean ${near}`}? See --help.`;
}

export function readEnvironment<O extends Options>(options: O, env: Environment): Values<O> {
  const values: Record<string, Value> = {};
  for (const [name, { kind }] of Object.entries(options)) {
    const text = env[variableName(name)];
    if (text === undefined) continue;
    values[name] = variableValue(kind, text);
  }
  return values as Values<O>;
}

export function variableValue(kind: OptionKind, text: string): string | boolean {
  return kind === 'flag' ? isTrue(text) : text;
}

function isTrue(text: string): boolean {
  return !['n', 'no', 'f', 'false', 'off', '0'].includes(text.toLowerCase());
}

export function variableName(name: string): string {
  return `GANNET_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** The given values, by type. Throws `BadOption` for a malformed one. */
export class GivenOptions<O extends Options> {
  readonly #values: Values<O>;

  constructor(values: Values<O>) {
    this.#values = values;
  }

  text(name: OptionName<O>): string | null {
    const value = this.#values[name];
    return value === undefined ? null : String(value);
  }

  /** Throws `BadOption` if it is not given. @param what the value, for the message */
  required(name: OptionName<O>, what: string): string {
    const value = this.text(name);
    if (value === null || value === '') throw new BadOption(`--${name} is required: ${what}.`);
    return value;
  }

  flag(name: OptionName<O>): boolean {
    return this.#values[name] === true;
  }

  /** Bytes. */
  size(name: OptionName<O>, initial: number): number {
    const value = this.text(name);
    return value === null
      ? initial
      : (parseSize(value) ?? bad(name, value, 'a size such as `100 MiB`'));
  }

  count<I extends number | null>(
    name: OptionName<O>,
    initial: I,
    min = 0,
    max = Infinity,
  ): number | I {
    const value = this.text(name);
    if (value === null) return initial;
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max) return number;
    const range = max === Infinity ? `at least ${min}` : `${min} to ${max}`;
    return bad(name, value, `a whole number of ${range}`);
  }

  /** null: not given, or given as `false`. `initial`: given without a number. */
  optionalCount(name: OptionName<O>, initial: number, min: number, max: number): number | null {
    const value = this.#values[name];
    if (value === undefined || value === false) return null;
    return value === true ? initial : this.count(name, initial, min, max);
  }

  oneOf<T extends string>(name: OptionName<O>, accepted: readonly T[], initial: T): T {
    const value = this.text(name);
    if (value === null) return initial;
    const found = accepted.find((known) => known.toLowerCase() === value.toLowerCase());
    return found ?? bad(name, value, `one of ${accepted.join(', ')}`);
  }
}

/** Whether --help lists an option. */
export function isShown({ means, ignored }: Option): boolean {
  return means === undefined && ignored !== true;
}

/** The --help text of the options, one paragraph each. */
export function optionsHelp(options: Options): string {
  const values = { flag: '', optionalCount: ' [N]', text: ' TEXT', size: ' SIZE', count: ' N' };
  return Object.entries(options)
    .filter(([, option]) => isShown(option))
    .map(([name, { kind, help, initial }]) => {
      const note = initial === undefined ? '' : ` Default: ${initial}.`;
      return `  --${name}${values[kind]}\n      ${help}${note} [${variableName(name)}]\n`;
    })
    .join('');
}

/**
 * Options of a program: declared once, read from flags and the environment, documented by --help.
 */
import { parseArgs } from 'node:util';
import { err, ok, type Result } from './result.ts';
import { parseSize } from './size.ts';
import { suggest } from './suggest.ts';

export type OptionKind = 'text' | 'flag' | 'size' | 'count' | 'optionalCount';

/**
 * An option, declared once: its type (`ValueOf`), check, variable, key of the configuration file,
 * the text of --help and its row in `docs/options.md` follow from this.
 */
export interface Option {
  kind: OptionKind;
  help: string;
  /** The value when none is given, as a person would write it. */
  initial?: string;
  /** The value when none is given and no text means it. Absent: null. */
  otherwise?: () => unknown;
  /** What --help says of that value. */
  shown?: string;
  /** Range of a count; absent: 0 and Infinity. */
  min?: number;
  max?: number;
  /** The value of an `optionalCount` that is given without a number. */
  bare?: number;
  /** All values of a text, which may be given in any case. */
  oneOf?: readonly string[];
  /** The value of a text. Throws `BadOption`. */
  read?: (text: string, name: string) => unknown;
  /** Options without which this one would have no effect. */
  needs?: readonly string[];
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

type Read<T extends Option> = T extends { read: (text: string, name: string) => infer R }
  ? R
  : T extends { oneOf: readonly (infer R)[] }
    ? R
    : T['kind'] extends 'flag'
      ? boolean
      : T['kind'] extends 'text'
        ? string
        : number;
type Otherwise<T extends Option> = T extends { initial: string } | { kind: 'flag' }
  ? never
  : T extends { otherwise: () => infer R }
    ? R
    : null;
/** The type of the value of an option. */
export type ValueOf<T extends Option> = Read<T> | Otherwise<T>;
export type ValuesOf<O extends Options> = { readonly [N in OptionName<O>]: ValueOf<O[N]> };

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

/** The given values, by type. */
export class GivenOptions<O extends Options> {
  /** Reading a member throws `BadOption` if the value is malformed. */
  readonly values: ValuesOf<O>;
  readonly #given: Values<O>;

  constructor(options: O, given: Values<O>) {
    this.#given = given;
    const values = {};
    for (const [name, option] of Object.entries(options)) {
      Object.defineProperty(values, name, {
        enumerable: true,
        get: () => valueOf(name, option, given[name]),
      });
    }
    this.values = values as ValuesOf<O>;
  }

  /** As given; null: not given. */
  text(name: OptionName<O>): string | null {
    const value = this.#given[name];
    return value === undefined ? null : String(value);
  }

  /** Throws `BadOption` if it is not given. @param what the value, for the message */
  required(name: OptionName<O>, what: string): string {
    const value = this.text(name);
    if (value === null || value === '') throw new BadOption(`--${name} is required: ${what}.`);
    return value;
  }

  flag(name: OptionName<O>): boolean {
    return this.#given[name] === true;
  }
}

function valueOf(name: string, option: Option, given: Value | undefined): unknown {
  if (option.kind === 'flag') return given === true;
  if (given === true && option.bare !== undefined) return option.bare;
  if (given !== undefined && (given !== false || option.kind !== 'optionalCount')) {
    return readValue(name, option, String(given));
  }
  if (option.initial !== undefined) return readValue(name, option, option.initial);
  return option.otherwise?.() ?? null;
}

function readValue(name: string, option: Option, text: string): unknown {
  const { kind, read, oneOf, min = 0, max = Infinity } = option;
  if (read !== undefined) return read(text, name);
  if (kind === 'size') return parseSize(text) ?? bad(name, text, 'a size such as `100 MiB`');
  if (kind === 'count' || kind === 'optionalCount') {
    const number = /^\d+$/.test(text) ? Number(text) : NaN;
    if (number >= min && number <= max) return number;
    const range = max === Infinity ? `at least ${min}` : `${min} to ${max}`;
    return bad(name, text, `a whole number of ${range}`);
  }
  if (oneOf === undefined) return text;
  const found = oneOf.find((known) => known.toLowerCase() === text.toLowerCase());
  return found ?? bad(name, text, `one of ${oneOf.join(', ')}`);
}

/** Throws `BadOption` if an option is given without those that it needs. */
export function refuseUseless<O extends Options>(options: O, given: GivenOptions<O>): void {
  const values: Record<string, unknown> = given.values;
  for (const [name, { kind, needs = [] }] of Object.entries(options)) {
    const isGiven = kind === 'flag' ? given.flag(name) : given.text(name) !== null;
    if (!isGiven || needs.every((other) => isOn(values[other]))) continue;
    const list = new Intl.ListFormat('en-GB', { type: 'conjunction' }).format(needs);
    throw new BadOption(`${name} needs ${list}.`);
  }
}

function isOn(value: unknown): boolean {
  return value !== null && value !== false && value !== 0;
}

/** Whether --help lists an option. */
export function isShown({ means, ignored }: Option): boolean {
  return means === undefined && ignored !== true;
}

/** What --help says of the value when none is given. */
export function shownDefault({ initial, shown }: Option): string | undefined {
  return initial ?? shown;
}

/** The --help text of the options, one paragraph each. */
export function optionsHelp(options: Options): string {
  const values = { flag: '', optionalCount: ' [N]', text: ' TEXT', size: ' SIZE', count: ' N' };
  return Object.entries(options)
    .filter(([, option]) => isShown(option))
    .map(([name, option]) => {
      const { kind, help } = option;
      const initial = shownDefault(option);
      const note = initial === undefined ? '' : ` Default: ${initial}.`;
      return `  --${name}${values[kind]}\n      ${help}${note} [${variableName(name)}]\n`;
    })
    .join('');
}

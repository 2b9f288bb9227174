/**
 * Environment variables: those of the program, those of the servers whose start scripts it
 * replaces, and near misses.
 */
import {
  type Environment,
  type OptionName,
  type Options,
  type Values,
  variableName,
  variableValue,
} from './options.ts';
import { suggest } from './suggest.ts';

const OWN = 'GANNET_';
const REFERENCE = 'MEILI_';
/** Prefixes that people write; the first two are correct. */
const PREFIXES = [OWN, REFERENCE, 'MEILISEARCH_'];
/** Variables that Kubernetes sets for a service named after the program. */
const OF_KUBERNETES = /^[A-Z]+_(?:SERVICE_(?:HOST|PORT)|PORT)(?:_|$)/;

/** A variable under our prefix, else under that of the reference. @param name without a prefix */
export function variable(env: Environment, name: string): string | null {
  return env[OWN + name] ?? env[REFERENCE + name] ?? null;
}

/** The options that variables give, under either prefix; ours wins. */
export function readVariables<O extends Options>(options: O, env: Environment): Values<O> {
  const values: Partial<Record<string, string | boolean>> = {};
  for (const [name, option] of Object.entries(options)) {
    const text = env[variableName(name)] ?? env[referenceName(options, name) ?? ''];
    if (text !== undefined) values[name] = variableValue(option.kind, text);
  }
  return values as Values<O>;
}

/** Null: the reference has no such option. */
function referenceName<O extends Options>(options: O, name: OptionName<O>): string | null {
  if (options[name]!.ours === true) return null;
  return REFERENCE + variableName(name).slice(OWN.length);
}

export interface KnownVariables {
  options: Options;
  /** Further names valid with both prefixes, without a prefix. */
  shared: readonly string[];
  /** Full names of further variables. */
  others: readonly string[];
}

/** Notices about the environment, without values: misspelled names, and names that nobody reads. */
export function variableNotices(
  { options, shared, others }: KnownVariables,
  env: Environment,
): { taken: string[]; warnings: string[] } {
  const references = new Set([
    ...Object.keys(options).flatMap((name) => referenceName(options, name) ?? []),
    ...shared.map((name) => REFERENCE + name),
  ]);
  const known = new Set([
    ...Object.keys(options).map(variableName),
    ...shared.map((name) => OWN + name),
    ...others,
    ...references,
  ]);
  const taken: string[] = [];
  const warnings: string[] = [];
  for (const name of Object.keys(env).toSorted()) {
    if (env[name] === undefined) continue;
    if (references.has(name)) {
      const own = OWN + name.slice(REFERENCE.length);
      if (env[own] === undefined) taken.push(name);
      else warnings.push(`${name} is not read: ${own} is set, and wins.`);
      continue;
    }
    const warning = known.has(name) ? null : unreadWarning(name, known);
    if (warning !== null) warnings.push(warning);
  }
  return { taken, warnings };
}

/** Null: the variable does not concern us. */
function unreadWarning(name: string, known: ReadonlySet<string>): string | null {
  const upper = name.toUpperCase().replaceAll('-', '_');
  const prefix = PREFIXES.find((one) => upper.startsWith(one));
  if (prefix === undefined) return nearlyPrefixed(name, known);
  if (OF_KUBERNETES.test(upper)) return null;
  const rest = upper.slice(prefix.length);
  const exact = [OWN + rest, REFERENCE + rest].find((one) => known.has(one));
  const near = exact ?? nearest(OWN + rest, known);
  // Clients use variables with that prefix, too.
  if (prefix !== OWN && prefix !== REFERENCE && exact === undefined) return null;
  return `Nobody reads the variable ${name}${near === undefined ? '.' : `: did you mean ${near}?`}`;
}

/** `GANET_DB_PATH`: a prefix that is nearly right, in front of a known name. */
function nearlyPrefixed(name: string, known: ReadonlySet<string>): string | null {
  const mark = name.indexOf('_') + 1;
  const near = mark === 0 ? undefined : suggest(name.slice(0, mark), [OWN, REFERENCE]);
  if (near === undefined || !known.has(near + name.slice(mark))) return null;
  return `Nobody reads the variable ${name}: did you mean ${near}${name.slice(mark)}?`;
}

function nearest(name: string, known: ReadonlySet<string>): string | undefined {
  return suggest(
    name,
    [...known].filter((one) => one.startsWith(OWN)),
  );
}

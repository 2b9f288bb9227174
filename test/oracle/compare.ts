/**
 * One case for the engine and the oracle: settings, documents in batches, searches; and the
 * differences of their results.
 */
import { FilterError } from './filter.ts';
import { Oracle, SearchOnError, type Body, type SearchParams, type Settings } from './engine.ts';
import { groupsOfOracle } from './groups.ts';
import { finalDocuments, NativeIndex, type Batch } from './native-index.ts';

export interface Collection {
  settings: Settings;
  batches: Batch[];
}

export interface Case extends Collection {
  params: SearchParams;
}

export interface Difference {
  /** Position in the result, as `hits[3]._rankingScore`. */
  path: string;
  engine: unknown;
  oracle: unknown;
}

type Outcome = Body | { code: string };

const VOLATILE = new Set(['processingTimeMs', 'requestUid']);
/** Tolerance of scores: both sides multiply the same small numbers, but may round differently. */
const EPSILON = 1e-12;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function differences(
  engine: unknown,
  oracle: unknown,
  path = '',
  out: Difference[] = [],
): Difference[] {
  if (typeof engine === 'number' && typeof oracle === 'number') {
    if (Math.abs(engine - oracle) > EPSILON * Math.max(1, Math.abs(oracle)))
      out.push({ path, engine, oracle });
  } else if (Array.isArray(engine) && Array.isArray(oracle)) {
    if (engine.length !== oracle.length)
      out.push({ path: `${path}.length`, engine: engine.length, oracle: oracle.length });
    for (let i = 0; i < Math.min(engine.length, oracle.length); i++)
      differences(engine[i], oracle[i], `${path}[${i}]`, out);
  } else if (isObject(engine) && isObject(oracle)) {
    for (const key of new Set([...Object.keys(engine), ...Object.keys(oracle)])) {
      const at = path === '' ? key : `${path}.${key}`;
      if (!VOLATILE.has(key)) differences(engine[key], oracle[key], at, out);
    }
  } else if (engine !== oracle) out.push({ path, engine, oracle });
  return out;
}

function hitsOf(outcome: Outcome): number {
  const { hits = [], groups = [] } = outcome as { hits?: unknown[]; groups?: Body[] };
  return groups.reduce((sum, group) => sum + group.hits.length, hits.length);
}

/** Both sides with the same documents. */
export class Pair {
  readonly engine: NativeIndex;
  readonly oracle: Oracle;

  private constructor(engine: NativeIndex, oracle: Oracle) {
    this.engine = engine;
    this.oracle = oracle;
  }

  static async of({ settings, batches }: Collection): Promise<Pair> {
    const oracle = new Oracle(settings);
    oracle.addDocuments(
      finalDocuments(batches),
      batches.flatMap(({ documents }) => documents),
    );
    return new Pair(await NativeIndex.of(settings, batches), oracle);
  }

  async compare(params: SearchParams): Promise<{ found: Difference[]; hits: number }> {
    const engine = await this.engine.search(params);
    const oracle = this.#oracle(params);
    return { found: differences(engine, oracle), hits: hitsOf(oracle) };
  }

  #oracle(params: SearchParams): Outcome {
    try {
      const { groupBy = null } = params;
      return groupBy === null ? this.oracle.search(params) : groupsOfOracle(this.oracle, params);
    } catch (error) {
      if (error instanceof FilterError) return { code: 'invalid_search_filter' };
      if (error instanceof SearchOnError) return { code: 'invalid_search_attributes_to_search_on' };
      throw error;
    }
  }

  close(): Promise<void> {
    return this.engine.close();
  }
}

export async function compareOnce({ params, ...collection }: Case): Promise<Difference[]> {
  const pair = await Pair.of(collection);
  try {
    return (await pair.compare(params)).found;
  } finally {
    await pair.close();
  }
}

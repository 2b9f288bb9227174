import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A named question about speed, with everything that its answer depends on. See `workloads/*.json`. */
export interface Workload {
  name: string;
  question: string;
  corpus: 'packages' | 'catalogue';
  /** Of the queries, and of the documents where they are generated. */
  seed: number;
  measure: Measure;
  /** Of some figures: what a release must reach, and what we are after. */
  targets?: Record<string, Target>;
}

export interface Target {
  ship: number;
  goal: number;
}

export type Measure =
  | { kind: 'indexing'; batchBytes: number }
  | {
      kind: 'search';
      queries: QueryModel;
      body: Record<string, unknown>;
      /** Arrivals per second of the open loop, and how long. */
      rate: number;
      seconds: number;
    }
  | { kind: 'throughput'; queries: QueryModel; connections: number; seconds: number }
  | {
      kind: 'requests';
      queries: QueryModel;
      repeat: number;
      /** Bodies by name. `"q": "$query"` stands for the next query. */
      requests: Record<string, Record<string, unknown>>;
    }
  | {
      kind: 'updates';
      queries: QueryModel;
      /** Text attribute that gets a new word. */
      field: string;
      changes: number;
      changesPerSecond: number;
      searchesPerSecond: number;
      seconds: number;
    }
  | {
      kind: 'additions';
      /** One per request, so many in each round; the median of the rounds counts. */
      documents: number;
      connections: number;
      rounds: number;
    }
  | {
      kind: 'churn';
      /** Each rewrites this share of the documents, chosen at random. */
      rounds: number;
      share: number;
      /** Of the rewritten documents. */
      batchBytes: number;
    }
  | {
      kind: 'settings';
      /** Changes by name, in order. Each starts from what the ones before have left. */
      changes: Record<string, Record<string, unknown>>;
      /** Reads every document again; canceled when it has begun. */
      canceled: Record<string, unknown>;
      /** Of the index that is searched and changed meanwhile, and of a small one beside it. */
      queries: QueryModel;
      searchesPerSecond: number;
    }
  | { kind: 'start' };

export interface QueryModel {
  /** Attributes that the words are taken from. */
  fields: string[];
  kinds: QueryKind[];
  count: number;
}

/**
 * exact: 1 to 4 neighbouring words of one attribute; prefix: the last one cut short; typo: one edit in a word of
 * five letters or more, now and then two in one of nine; typoprefix: both; phrase: in quotes; common: one
 * frequent word.
 */
export type QueryKind = 'exact' | 'prefix' | 'typo' | 'typoprefix' | 'phrase' | 'common';

const FOLDER = fileURLToPath(new URL('./workloads/', import.meta.url));

/** In the order in which they run: those that change the index come last. */
export function readWorkloads(): Workload[] {
  const order = [
    ...['indexing', 'search', 'requests', 'throughput'],
    ...['start', 'additions', 'updates', 'settings', 'churn'],
  ];
  const rank = ({ measure }: Workload): number => order.indexOf(measure.kind);
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => JSON.parse(readFileSync(FOLDER + name, 'utf8')) as Workload)
    .sort((a, b) => rank(a) - rank(b));
}

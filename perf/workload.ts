import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * A named question about speed, with everything that the result depends on. See `workloads/*.json`.
 */
export interface Workload {
  name: string;
  question: string;
  corpus: 'packages' | 'catalogue';
  /** Seed of the queries, and of the documents where they are generated. */
  seed: number;
  measure: Measure;
  /** Targets of some figures: what a release must reach, and what we aim for. */
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
      /** Arrivals per second of the open loop; `seconds` is its duration. */
      rate: number;
      seconds: number;
    }
  | { kind: 'throughput'; queries: QueryModel; connections: number; seconds: number }
  | {
      kind: 'requests';
      queries: QueryModel;
      repeat: number;
      /** Request bodies by name. `"q": "$query"` stands for the next query. */
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
      /** Documents per round, one per request. The median of the rounds counts. */
      documents: number;
      connections: number;
      rounds: number;
    }
  | {
      kind: 'churn';
      /** Each round rewrites this share of the documents, chosen at random. */
      rounds: number;
      share: number;
      /** Bytes of the rewritten documents in one request. */
      batchBytes: number;
    }
  | {
      kind: 'settings';
      /** Changes by name, in order. Each starts from the result of the previous ones. */
      changes: Record<string, Record<string, unknown>>;
      /** A change that reads every document again; canceled after it has begun. */
      canceled: Record<string, unknown>;
      /**
       * Queries of the index that is searched and changed meanwhile, and of a small index next to
       * it.
       */
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
 * exact: 1 to 4 neighbouring words of one attribute; prefix: the last one cut short; typo: one edit
 * in a word of at least five letters, sometimes two in one of at least nine; typoprefix: both;
 * phrase: in quotes; common: one frequent word.
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

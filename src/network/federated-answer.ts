/** Answers of federated searches, here and elsewhere, read as far as merging needs: hits stay bytes. */
import { isUtf8 } from 'node:buffer';
import { JsonScanner, MalformedJson } from '../base/json-scanner.ts';
import { areScoreValues, type Scored, type ScoreValue } from './score-values.ts';

/** A hit of an answer. */
export interface AnsweredHit extends Scored {
  /** The hit up to the value of `_federation`, and from behind it. */
  before: Buffer;
  after: Buffer;
  indexUid: string;
  /** The same for the same document of an index wherever it is; null: not told. */
  documentKey: string | null;
  /** What the values of its distinct attribute are told apart by; empty: it has none, or there is no such attribute. */
  distinctKeys: readonly string[];
}

/** What a hit behind the end of the list shares with others. */
export type FurtherHit = Pick<AnsweredHit, 'position' | 'distinctKeys'>;

export interface FacetCounts {
  /** By attribute and value. */
  distribution: Record<string, Record<string, number>>;
  stats: Record<string, { min: number; max: number }>;
  /** Documents that were counted; null: not told. */
  candidates: number | null;
}

export interface FederatedAnswer {
  hits: AnsweredHit[];
  processingTimeMs: number;
  /** `estimatedTotalHits` or `totalHits`. */
  total: number;
  /** Hits that `total` counts behind the last one, as far as they have values of the distinct attribute; null: not told. */
  further: FurtherHit[] | null;
  /** Some query was answered with the help of vectors. */
  hasVectors: boolean;
  /** By position of the query. */
  queryVectors: Record<string, unknown>;
  facetsByIndex: Record<string, FacetCounts>;
  /** Of the queries in their order; null: not asked for. */
  metadata: Record<string, unknown>[] | null;
}

/** What `_federation` of a hit must have between servers. */
interface InnerFederation {
  indexUid: string;
  queriesPosition: number;
  weightedRankingScore: number;
  weightedScoreValues: ScoreValue[];
  documentKey?: string;
  distinctKeys?: string[];
}

/** Other requests come between the hits of a long answer. Rejects with `MalformedJson` when it is something else. */
export async function readFederatedAnswer(bytes: Buffer): Promise<FederatedAnswer> {
  if (!isUtf8(bytes)) throw new MalformedJson('not UTF-8');
  const answer: FederatedAnswer = {
    hits: [],
    processingTimeMs: 0,
    total: -1,
    further: null,
    hasVectors: false,
    queryVectors: {},
    facetsByIndex: {},
    metadata: null,
  };
  let hasHits = false;
  const scanner = new JsonScanner(bytes);
  await scanner.objectInTurns(async (name) => {
    switch (name) {
      case 'hits':
        hasHits = true;
        await scanner.arrayInTurns(() => answer.hits.push(readHit(scanner)));
        break;
      case 'processingTimeMs':
        answer.processingTimeMs = numberOf(scanner);
        break;
      case 'estimatedTotalHits':
      case 'totalHits':
        answer.total = numberOf(scanner);
        break;
      case 'furtherDistinctKeys': {
        const further: FurtherHit[] = [];
        await scanner.arrayInTurns(() => further.push(furtherOf(scanner.value())));
        answer.further = further;
        break;
      }
      case 'semanticHitCount':
        answer.hasVectors = true;
        break;
      case 'queryVectors':
        answer.queryVectors = objectOf(scanner.value());
        break;
      case 'facetsByIndex':
        for (const [uid, facets] of Object.entries(objectOf(scanner.value()))) {
          answer.facetsByIndex[uid] = facetsOf(facets);
        }
        break;
      case 'metadata': {
        const list = scanner.value();
        if (Array.isArray(list)) answer.metadata = list.map(objectOf);
      }
    }
  });
  scanner.end();
  if (!hasHits || answer.total < 0) throw new MalformedJson('no answer of a federated search');
  return answer;
}

function readHit(scanner: JsonScanner): AnsweredHit {
  const { bytes, at: start } = scanner;
  let from = -1;
  let to = -1;
  let federation: unknown;
  scanner.object((name) => {
    if (name !== '_federation') return;
    from = scanner.at;
    federation = scanner.value();
    to = scanner.at;
  });
  if (!isInner(federation)) throw new MalformedJson('a hit without the scores that merging needs');
  return {
    before: bytes.subarray(start, from),
    after: bytes.subarray(to, scanner.at),
    indexUid: federation.indexUid,
    position: federation.queriesPosition,
    global: federation.weightedRankingScore,
    values: federation.weightedScoreValues,
    documentKey: federation.documentKey ?? null,
    distinctKeys: federation.distinctKeys ?? [],
  };
}

function isInner(value: unknown): value is InnerFederation {
  if (typeof value !== 'object' || value === null) return false;
  const inner = value as Record<string, unknown>;
  return (
    typeof inner.indexUid === 'string' &&
    Number.isSafeInteger(inner.queriesPosition) &&
    typeof inner.weightedRankingScore === 'number' &&
    ['string', 'undefined'].includes(typeof inner.documentKey) &&
    (inner.distinctKeys === undefined || areTexts(inner.distinctKeys)) &&
    areScoreValues(inner.weightedScoreValues)
  );
}

function areTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

/** The position of a query, then keys. */
function furtherOf(value: unknown): FurtherHit {
  if (Array.isArray(value)) {
    const [position, ...distinctKeys] = value as unknown[];
    if (Number.isSafeInteger(position) && areTexts(distinctKeys)) {
      return { position: position as number, distinctKeys };
    }
  }
  throw new MalformedJson('no keys of a hit');
}

function numberOf(scanner: JsonScanner): number {
  const value = scanner.value();
  if (typeof value !== 'number' || value < 0) throw new MalformedJson('not a count');
  return value;
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new MalformedJson('not an object');
}

function facetsOf(value: unknown): FacetCounts {
  const { distribution, stats, candidates } = objectOf(value);
  const counts: FacetCounts = {
    ...{ distribution: {}, stats: {} },
    candidates: typeof candidates === 'number' ? candidates : null,
  };
  for (const [name, values] of Object.entries(objectOf(distribution))) {
    for (const count of Object.values(objectOf(values))) {
      if (typeof count !== 'number') throw new MalformedJson('not a count');
    }
    counts.distribution[name] = values as Record<string, number>;
  }
  for (const [name, range] of Object.entries(objectOf(stats))) {
    const { min, max } = objectOf(range);
    if (typeof min !== 'number' || typeof max !== 'number') throw new MalformedJson('not a range');
    counts.stats[name] = { min, max };
  }
  return counts;
}

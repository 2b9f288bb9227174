/** Answers of federated searches, here and elsewhere, read as far as merging needs: hits stay bytes. */
import { isUtf8 } from 'node:buffer';
import { JsonScanner, MalformedJson } from '../base/json-scanner.ts';
import { pauser } from '../base/pauser.ts';
import { countOf } from './count.ts';
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

/** Pairs: an object with as many members takes long to make, and to read. */
export type ValueCounts = readonly (readonly [value: string, count: number])[];

export interface FacetCounts {
  /** By attribute. */
  distribution: Record<string, ValueCounts>;
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
    facetsByIndex: byName(),
    metadata: null,
  };
  let hasHits = false;
  const pause = pauser();
  const scanner = new JsonScanner(bytes);
  await scanner.objectInTurns(async (name) => {
    switch (name) {
      case 'hits':
        hasHits = true;
        await scanner.arrayInTurns(() => answer.hits.push(readHit(scanner)));
        break;
      case 'processingTimeMs':
        answer.processingTimeMs = countOf(scanner.value());
        break;
      case 'estimatedTotalHits':
      case 'totalHits':
        answer.total = countOf(scanner.value());
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
        await scanner.objectInTurns(async (uid) => {
          answer.facetsByIndex[uid] = await readFacets(scanner, pause);
        });
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
    Number.isFinite(inner.weightedRankingScore) &&
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

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new MalformedJson('not an object');
}

async function readFacets(
  scanner: JsonScanner,
  pause: ReturnType<typeof pauser>,
): Promise<FacetCounts> {
  const counts: FacetCounts = { distribution: byName(), stats: byName(), candidates: null };
  const members = new Set<string>();
  await scanner.objectInTurns(async (member) => {
    members.add(member);
    if (member === 'candidates') counts.candidates = countOf(scanner.value());
    if (member === 'stats') counts.stats = statsOf(scanner.value());
    if (member !== 'distribution') return;
    await scanner.objectInTurns(async (attribute) => {
      counts.distribution[attribute] = await readCounts(scanner, pause);
    });
  });
  if (members.has('distribution') && members.has('stats')) return counts;
  throw new MalformedJson('no facets of an index');
}

/** Attributes and indexes may have the name of anything that objects have by birth. */
function byName<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}

async function readCounts(
  scanner: JsonScanner,
  pause: ReturnType<typeof pauser>,
): Promise<ValueCounts> {
  const counts: [value: string, count: number][] = [];
  await scanner.objectInTurns(async (value) => {
    counts.push([value, countOf(scanner.value())]);
    await pause();
  });
  return counts;
}

function statsOf(value: unknown): FacetCounts['stats'] {
  const stats: FacetCounts['stats'] = byName();
  for (const [name, range] of Object.entries(objectOf(value))) {
    const { min, max } = objectOf(range);
    if (!Number.isFinite(min) || !Number.isFinite(max)) throw new MalformedJson('not a range');
    stats[name] = { min: min as number, max: max as number };
  }
  return stats;
}

/** What answers hold, as far as parts of them are made here and not in the engine. */
import { floatsOf } from './floats.ts';
import type { Schema } from './schema.ts';

const NUMBER: Schema = { type: 'number' };

export const QUERY_VECTOR: Schema = { type: 'array', items: NUMBER };
/** By position of the query. */
export const QUERY_VECTORS: Schema = { type: 'object', additionalProperties: QUERY_VECTOR };
export const FACET_STATS: Schema = {
  type: 'object',
  additionalProperties: {
    type: 'object',
    properties: { min: NUMBER, max: NUMBER },
    required: ['min', 'max'],
  },
};
/** `_federation` of a hit. */
export const FEDERATION_OF_HIT: Schema = {
  type: 'object',
  properties: {
    indexUid: { type: 'string' },
    queriesPosition: { type: 'integer' },
    weightedRankingScore: NUMBER,
    remote: { type: ['string', 'null'] },
  },
  required: ['indexUid', 'queriesPosition', 'weightedRankingScore'],
};

export const queryVectorFloats = floatsOf(QUERY_VECTOR);
export const queryVectorsFloats = floatsOf(QUERY_VECTORS);
export const facetStatsFloats = floatsOf(FACET_STATS);
export const federationFloats = floatsOf(FEDERATION_OF_HIT);

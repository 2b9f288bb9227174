/** The reports on searches that run, and on those that cost most. */
import {
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
  optionals,
  string,
  type Static,
} from './declare.ts';

/** The last hours that are kept, the present one included. */
export const INSIGHT_HOURS_MAX = 24;

export const INSIGHTS_QUERY = object(
  optionals({
    by: oneOf(['cpu', 'count', 'p99'], { default: 'cpu' }),
    hours: integer({ minimum: 1, maximum: INSIGHT_HOURS_MAX, default: INSIGHT_HOURS_MAX }),
    limit: integer({ minimum: 0, maximum: 1000, default: 20 }),
  }),
);
export type InsightsQuery = Static<typeof INSIGHTS_QUERY>;

const TEXT = string();
const SHAPE = {
  kind: TEXT,
  indexUids: list(TEXT),
  parameters: list(TEXT),
  words: integer({ minimum: 0 }),
};
const STAGE = object({
  name: TEXT,
  ms: number(),
  // Processor time, of which waiting is no part; what `size` counts, such as documents.
  ...optionals({ cpuMs: number(), unit: TEXT, size: integer({ minimum: 0 }) }),
});
export type Stage = Static<typeof STAGE>;

export const COSTLY_SEARCHES = object({
  results: list(
    object({
      ...SHAPE,
      count: integer({ minimum: 0 }),
      failed: integer({ minimum: 0 }),
      cpuMs: number(),
      meanMs: number(),
      p99Ms: number(),
      durations: list(object({ upToMs: number(), count: integer({ minimum: 0 }) })),
      example: nullable(
        object({ requestId: TEXT, startedAt: TEXT, durationMs: number(), stages: list(STAGE) }),
      ),
    }),
  ),
  missingNodes: list(TEXT),
});
export type CostlySearches = Static<typeof COSTLY_SEARCHES>;

export const RUNNING_SEARCHES = object({
  results: list(
    object({ id: TEXT, requestId: TEXT, startedAt: TEXT, durationMs: number(), ...SHAPE }),
  ),
  missingNodes: list(TEXT),
});
export type RunningSearches = Static<typeof RUNNING_SEARCHES>;

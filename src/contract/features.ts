import { boolean, each, nullable, object, optionals, type Static } from './declare.ts';

/**
 * In the order of the response. A stored value for a feature that unlocks nothing has no effect.
 */
export const FEATURES = [
  'metrics',
  'logsRoute',
  'editDocumentsByFunction',
  'containsFilter',
  'dynamicSearchRules',
  'network',
  'getTaskDocumentsRoute',
  'taskQueueCompactionRoute',
  'compositeEmbedders',
  'chatCompletions',
  'multimodal',
  'foreignKeys',
  'disableDocumentsFetchQueue',
  'legacySearch',
  'renderRoute',
  'vectorStoreSetting',
  'tasksStreamingRoute',
  'mcp',
] as const;
export type Feature = (typeof FEATURES)[number];

export type FeatureSet = Record<Feature, boolean>;

export const NO_FEATURES: FeatureSet = Object.fromEntries(
  FEATURES.map((name) => [name, false]),
) as FeatureSet;

/** null leaves a feature unchanged. */
export const PATCH_FEATURES = object(optionals(each(FEATURES, () => nullable(boolean()))));
export type FeaturePatch = Static<typeof PATCH_FEATURES>;

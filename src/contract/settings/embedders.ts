/**
 * The models that create vectors of documents and queries. Embedders are stored in their effective
 * form: with the source and its defaults.
 */
import { checkPartialEmbedders, type GivenEmbedders } from '../embedders/check.ts';
import { embeddersSchema, inShownOrder } from '../embedders/fields.ts';
import { mergeEmbedders } from '../embedders/merge.ts';
import { reportedEmbedders, shownEmbedders } from '../embedders/shown.ts';
import { type Embedders, SOURCES } from '../embedders/sources.ts';
import { setting, sortedKeys } from './setting.ts';

export const embedders = setting({
  name: 'embedders',
  group: 'Meaning',
  explanation:
    'Models that turn documents and queries into vectors, so that a search finds texts with a similar meaning. Embeddings come from a provider, a local model, or the documents.',
  methods: ['PATCH'],
  code: 'invalid_settings_embedders',
  schema: embeddersSchema(SOURCES.map(({ name }) => name)),
  touches: ['vectors'],
  initial: (): Embedders => ({}),
  canonical: (sent: GivenEmbedders) =>
    sortedKeys(
      Object.fromEntries(
        Object.entries(sent).map(([name, embedder]) => [
          name,
          embedder === null ? null : inShownOrder(embedder),
        ]),
      ),
    ),
  check: checkPartialEmbedders,
  merge: mergeEmbedders,
  render: shownEmbedders,
  report: reportedEmbedders,
});

import { ok } from '../../base/result.ts';
import type { Distribution, GivenEmbedder } from './fields.ts';
import { embeddingsIn, INPUTS_MAX, jsonHeaders, memberOf, sizes } from './protocol.ts';
import { embedderSource } from './source.ts';

const OPENAI_URL = 'https://api.openai.com/v1/embeddings';
const DEFAULT_MODEL = 'text-embedding-3-small';

interface Model {
  dimensions: number;
  /** The model can also produce shorter embeddings. */
  shortens: boolean;
  distribution: Distribution;
}

const MODELS: ReadonlyMap<string, Model> = new Map(
  Object.entries({
    'text-embedding-ada-002': {
      dimensions: 1536,
      shortens: false,
      distribution: { mean: 0.9, sigma: 0.08 },
    },
    'text-embedding-3-small': {
      dimensions: 1536,
      shortens: true,
      distribution: { mean: 0.75, sigma: 0.1 },
    },
    'text-embedding-3-large': {
      dimensions: 3072,
      shortens: true,
      distribution: { mean: 0.7, sigma: 0.1 },
    },
  }),
);

export const openAi = embedderSource({
  name: 'openAi',
  fields: {
    model: 'default',
    apiKey: 'optional',
    dimensions: 'optional',
    documentTemplate: 'optional',
    documentTemplateMaxBytes: 'optional',
    chunks: 'optional',
    url: 'optional',
    maxBatchTexts: 'optional',
    maxBatchBytes: 'optional',
    mode: 'optional',
  },
  // A different URL leads to the same models.
  identifiedBy: ['model', 'dimensions'],
  defaults: () => ({ model: DEFAULT_MODEL }),
  check({ model: given, dimensions }: GivenEmbedder) {
    const name = given ?? DEFAULT_MODEL;
    const model = MODELS.get(name);
    if (model === undefined) {
      const known = [...MODELS.keys()].map((one) => `\`${one}\``);
      const reason = `unknown model \`${name}\` for the source \`openAi\`; accepted are ${known.join(', ')}.`;
      return { field: 'model', reason };
    }
    const size = model.dimensions;
    if (typeof dimensions !== 'number' || dimensions === size) return null;
    if (model.shortens && dimensions < size) return null;
    const atMost = model.shortens ? 'at most ' : '';
    const reason = `the model \`${name}\` has ${atMost}${size} dimensions, not ${dimensions}.`;
    return { field: 'dimensions', reason };
  },
  dimensions: ({ dimensions, model }) => dimensions ?? MODELS.get(model)?.dimensions ?? null,
  distribution: ({ model }) => MODELS.get(model)?.distribution ?? null,
  protocol(embedder, { options, shortenText }) {
    const { model, dimensions, url = OPENAI_URL, apiKey = options.openAiKey } = embedder;
    return ok({
      ...sizes(embedder, INPUTS_MAX),
      url,
      headers: jsonHeaders(apiKey),
      body(inputs) {
        // An array of token numbers is a single input.
        const [first] = inputs;
        const input = inputs.length === 1 && Array.isArray(first) ? first : inputs;
        return JSON.stringify({ model, input, dimensions });
      },
      embeddings: (response) =>
        embeddingsIn(response, 'data', (item) => memberOf(item, 'embedding')),
      explain: () => null,
      shorten: (input, signal) => shortenText(String(input), signal),
    });
  },
});

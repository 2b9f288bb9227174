import { err, ok } from '../../base/result.ts';
import { embeddingOf, embeddingsIn, INPUTS_MAX, jsonHeaders, memberOf, sizes } from './protocol.ts';
import { embedderSource } from './source.ts';

const URL_OF_OLLAMA = 'http://localhost:11434/api/embeddings';
const NOT_FOUND = 404;

export const ollama = embedderSource({
  name: 'ollama',
  fields: {
    model: 'required',
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
  identifiedBy: ['model', 'url'],
  protocol(embedder, { options }) {
    const { model, apiKey, url = options.ollamaUrl ?? URL_OF_OLLAMA } = embedder;
    const path = URL.canParse(url) ? new URL(url).pathname.replace(/\/+$/, '') : '';
    const common = {
      url,
      headers: jsonHeaders(apiKey),
      shorten: null,
      explain: (status: number) =>
        status === NOT_FOUND ? `the model \`${model}\` is not found, pull it first` : null,
    };
    if (path.endsWith('/api/embed')) {
      return ok({
        ...common,
        ...sizes(embedder, INPUTS_MAX),
        body: (inputs: readonly unknown[]) => JSON.stringify({ model, input: inputs }),
        embeddings: (response: unknown) => embeddingsIn(response, 'embeddings', (item) => item),
      });
    }
    if (path.endsWith('/api/embeddings')) {
      return ok({
        ...common,
        ...sizes(embedder, 1),
        body: ([prompt]: readonly unknown[]) => JSON.stringify({ model, prompt }),
        embeddings(response: unknown) {
          const embedding = embeddingOf(memberOf(response, 'embedding'), 'answer.embedding');
          return embedding.ok ? ok([embedding.value]) : embedding;
        },
      });
    }
    return err(
      `The url of an embedder of the source \`ollama\` must end with \`/api/embed\` or \`/api/embeddings\`; \`${path}\` does not.`,
    );
  },
});

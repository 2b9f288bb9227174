import { embedderSource } from './source.ts';

const DEFAULT_MODEL = 'BAAI/bge-base-en-v1.5';
const DEFAULT_REVISION = '617ca489d9e86b49b8167676d8220688b99db36e';

/** Models that run on this machine: `embedding/local-model.ts`. */
export const huggingFace = embedderSource({
  name: 'huggingFace',
  fields: {
    model: 'default',
    revision: 'optional',
    pooling: 'default',
    documentTemplate: 'optional',
    documentTemplateMaxBytes: 'optional',
    chunks: 'optional',
    mode: 'optional',
  },
  identifiedBy: ['model', 'revision', 'pooling'],
  defaults: ({ model }) => ({
    model: DEFAULT_MODEL,
    ...((model ?? DEFAULT_MODEL) === DEFAULT_MODEL ? { revision: DEFAULT_REVISION } : {}),
    pooling: 'useModel',
  }),
});

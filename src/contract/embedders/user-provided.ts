import { embedderSource } from './source.ts';

/** Embeddings are sent with the documents and the queries. */
export const userProvided = embedderSource({
  name: 'userProvided',
  fields: { dimensions: 'required' },
  identifiedBy: [],
});

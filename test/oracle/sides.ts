/**
 * The oracle and the engine behind one face, for examples that both must fulfil.
 */
import type { Document } from './corpus.ts';
import { Oracle, type Body, type SearchParams, type Settings } from './engine.ts';
import { NativeIndex } from './native-index.ts';

export interface Side {
  search(params: SearchParams): Promise<Body>;
  close(): void;
}

/** By name: makes an index of these documents. */
export const SIDES: Record<string, (documents: Document[], settings: Settings) => Promise<Side>> = {
  async oracle(documents, settings) {
    const oracle = new Oracle(settings);
    oracle.addDocuments(documents);
    return { search: async (params) => oracle.search(params), close: () => {} };
  },
  async engine(documents, settings) {
    const index = await NativeIndex.of(settings, [{ documents, deleted: [] }]);
    return {
      search: async (params) => (await index.search(params)) as Body,
      close: () => index.close(),
    };
  },
};

/** The oracle and the engine behind one interface, for examples that both must satisfy. */
import type { Document } from './corpus.ts';
import { Oracle, type Body, type SearchParams, type Settings } from './engine.ts';
import { NativeIndex } from './native-index.ts';

export interface Side {
  search(params: SearchParams): Promise<Body>;
  close(): void;
}

type Open = (documents: Document[], settings: Settings, deleted?: number[]) => Promise<Side>;

/** By name: creates an index of these documents, some of which are then deleted. */
export const SIDES: Record<string, Open> = {
  async oracle(documents, settings, deleted = []) {
    const oracle = new Oracle(settings);
    oracle.addDocuments(documents.filter(({ id }) => !deleted.includes(id as number)));
    return { search: async (params) => oracle.search(params), close: () => {} };
  },
  async engine(documents, settings, deleted = []) {
    const index = await NativeIndex.of(settings, [
      { documents, deleted: [] },
      { documents: [], deleted },
    ]);
    return {
      search: async (params) => (await index.search(params)) as Body,
      close: () => index.close(),
    };
  },
};

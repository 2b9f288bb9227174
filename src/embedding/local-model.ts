/** Models that run on this machine. */
import type { Embedder } from '../contract/embedders.ts';
import { EmbeddingError } from './embedding-error.ts';
import type { Provider } from './provider.ts';

/** Throws `EmbeddingError` where the packages are not installed. */
export function openLocalModel({ model }: Embedder): Provider {
  throw new EmbeddingError(
    `The model \`${String(model)}\` cannot be run here: the packages that run models are not installed. ` +
      '`npm run install:models` installs them.',
  );
}

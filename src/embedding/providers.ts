/** What embeds for an embedder: requests to its provider, or a model on this machine. */
import type { PartEmbedder } from '../contract/embedders/composite.ts';
import type { ProtocolContext } from '../contract/embedders/protocol.ts';
import { dimensionsOf, sourceOf } from '../contract/embedders/sources.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import { EmbeddingError } from './embedding-error.ts';
import { type Provider, type RequestLimits, RequestProvider } from './provider.ts';

export type ProviderOptions = RequestLimits & ProtocolContext['options'];

/** What providers are made with. */
export interface ProviderParts extends ProtocolContext {
  client: OutboundClient;
  options: ProviderOptions;
  /** A provider that runs a model on this machine. */
  localModel: (embedder: LocalEmbedder) => Provider;
}

export type LocalEmbedder = Extract<PartEmbedder, { source: 'huggingFace' }>;

/**
 * The provider of an embedder that computes embeddings, or of a part of a composite one. Throws
 * `EmbeddingError` when there can be none.
 */
export function openProvider(embedder: PartEmbedder, parts: ProviderParts): Provider {
  if (embedder.source === 'huggingFace') return parts.localModel(embedder);
  const protocol = sourceOf(embedder.source).protocol!(embedder, parts);
  if (!protocol.ok) throw new EmbeddingError(protocol.error);
  const dimensions = dimensionsOf(embedder);
  return new RequestProvider(protocol.value, dimensions, parts.client, parts.options);
}

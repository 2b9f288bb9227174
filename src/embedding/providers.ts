/** Creates the provider of an embedder: requests to a service, or a model on this machine. */
import type { PartEmbedder } from '../contract/embedders/composite.ts';
import type { ProtocolContext } from '../contract/embedders/protocol.ts';
import { dimensionsOf, sourceOf } from '../contract/embedders/sources.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import { EmbeddingError } from './embedding-error.ts';
import { type Provider, type RequestLimits, RequestProvider } from './provider.ts';

export type ProviderOptions = RequestLimits & ProtocolContext['options'];

/** The parts that providers are made with. */
export interface ProviderParts extends ProtocolContext {
  client: OutboundClient;
  options: ProviderOptions;
  /** Opens a provider that runs a model on this machine. */
  localModel: (embedder: LocalEmbedder) => Provider;
}

export type LocalEmbedder = Extract<PartEmbedder, { source: 'huggingFace' }>;

/**
 * Opens the provider of an embedder, or of a part of a composite embedder. Throws `EmbeddingError`
 * if that is not possible.
 */
export function openProvider(embedder: PartEmbedder, parts: ProviderParts): Provider {
  if (embedder.source === 'huggingFace') return parts.localModel(embedder);
  const protocol = sourceOf(embedder.source).protocol!(embedder, parts);
  if (!protocol.ok) throw new EmbeddingError(protocol.error);
  const dimensions = dimensionsOf(embedder);
  return new RequestProvider(protocol.value, dimensions, parts.client, parts.options, 'embedder');
}

/** Embedders without their credentials. */
import { masked, maskedHeaders, maskedMembers, maskedUrl } from '../../base/secrets.ts';
import { isGiven } from '../settings/setting.ts';
import type { GivenEmbedders } from './check.ts';
import { type GivenEmbedder, isEmbedder, PARTS } from './fields.ts';

/**
 * The embedders as settings show them: without credentials, except in `headers`, which clients send
 * back.
 */
export function shownEmbedders(embedders: GivenEmbedders): GivenEmbedders {
  return mapEmbedders(embedders, withoutKeys);
}

/** The same for details of tasks, without credentials in headers too. */
export function reportedEmbedders(embedders: GivenEmbedders): GivenEmbedders {
  return mapEmbedders(embedders, (embedder) => {
    const shown = withoutKeys(embedder);
    if (isGiven(shown.headers)) shown.headers = maskedHeaders(shown.headers);
    return shown;
  });
}

function withoutKeys(embedder: GivenEmbedder): GivenEmbedder {
  const shown = { ...embedder };
  if (typeof shown.apiKey === 'string') shown.apiKey = masked(shown.apiKey);
  if (typeof shown.url === 'string') shown.url = maskedUrl(shown.url);
  if (shown.request !== undefined) shown.request = maskedMembers(shown.request);
  return shown;
}

function mapEmbedders(
  embedders: GivenEmbedders,
  map: (embedder: GivenEmbedder) => GivenEmbedder,
): GivenEmbedders {
  const withParts = (embedder: GivenEmbedder): GivenEmbedder => {
    const shown = map(embedder);
    for (const part of PARTS) {
      const nested = shown[part];
      if (isEmbedder(nested)) shown[part] = map(nested);
    }
    return shown;
  };
  return Object.fromEntries(
    Object.entries(embedders).map(([name, embedder]) => [
      name,
      embedder === null ? null : withParts(embedder),
    ]),
  );
}

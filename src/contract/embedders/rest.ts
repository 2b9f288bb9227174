import { ok } from '../../base/result.ts';
import { hasFragments } from './fields.ts';
import { INPUTS_MAX, jsonHeaders, sizes } from './protocol.ts';
import { FRAGMENT, RequestTemplate, ResponseTemplate, TEXT } from './rest-template.ts';
import { embedderSource } from './source.ts';

/** Any provider: the embedder itself describes its requests and responses. */
export const rest = embedderSource({
  name: 'rest',
  fields: {
    apiKey: 'optional',
    dimensions: 'optional',
    documentTemplate: 'optional',
    documentTemplateMaxBytes: 'optional',
    chunks: 'optional',
    url: 'required',
    maxBatchTexts: 'optional',
    maxBatchBytes: 'optional',
    indexingFragments: 'optional',
    searchFragments: 'optional',
    request: 'required',
    response: 'required',
    headers: 'default',
    mode: 'optional',
  },
  identifiedBy: ['request', 'response', 'url'],
  defaults: () => ({ headers: {} }),
  protocol(embedder) {
    const request = new RequestTemplate(embedder.request, hasFragments(embedder) ? FRAGMENT : TEXT);
    const response = new ResponseTemplate(embedder.response);
    const headers = jsonHeaders(embedder.apiKey);
    for (const [name, value] of Object.entries(embedder.headers)) {
      headers[name.toLowerCase()] = value;
    }
    return ok({
      ...sizes(embedder, request.repeats ? INPUTS_MAX : 1),
      url: embedder.url,
      headers,
      bodySecrets: embedder.request,
      body: (inputs) => request.body(inputs),
      embeddings: (received) => response.embeddings(received),
      explain: () => null,
      shorten: null,
    });
  },
});

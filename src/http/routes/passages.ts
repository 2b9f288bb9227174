import { RawJson } from '../../base/json.ts';
import { complete } from '../../contract/declare.ts';
import { searchGate } from '../../contract/multi-search.ts';
import { PASSAGES, PASSAGES_DEFAULTS, type PassagesRequest } from '../../contract/passages.ts';
import { FOUND_PASSAGES } from '../../contract/responses.ts';
import { RenderStopped } from '../../embedding/render-thread.ts';
import { ApiError } from '../../contract/errors.ts';
import { ownBytes } from '../../search/own-bytes.ts';
import { passageSearch } from '../../search/passage-search.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  bodyOf,
  json,
  requesterOf,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';
import { callerOf, checkSearch } from './search.ts';

export const PASSAGE_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/indexes/:index_uid/passages',
    action: 'search',
    summary: 'Finds passages of documents for a model, within a number of tokens.',
    body: bodyOf(PASSAGES, { kind: 'search' }),
    isSearch: true,
    success: 200,
    response: FOUND_PASSAGES,
    handle: findPassages,
  }),
];

async function findPassages(
  context: RequestContext<unknown, PassagesRequest>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { search, indexes, features } = server.services;
  const startedAt = performance.now();
  const uid = context.params.index_uid!;
  const { maxTokens, documents, ...request } = context.body;
  const counts = complete({ maxTokens, documents }, PASSAGES_DEFAULTS);
  const params = passageSearch(request, indexes.settings(uid)?.embedders ?? {});
  const gate = searchGate(params, features.get());
  if (gate !== null) throw gate;
  await checkSearch(uid, params, server);
  const asked = { kind: 'search', uid, params: { ...params, limit: counts.documents } } as const;
  const [{ bytes }] = await search.execute(asked, callerOf(context));
  const found = await server.renders
    .passages(
      requesterOf(context),
      {
        result: ownBytes(bytes, 'lower `documents`'),
        primaryKey: indexes.get(uid)?.primaryKey ?? null,
        maxTokens: counts.maxTokens,
      },
      context.connection,
    )
    .catch((error: unknown) => {
      if (error instanceof RenderStopped) throw new ApiError('bad_request', error.message);
      throw error;
    });
  const passages = found.passages.map((one) => ({
    ...one,
    id: typeof one.id === 'bigint' ? new RawJson(String(one.id)) : one.id,
  }));
  return json(200, {
    ...found,
    passages,
    processingTimeMs: Math.round(performance.now() - startedAt),
  });
}

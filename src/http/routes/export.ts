import { TASK_SUMMARY } from '../../contract/responses.ts';
import { parseSize } from '../../base/size.ts';
import { EXPORT, type ExportBody } from '../../contract/export.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  bodyOf,
  registered,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';

export const EXPORT_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/export',
    action: 'export',
    summary: 'Sends indexes to another instance.',
    body: bodyOf(EXPORT),
    success: 200,
    response: TASK_SUMMARY,
    handle: sendIndexes,
  }),
];

function sendIndexes(
  { body }: RequestContext<unknown, ExportBody>,
  server: Dependencies,
): Promise<RouteResponse> {
  const indexes = Object.entries(body.indexes ?? { '*': {} }).map(([pattern, options]) => [
    server.aliases.targetOf(pattern) ?? pattern,
    { filter: options.filter ?? null, overrideSettings: options.overrideSettings ?? false },
  ]);
  const request = {
    type: 'export' as const,
    url: body.url,
    apiKey: body.apiKey ?? null,
    payloadSizeBytes: payloadSize(body.payloadSize),
    indexes: Object.fromEntries(indexes),
  };
  return registered(server, request, 200);
}

/** Bytes; null when not given. REQUIRES: the size has been checked */
function payloadSize(size: string | number | null | undefined): number | null {
  if (size === undefined || size === null) return null;
  return typeof size === 'number' ? size : parseSize(size)!;
}

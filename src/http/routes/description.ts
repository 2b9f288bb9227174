import { jsonString } from '../../base/json.ts';
import type { Dependencies } from '../dependencies.ts';
import type { HeaderList } from '../connection.ts';
import { openApi } from '../openapi.ts';
import { builtPage } from '../page.ts';
import { json, route, type RouteResponse, type RequestContext, type Route } from '../route.ts';

/** The routes that describe the others. */
export function descriptionRoutes(others: readonly Route[]): Route[] {
  let text: string | null = null;
  return [
    route({
      method: 'GET',
      path: '/openapi.json',
      action: null,
      summary: 'Shows this description.',
      success: 200,
      handle: (_, { version }) => {
        text ??= jsonString(openApi(others, version.serverVersion));
        return { status: 200, body: text };
      },
    }),
    route({
      method: 'GET',
      path: '/',
      action: null,
      summary: 'Shows the page; to programs in production, that the server is running.',
      success: 200,
      handle: showPage,
    }),
  ];
}

function showPage(
  { connection, rawQuery }: RequestContext,
  { production }: Dependencies,
): RouteResponse {
  const { accept, ifNoneMatch } = connection.headers;
  const page = builtPage();
  if (page === null || (production && accept?.includes('text/html') !== true)) {
    return { ...json(200, { status: 'Gannet is running' }), headers: [VARY_ACCEPT] };
  }
  const own = rawQuery === 'images' ? page.headersWithImages : page.headers;
  const headers: HeaderList = production ? [...own, VARY_ACCEPT] : own;
  if (ifNoneMatch === page.tag) return { status: 304, body: null, headers };
  return { status: 200, body: page.html, type: 'text/html; charset=utf-8', headers };
}

const VARY_ACCEPT = ['vary', 'accept'] as const;

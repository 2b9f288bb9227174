import type { Dependencies } from '../dependencies.ts';
import { openApi } from '../openapi.ts';
import { json, route, type Route } from '../route.ts';

/** The routes that tell about the others. */
export function descriptionRoutes(
  { version, production }: Dependencies,
  others: readonly Route[],
): Route[] {
  let text: string | null = null;
  return [
    route({
      method: 'GET',
      path: '/openapi.json',
      action: null,
      summary: 'This description.',
      success: 200,
      handle: () => {
        text ??= JSON.stringify(openApi(others, version.pkgVersion));
        return { status: 200, body: text };
      },
    }),
    route({
      method: 'GET',
      path: '/',
      action: null,
      summary: 'Tells that the server is running.',
      success: 200,
      handle: () =>
        production
          ? json(200, { status: 'Gannet is running' })
          : { status: 200, body: WELCOME, type: 'text/html; charset=utf-8' },
    }),
  ];
}

const WELCOME = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Gannet</title></head>
<body>
<h1>Gannet is running</h1>
<p>The interface is described in <a href="/openapi.json">openapi.json</a>.</p>
</body>
</html>
`;

/**
 * The page at `/`: one document that includes its script and style, built from `src/web/` by
 * `tools/bundle.mjs`. It requests nothing but the routes of this server, and its policy forbids
 * everything else.
 */
import { createHash } from 'node:crypto';
import type { HeaderList } from './connection.ts';

export interface Page {
  readonly html: string;
  readonly headers: HeaderList;
  /** Headers that let the page load images from other servers, for who chose that. */
  readonly headersWithImages: HeaderList;
  /** Changes with every byte of the page. */
  readonly tag: string;
}

const ICON =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0b5d8f"/>' +
      '<circle cx="14" cy="14" r="6.5" fill="none" stroke="#fff" stroke-width="3"/><path d="M19 19l7 7" stroke="#f2b84b" stroke-width="3.5"/></svg>',
  );

let made: Page | null = null;

/** null: this server runs from its sources. */
export function builtPage(): Page | null {
  // The build replaces these names with the texts.
  const script = process.env.GANNET_PAGE_SCRIPT;
  const style = process.env.GANNET_PAGE_STYLE;
  if (script === undefined || style === undefined) return null;
  made ??= makePage(script, style);
  return made;
}

/** @param script without `</script`; `style` without `</style` */
function makePage(script: string, style: string): Page {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Gannet</title>
<link rel="icon" href="${ICON}">
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript><h1>Gannet is running</h1><p>This page needs JavaScript. The interface is described in <a href="openapi.json">openapi.json</a>.</p></noscript>
<script>${script}</script>
</body>
</html>
`;
  const tag = `W/"${createHash('sha256').update(html).digest('base64url').slice(0, 22)}"`;
  const headers = (images: string): HeaderList => [
    ['content-security-policy', policyOf(script, style, images)],
    ['x-content-type-options', 'nosniff'],
    ['referrer-policy', 'no-referrer'],
    ['cross-origin-opener-policy', 'same-origin'],
    ['permissions-policy', 'camera=(), microphone=(), payment=(), usb=()'],
    // Cached, but revalidated each time: a new server has a new page.
    ['cache-control', 'no-cache'],
    ['etag', tag],
  ];
  return {
    html,
    tag,
    headers: headers("'self' data:"),
    headersWithImages: headers("'self' data: https: http:"),
  };
}

/** @param images sources of images */
function policyOf(script: string, style: string, images: string): string {
  return [
    "default-src 'none'",
    `script-src '${hash(script)}'`,
    `style-src '${hash(style)}'`,
    `img-src ${images}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

#!/usr/bin/env node
// Serves the site of `npm run docs` until Ctrl-C, with a server that its search box uses.
//   npm run docs:demo [-- --port 8080]
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { serve } from 'vitepress';
import { startServer } from './server.mjs';

const SETTINGS = 'build/docs/search-settings.json';
const TARGET = 'build/docs/site/search.json';
const { values } = parseArgs({ options: { port: { type: 'string', default: '8080' } } });

if (!existsSync(SETTINGS)) throw new Error('The site is missing: run `npm run docs` first.');
const server = await startServer();
await server.finish('PATCH', '/indexes/docs/settings', readFileSync(SETTINGS));
const sections = readFileSync('build/docs/search.ndjson');
await server.finish('POST', '/indexes/docs/documents', sections, 'application/x-ndjson');
const { key } = await server.json(
  'POST',
  '/keys',
  JSON.stringify({ actions: ['search'], indexes: ['docs'], expiresAt: null }),
);
writeFileSync(TARGET, JSON.stringify({ url: server.url, key, index: 'docs' }));
await serve({ root: 'build/docs/source', port: Number(values.port) });

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    writeFileSync(TARGET, '{}\n');
    await server.close();
    process.exit(0);
  });
}

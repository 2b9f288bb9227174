#!/usr/bin/env node
// Writes the server as one file, dist/main.cjs: reading hundreds of modules took Node longer than all else that a start does.
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: ['src/main.ts'],
  outfile: 'dist/main.cjs',
  bundle: true,
  platform: 'node',
  target: 'node20',
  // Scripts are ready sooner than modules.
  format: 'cjs',
  define: { 'import.meta.url': 'mainUrl' },
  banner: { js: `const mainUrl = require('node:url').pathToFileURL(__filename).href;` },
  // They find their binaries beside themselves.
  external: ['lmdb', '@uwsjs/*'],
  logLevel: 'warning',
});

#!/usr/bin/env node
// Writes the server as one file, dist/main.cjs, and one for each kind of thread: reading hundreds of modules took Node longer than all else that a start does.
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

rmSync('dist', { recursive: true, force: true });
await build({
  // What runs in threads of its own is a file of its own.
  entryPoints: {
    main: 'src/main.ts',
    'edit-worker': 'src/rhai/worker.ts',
    'render-worker': 'src/embedding/render-worker.ts',
  },
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
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

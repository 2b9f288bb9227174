#!/usr/bin/env node
// Bundles the server to dist/main.cjs and one file for each kind of thread, because loading
// hundreds of modules took Node longer than everything else at start-up.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { landPath } from './land.mjs';
import { nativeVersions } from './native-versions.mjs';

/** The commit that is built: from the environment, else from git, else unknown. */
function commit(variable, format) {
  if (process.env[variable] !== undefined) return process.env[variable];
  try {
    const version = execFileSync('git', ['show', '-s', `--format=${format}`, 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return version.trim();
  } catch {
    return 'unknown';
  }
}

/** Folders of the bundled packages, whose licences a distribution must include. */
const packages = new Set(['node_modules/world-atlas']);
function noteInputs({ inputs }) {
  for (const input of Object.keys(inputs)) {
    const folder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
    if (folder !== undefined) packages.add(folder);
  }
}

/** The site of this version, where one is published below `GANNET_DOCS_URL`; else empty. */
function docsUrl() {
  const { GANNET_DOCS_URL: root = '' } = process.env;
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  return root === '' ? '' : `${root}${version}/`;
}

/** The books that the page offers: enough for a try, and half the bytes of all. */
function demoBooks() {
  const lines = readFileSync('test/demo/books.ndjson', 'utf8').split('\n');
  return lines.slice(0, 200).join('\n');
}

/** Bundles a part of the page as text that can be embedded in its document. */
async function pagePart(entryPoint) {
  const { outputFiles, metafile } = await build({
    metafile: true,
    entryPoints: [entryPoint],
    bundle: true,
    minify: true,
    write: false,
    platform: 'browser',
    format: 'iife',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    charset: 'utf8',
    define: {
      'process.env.GANNET_DOCS': JSON.stringify(docsUrl()),
      'process.env.GANNET_LAND': JSON.stringify(landPath()),
      'process.env.GANNET_DEMO': JSON.stringify(demoBooks()),
    },
    logLevel: 'warning',
  });
  noteInputs(metafile);
  const { text } = outputFiles[0];
  if (/<\/(?:script|style)/i.test(text)) throw new Error(`${entryPoint} would end its element`);
  return text;
}

rmSync('dist', { recursive: true, force: true });
const { metafile } = await build({
  metafile: true,
  // Each thread has its own file.
  entryPoints: {
    main: 'src/main.ts',
    'edit-process': 'src/rhai/script-main.ts',
    'body-worker': 'src/http/body-worker.ts',
    'http-thread': 'src/http/threads/thread.ts',
    'report-worker': 'src/analytics/report-worker.ts',
    'share-worker': 'src/network/share-worker.ts',
    'render-worker': 'src/embedding/render-worker.ts',
    mcp: 'src/mcp/protocol.ts',
    'local-model': 'src/embedding/local-model-process.ts',
  },
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node20',
  // CommonJS scripts load faster than modules.
  format: 'cjs',
  // Leaves out a fifth of the script that HTTP threads load.
  minifySyntax: true,
  define: {
    'import.meta.url': 'mainUrl',
    'process.env.GANNET_NATIVE_VERSIONS': JSON.stringify(JSON.stringify(nativeVersions())),
    'process.env.GANNET_COMMIT_SHA': JSON.stringify(commit('GANNET_COMMIT_SHA', '%H')),
    'process.env.GANNET_PAGE_SCRIPT': JSON.stringify(await pagePart('src/web/main.tsx')),
    'process.env.GANNET_PAGE_STYLE': JSON.stringify(await pagePart('src/web/style.css')),
    'process.env.GANNET_COMMIT_DATE': JSON.stringify(commit('GANNET_COMMIT_DATE', '%cI')),
  },
  banner: { js: `const mainUrl = require('node:url').pathToFileURL(__filename).href;` },
  // These packages load binaries from their own folders.
  external: ['lmdb', '@uwsjs/*'],
  logLevel: 'warning',
});
noteInputs(metafile);
writeFileSync('dist/packages.json', `${JSON.stringify([...packages].sort(), null, 2)}\n`);

/**
 * Test programs that run in their own process, bundled into one file each: reading their sources
 * would take Node a second.
 */
import { buildSync } from 'esbuild';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Inside the project, whose packages and addon they use. */
const BUILD = resolve('build');

/** The bundle of `name` in this folder; removed when this process ends. */
export function bundledChild(name: string): string {
  mkdirSync(BUILD, { recursive: true });
  const folder = mkdtempSync(join(BUILD, 'test-child-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const outfile = join(folder, 'child.cjs');
  buildSync({
    entryPoints: [`test/support/${name}`],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    // Where it finds the output of the build.
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(resolve('dist/main.cjs')).href) },
    external: ['lmdb', '@uwsjs/*'],
    logLevel: 'warning',
  });
  return outfile;
}

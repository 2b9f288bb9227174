#!/usr/bin/env node
// Builds the addon: with cmake-js if cmake is installed, else with node-gyp from the same sources.
//   node build.mjs [Release|Debug|ASan|TSan]
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';

const type = process.argv[2] ?? 'Release';
const run = (command, args) => spawnSync(command, args, { stdio: 'inherit' }).status ?? 1;
const has = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;
const tool = has('cmake') && !process.env.GANNET_NODE_GYP ? 'cmake-js' : 'node-gyp';
const stamp = 'build/tool';
if (existsSync('build') && (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== tool))
  rmSync('build', { recursive: true });
mkdirSync('build', { recursive: true });
writeFileSync(stamp, tool);
const cores = String(availableParallelism());
let status;
if (tool === 'cmake-js') {
  status = run(process.execPath, [
    'node_modules/cmake-js/bin/cmake-js',
    'build',
    '-p',
    cores,
    '-B',
    type,
    `--CDNODE_EXE=${process.execPath}`,
  ]);
} else {
  const prefix = resolve(dirname(process.execPath), '..');
  status = run(process.execPath, [
    'node_modules/node-gyp/bin/node-gyp.js',
    'configure',
    'build',
    `--nodedir=${prefix}`,
    '-j',
    cores,
  ]);
}
process.exit(status);

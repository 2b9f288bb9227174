#!/usr/bin/env node
// Adds the packages that run local models (embedders with the source huggingFace) to node_modules,
// without changing package.json. One platform of the runtime is kept, 46 MB of 300.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGES = ['onnxruntime-node@1.30.0', '@huggingface/tokenizers@0.2.0'];

const { status } = spawnSync(
  'npm',
  // The runtime's install script would download GPU libraries.
  ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', ...PACKAGES],
  { stdio: 'inherit' },
);
if (status !== 0) process.exit(status ?? 1);
const binaries = 'node_modules/onnxruntime-node/bin';
for (const version of existsSync(binaries) ? readdirSync(binaries) : []) {
  for (const platform of readdirSync(join(binaries, version))) {
    for (const machine of readdirSync(join(binaries, version, platform))) {
      if (platform === process.platform && machine === process.arch) continue;
      rmSync(join(binaries, version, platform, machine), { recursive: true });
    }
  }
}

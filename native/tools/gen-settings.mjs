// Writes native/index/default_settings.h: the defaults, declared in `src/contract/settings/`, of
// the settings that native/index/settings.cc reads.
// Run it with: node --import tsx native/tools/gen-settings.mjs
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defaultSettings } from '../../src/contract/settings.ts';
import { SEARCH_CUTOFF_MS } from '../../src/contract/settings/registry.ts';

const READER = new URL('../index/settings.cc', import.meta.url);

export function generate() {
  const read = [...readFileSync(READER, 'utf8').matchAll(/\bstored\["(\w+)"\]/g)];
  const names = read.map((match) => match[1]);
  // What null stands for, where it is the default.
  const all = { ...defaultSettings(), searchCutoffMs: SEARCH_CUTOFF_MS };
  const defaults = Object.fromEntries(names.map((name) => [name, all[name]]));
  return `// The defaults of the settings that the engine reads.
// Written by native/tools/gen-settings.mjs; do not edit.
#pragma once

namespace gannet::index {

inline constexpr char kDefaultSettings[] = R"json(${JSON.stringify(defaults, null, 2)})json";

}  // namespace gannet::index
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(fileURLToPath(new URL('../index/default_settings.h', import.meta.url)), generate());
}

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../base/built-file.ts';

/** The protocol, loaded on first use: a server without assistants does not pay for it. */
export function protocol(): typeof import('./protocol.ts') {
  const load = createRequire(import.meta.url);
  return load(fileURLToPath(builtFile('mcp.cjs'))) as typeof import('./protocol.ts');
}

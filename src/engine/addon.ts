import { createRequire } from 'node:module';
import type { NativeAddon } from './native.ts';

/** The same from `src/engine` and from `dist/engine`. */
const ADDON = '../../build/Release/gannet.node';

/**
 * Loads the native engine: the file that the variable GANNET_ADDON names, or else the one built here. Throws when it
 * has not been built for this platform and Node version.
 */
export function loadAddon(): NativeAddon {
  return createRequire(import.meta.url)(process.env['GANNET_ADDON'] ?? ADDON) as NativeAddon;
}

import { createRequire } from 'node:module';
import type { NativeAddon } from './native.ts';

/** By `imports` of package.json: the same from the sources and from what is built. */
const ADDON = '#addon';

/**
 * Loads the native engine: the file that the variable GANNET_ADDON names, or else the one built here. Throws when it
 * has not been built for this platform and Node version.
 */
export function loadAddon(): NativeAddon {
  return createRequire(import.meta.url)(process.env['GANNET_ADDON'] ?? ADDON) as NativeAddon;
}

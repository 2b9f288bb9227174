import { createRequire } from 'node:module';
import type { NativeAddon } from './native.ts';

/** Resolved by `imports` of package.json, both from the sources and from the build. */
const ADDON = '#addon';

/**
 * Loads the native engine: the file named by the variable GANNET_ADDON, or else the one built here.
 * Throws when it has not been built for this platform and Node version.
 */
export function loadAddon(): NativeAddon {
  return createRequire(import.meta.url)(process.env['GANNET_ADDON'] ?? ADDON) as NativeAddon;
}

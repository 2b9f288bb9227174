import { createRequire } from 'node:module';
import type { NativeAddon } from './native.ts';

/** Built here; resolved by `imports` of package.json, from the sources and from the build. */
const BUILT = '#addon';

/**
 * Loads the native engine: the file named by the variable GANNET_ADDON, or else the one built here,
 * or else that of the package for this platform, of which npm installs the one that fits. Throws
 * when there is none, or when it does not run with this system or this Node.
 */
export function loadAddon(): NativeAddon {
  const load = createRequire(import.meta.url);
  const named = process.env['GANNET_ADDON'];
  if (named !== undefined) return load(named) as NativeAddon;
  const platform = `${process.platform}-${process.arch}`;
  const reasons: string[] = [];
  for (const name of [BUILT, `@gannet/${platform}`, `@gannet/${platform}-musl`]) {
    try {
      return load(name) as NativeAddon;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (!MISSING.has(code)) reasons.push(message);
    }
  }
  throw new Error(
    reasons.length > 0
      ? `The engine cannot be loaded: ${reasons.join('; ')}`
      : `There is no engine for ${platform}: install the package @gannet/${platform}, ` +
          'or build it in a clone with npm run build.',
  );
}

const MISSING: ReadonlySet<string | undefined> = new Set([
  'MODULE_NOT_FOUND',
  'ERR_PACKAGE_IMPORT_NOT_DEFINED',
]);

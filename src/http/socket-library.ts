/**
 * Loads uWebSockets.js, and only a binary with a known checksum: docs/guide/security.md says why.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { ApiError } from '../contract/errors.ts';
import binaries from './socket-binaries.json' with { type: 'json' };
import type { Socket } from './socket-types.ts';

/** Longest request line plus headers, bytes. GET searches carry filters in the request line. */
export const REQUEST_HEAD_BYTES_MAX = 65_536;

/**
 * Bytes of it that the library reads. Beyond that it responds itself, with a fixed text that is not
 * JSON; heads between the two limits are refused here.
 */
const LIBRARY_HEAD_BYTES_MAX = 2 * REQUEST_HEAD_BYTES_MAX;

export function headTooLong(): ApiError {
  return new ApiError(
    'bad_request',
    `The request line and the headers have more than ${REQUEST_HEAD_BYTES_MAX} bytes.`,
    431,
  );
}

const BINARIES: Readonly<Record<string, { readonly sha256: string; readonly version: string }>> =
  binaries;

/** The name of the package for this platform and Node major version, which may not exist. */
function packageName(): string {
  const major = process.versions.node.split('.')[0];
  return `@uwsjs/${process.platform}-${process.arch}-${major}`;
}

/** What serves HTTP here, if it is installed. */
export function socketLibraryVersion(): { name: string; version: string } {
  const known = BINARIES[packageName()];
  return { name: 'uWebSockets.js', version: known?.version ?? 'none for this platform' };
}

/**
 * The library for this platform and Node major version, or null if there is none. Throws when the
 * installed file is not the expected one.
 */
export function loadSocketLibrary(): Socket.Library | null {
  const name = packageName();
  const expected = BINARIES[name];
  if (expected === undefined) return null;
  // The binary itself: the script of the package would be one more file to trust.
  const load = createRequire(import.meta.url);
  let file: string;
  try {
    file = load.resolve(`${name}/uws.node`);
  } catch {
    return null;
  }
  checkBinary(file, expected.sha256);
  // Read by the library when it is loaded.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(LIBRARY_HEAD_BYTES_MAX);
  try {
    return load(file) as Socket.Library;
  } catch {
    // It needs a C library that this machine lacks.
    return null;
  }
}

function checkBinary(file: string, expected: string): void {
  const found = createHash('sha256').update(readFileSync(file)).digest('hex');
  if (found === expected) return;
  throw new Error(
    `The socket library ${file} is not the file that this version of Gannet was tested with: ` +
      `its SHA-256 is ${found}, expected ${expected}. Install it again (npm ci), ` +
      'or start with --http-transport node, which does not load it.',
  );
}

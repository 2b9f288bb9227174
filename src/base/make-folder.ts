import {
  lstatSync,
  mkdirSync,
  rmdirSync,
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { randomUUID } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { syncFolder } from './sync-folder.ts';

/** A folder cannot be made or used. `code` is that of the system. */
export class FolderError extends Error {
  override readonly name = 'FolderError';
  readonly code: string;

  constructor(path: string, { code = 'EIO', message }: NodeJS.ErrnoException) {
    super(`${path}: ${REASONS[code] ?? message}`);
    this.code = code;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'not a folder',
  ENOENT: 'its file system takes no new files',
  ENOSPC: 'no space left on device',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the name is too long',
  EMLINK: 'a symbolic link to nothing',
};

/**
 * Makes a folder and its missing parents, all durable. Each is made by itself: Node's `recursive`
 * never ends where a parent exists and takes no folders, such as `/proc`. Throws `FolderError`.
 * @returns the folders that were missing, outermost first
 */
export function makeFolder(path: string, mode = 0o777): string[] {
  const missing: string[] = [];
  for (let at = resolve(path); !isFolder(at); at = dirname(at)) missing.unshift(at);
  for (const one of missing) {
    try {
      mkdirSync(one, { mode });
    } catch (error) {
      // Another process may have made it meanwhile.
      if (!isFolder(one)) throw new FolderError(one, error as NodeJS.ErrnoException);
    }
    syncFolder(dirname(one));
  }
  return missing;
}

/**
 * Checks that a folder can be made and takes files, and leaves everything as it was. Throws
 * `FolderError`.
 */
export function checkFolder(path: string): void {
  const made = makeFolder(path);
  const probe = join(path, `.gannet-${randomUUID()}`);
  try {
    writeFileSync(probe, '', { flag: 'wx' });
    unlinkSync(probe);
  } catch (error) {
    throw new FolderError(resolve(path), error as NodeJS.ErrnoException);
  } finally {
    for (const one of made.toReversed()) rmdirSync(one);
  }
}

/** Throws `FolderError` if the path is something else, or cannot be followed. */
function isFolder(path: string): boolean {
  if (statOf(path, statSync)?.isDirectory() === true) return true;
  const found = statOf(path, lstatSync);
  if (found === null) return false;
  throw new FolderError(path, errno(found.isSymbolicLink() ? 'EMLINK' : 'ENOTDIR'));
}

/** null: there is no such file. */
function statOf(path: string, stat: (path: string) => Stats): Stats | null {
  try {
    return stat(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Below a file nothing exists; a parent says so.
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new FolderError(path, error as NodeJS.ErrnoException);
  }
}

function errno(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}

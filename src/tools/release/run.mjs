import { execFileSync } from 'node:child_process';

/** Runs a program and returns what it prints. Throws if it fails. */
export const run = (command, args, options = {}) =>
  execFileSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  });

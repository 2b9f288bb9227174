import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import promises from 'node:fs/promises';
import { Store } from '../../src/store/store.ts';

/** The calls that may fail, and the system error of each. */
export const FAULTS = {
  'a full disk': { code: 'ENOSPC', calls: ['writeFileSync', 'mkdirSync', 'rename', 'commit'] },
  'a broken disk': {
    code: 'EIO',
    calls: ['writeFileSync', 'fsyncSync', 'rename', 'commit', 'unlinkSync'],
  },
  'too many open files': { code: 'EMFILE', calls: ['openSync', 'writeFileSync', 'readFileSync'] },
} as const;

/**
 * Makes one call fail, or all calls from one on: system calls on paths below a folder, and commits
 * of the store. Patches built-in modules for the whole process until `remove`.
 */
export class Faults {
  readonly #dir: string;
  readonly #calls: ReadonlySet<string>;
  readonly #code: string;
  readonly #undo: (() => void)[] = [];
  #left = Infinity;
  #once = true;
  fired = false;

  constructor(dir: string, { code, calls }: { code: string; calls: readonly string[] }) {
    this.#dir = dir;
    this.#code = code;
    this.#calls = new Set(calls);
    for (const name of [
      'writeFileSync',
      'mkdirSync',
      'openSync',
      'readFileSync',
      'unlinkSync',
      'fsyncSync',
    ]) {
      this.#replace(fs as unknown as Methods, name, (error) => {
        throw error;
      });
    }
    this.#replace(promises as unknown as Methods, 'rename', (error) => Promise.reject(error));
    this.#replace(Store.prototype as unknown as Methods, 'commit', (error) =>
      Promise.reject(error),
    );
    syncBuiltinESMExports();
  }

  /** @param call number of the call, from 1 */
  arm(call: number, once: boolean): void {
    this.#left = call;
    this.#once = once;
    this.fired = false;
  }

  disarm(): void {
    this.#left = Infinity;
  }

  remove(): void {
    for (const undo of this.#undo) undo();
    syncBuiltinESMExports();
  }

  #replace(owner: Methods, name: string, fail: (error: Error) => unknown): void {
    const real = owner[name]!;
    const fires = (first: unknown): boolean => this.#fires(name, first);
    const error = (): Error =>
      Object.assign(new Error(`${this.#code}: ${name}`), { code: this.#code });
    owner[name] = function (this: unknown, ...args: unknown[]) {
      return fires(args[0]) ? fail(error()) : real.apply(this, args);
    };
    this.#undo.push(() => (owner[name] = real));
  }

  /** Writes of the test engine do not count; the server creates the folder of an index. */
  #concerns(name: string, path: string): boolean {
    return path.startsWith(this.#dir) && (name === 'mkdirSync' || !path.includes('/indexes/'));
  }

  #fires(name: string, first: unknown): boolean {
    if (!this.#calls.has(name) || this.#left === Infinity) return false;
    if (typeof first === 'string' && !this.#concerns(name, first)) return false;
    this.#left -= 1;
    if (this.#once ? this.#left !== 0 : this.#left > 0) return false;
    this.fired = true;
    return true;
  }
}

type Methods = Record<string, (...args: unknown[]) => unknown>;

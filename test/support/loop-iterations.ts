import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Measures the iterations of the event loop of a server under test; see `iteration-probe.mjs`. */
export class LoopIterations {
  readonly #folder = mkdtempSync(join(tmpdir(), 'gannet-iterations-'));
  readonly #file = join(this.#folder, 'iterations');

  constructor() {
    writeFileSync(this.#file, '');
  }

  /** Environment of the server. */
  get env(): Record<string, string> {
    const probe = fileURLToPath(new URL('./iteration-probe.mjs', import.meta.url));
    return { NODE_OPTIONS: `--import=${probe}`, GANNET_ITERATIONS: this.#file };
  }

  /** The longest iteration since the last call, CPU milliseconds; 0 when all were short. */
  take(): number {
    const noted = readFileSync(this.#file, 'latin1').split('\n').map(Number);
    truncateSync(this.#file);
    return Math.max(...noted);
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Large bodies are parsed in a separate thread and come back piece by piece. */
import { Worker } from 'node:worker_threads';
import { builtFile } from '../base/built-file.ts';
import { RawJson } from '../base/json.ts';
import { err, ok, type Result } from '../base/result.ts';
import { ApiError } from '../contract/errors.ts';
import type { Schema } from '../contract/schema.ts';
import type { SettingName } from '../contract/settings.ts';
import type { BodyResult, BodyRequest, Step } from './body-worker.ts';

/** Heap of the thread: enough for a text of 100 MB and the values made of it. */
const HEAP_MB_MAX = 1536;

/** The thread ends after it has been idle for this long. */
const IDLE_MS = 30_000;

interface Job {
  readonly assembler: Assembler;
  readonly settle: (outcome: Result<unknown, ApiError>) => void;
}

export class BodyThread {
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | null = null;
  #schemas = new Map<Schema, number>();
  readonly #jobs = new Map<number, Job>();
  #lastJob = 0;

  /**
   * Like `checkedBody`, but long parts that are only passed on become {@link RawJson}. Takes
   * ownership of the memory of the parts.
   * @param settings the body changes this setting, or several of all settings: it becomes a
   *   `SettingsChange`
   */
  check(
    parts: readonly Uint8Array<ArrayBuffer>[],
    schema: Schema,
    settings: SettingName | 'all' | null,
  ): Promise<Result<unknown, ApiError>> {
    return new Promise((settle) => {
      const worker = this.#started();
      const job = ++this.#lastJob;
      this.#jobs.set(job, { assembler: new Assembler(), settle });
      let number = this.#schemas.get(schema);
      if (number === undefined) {
        number = this.#schemas.size;
        this.#schemas.set(schema, number);
        worker.postMessage({ kind: 'schema', schema: number, is: schema } satisfies BodyRequest);
      }
      const request: BodyRequest = { kind: 'check', job, schema: number, parts, settings };
      worker.postMessage(
        request,
        parts.map(({ buffer }) => buffer),
      );
    });
  }

  #started(): Worker {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(builtFile('body-worker.cjs'), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    });
    worker.unref();
    worker.on('message', (result: BodyResult) => this.#take(worker, result));
    worker.on('error', () => {});
    worker.on('exit', () => this.#ended(worker));
    this.#schemas = new Map();
    this.#worker = worker;
    return worker;
  }

  #take(worker: Worker, result: BodyResult): void {
    const job = this.#jobs.get(result.job);
    if (job === undefined) return;
    if ('fault' in result) {
      this.#settle(result.job, err(new ApiError(result.fault.code, result.fault.message)));
      return;
    }
    for (const step of result.steps) job.assembler.take(step);
    if (result.last) this.#settle(result.job, ok(job.assembler.value));
    // In a later iteration of the event loop, so that other requests are served between two pieces.
    else {
      setImmediate(() =>
        worker.postMessage({ kind: 'more', job: result.job } satisfies BodyRequest),
      );
    }
  }

  #settle(number: number, outcome: Result<unknown, ApiError>): void {
    const job = this.#jobs.get(number);
    this.#jobs.delete(number);
    if (this.#jobs.size === 0) {
      this.#idle = setTimeout(() => void this.#worker?.terminate(), IDLE_MS).unref();
    }
    job?.settle(outcome);
  }

  /** Out of memory, or idle. */
  #ended(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    for (const number of [...this.#jobs.keys()]) {
      const message = 'The body needs too much memory to be read.';
      this.#settle(number, err(new ApiError('payload_too_large', message)));
    }
  }
}

/** Builds a value from steps. */
class Assembler {
  value: unknown;
  readonly #open: (unknown[] | Record<string, unknown>)[] = [];
  readonly #names: string[] = [];

  take(step: Step): void {
    switch (step.is) {
      case 'value':
        this.#add(step.value);
        return;
      case 'raw':
        this.#add(
          new RawJson(Buffer.from(step.bytes.buffer, step.bytes.byteOffset, step.bytes.byteLength)),
        );
        return;
      case 'name':
        this.#names.push(step.name);
        return;
      case 'open': {
        const container = step.array ? [] : {};
        this.#add(container);
        this.#open.push(container);
        return;
      }
      case 'close':
        this.#open.pop();
    }
  }

  #add(value: unknown): void {
    const container = this.#open.at(-1);
    if (container === undefined) this.value = value;
    else if (Array.isArray(container)) container.push(value);
    else {
      const name = this.#names.pop()!;
      if (name === '__proto__') {
        Object.defineProperty(container, name, {
          value,
          writable: true,
          enumerable: true,
          configurable: true,
        });
      } else container[name] = value;
    }
  }
}

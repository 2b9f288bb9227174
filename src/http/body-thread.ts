/** Large bodies are parsed in a separate thread and come back piece by piece. */
import { builtFile } from '../base/built-file.ts';
import { type Call, Isolate } from '../base/isolate.ts';
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
  readonly call: Call<Result<unknown, ApiError>>;
}

export class BodyThread {
  #thread: Isolate<BodyRequest, BodyResult> | null = null;
  /** The schemas that the thread has. */
  #schemas = new Map<Schema, number>();
  readonly #jobs = new Map<number, Job>();
  #lastJob = 0;

  /**
   * Like `checkedBody`, but long parts that are only passed on become {@link RawJson}. Takes
   * ownership of the memory of the parts.
   * @param settings the body changes this setting, or several of all settings: it becomes a
   *   `SettingsChange`
   */
  async check(
    parts: readonly Uint8Array<ArrayBuffer>[],
    schema: Schema,
    settings: SettingName | 'all' | null,
  ): Promise<Result<unknown, ApiError>> {
    const thread = this.#started();
    const job = ++this.#lastJob;
    const call = thread.open<Result<unknown, ApiError>>();
    this.#jobs.set(job, { assembler: new Assembler(), call });
    let number = this.#schemas.get(schema);
    if (number === undefined) {
      number = this.#schemas.size;
      this.#schemas.set(schema, number);
      thread.send({ kind: 'schema', schema: number, is: schema });
    }
    thread.send(
      { kind: 'check', job, schema: number, parts, settings },
      parts.map(({ buffer }) => buffer),
    );
    try {
      return await call.result;
    } catch (error) {
      return err(error as ApiError);
    } finally {
      this.#jobs.delete(job);
    }
  }

  #started(): Isolate<BodyRequest, BodyResult> {
    if (this.#thread?.hasEnded === false) return this.#thread;
    this.#schemas = new Map();
    const thread: Isolate<BodyRequest, BodyResult> = new Isolate({
      host: {
        thread: builtFile('body-worker.cjs'),
        options: { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX } },
      },
      take: (result) => this.#take(thread, result),
      fault: () => new ApiError('payload_too_large', 'The body needs too much memory to be read.'),
      idleMs: IDLE_MS,
    });
    this.#thread = thread;
    return thread;
  }

  #take(thread: Isolate<BodyRequest, BodyResult>, result: BodyResult): void {
    const job = this.#jobs.get(result.job);
    if (job === undefined) return;
    const { assembler, call } = job;
    if ('fault' in result) {
      call.resolve(err(new ApiError(result.fault.code, result.fault.message)));
      return;
    }
    for (const step of result.steps) assembler.take(step);
    if (result.last) call.resolve(ok(assembler.value));
    // In a later iteration of the event loop, so that other requests are served between two pieces.
    else setImmediate(() => thread.send({ kind: 'more', job: result.job }));
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

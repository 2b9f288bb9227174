/**
 * Where the time of a search goes. At any moment one stage is under way, so the stages add up to
 * the time between the first and the last reading of the clock. Responses show them
 * (`showPerformanceDetails`), the log of slow searches, and traces.
 */
import type { EngineResult, EngineStage } from '../engine/native.ts';

export class Stages {
  readonly #startedAt: number;
  readonly #stages = new Map<string, EngineStage>();
  /** Those of queries that run concurrently, by position. */
  readonly #queries = new Map<number, Stages>();
  #present: string;
  #since: number;

  /** @param startedAt by `performance.now()` */
  constructor(first: string, startedAt: number) {
    this.#present = first;
    this.#startedAt = startedAt;
    this.#since = startedAt;
  }

  /** Milliseconds from the start to the last reading of the clock. */
  get elapsedMs(): number {
    return this.#since - this.#startedAt;
  }

  /** Ends the stage that is under way. */
  begin(name: string): void {
    if (this.#queries.size > 0) {
      for (const query of this.#queries.values()) query.begin(name);
      return;
    }
    this.#add({ name: this.#present, ms: this.#lap() });
    this.#present = name;
  }

  /** Those of one of several queries: its own from now on. */
  of(position: number): Stages {
    const known = this.#queries.get(position);
    if (known !== undefined) return known;
    const query = new Stages(this.#present, this.#startedAt);
    query.#since = this.#since;
    for (const stage of this.#stages.values()) query.#add(stage);
    this.#queries.set(position, query);
    return query;
  }

  /** The stages of the engine, and the way to its thread and back. Then `after` is under way. */
  async ofEngine(ask: () => Promise<EngineResult>, after: string): Promise<EngineResult> {
    this.begin('handover');
    const result = await ask();
    let rest = this.#lap();
    for (const stage of result.head.stages ?? []) {
      this.#add(stage);
      rest -= stage.ms;
    }
    this.#add({ name: this.#present, ms: Math.max(0, rest) });
    this.#present = after;
    return result;
  }

  /** In the order in which they began; of several queries their sums. */
  get list(): EngineStage[] {
    if (this.#queries.size === 0) {
      this.begin(this.#present);
      return [...this.#stages.values()];
    }
    const sums = new Stages('', 0);
    for (const query of this.#queries.values()) {
      for (const stage of query.list) sums.#add(stage);
    }
    return [...sums.#stages.values()];
  }

  /** The member `performanceDetails` of a response, so far. */
  member(position: number): string {
    const { list } = this.#queries.get(position) ?? this;
    const total = list.reduce((sum, { ms }) => sum + ms, 0);
    const lines = list.flatMap(
      ({ name, ms, cpuMs, unit, size }): [string, string][] =>
        [
          [`search > ${name}`, durationText(ms)],
          ...(cpuMs === undefined
            ? []
            : [[`search > ${name} > cpu`, durationText(cpuMs)] as const]),
          ...(unit === undefined ? [] : [[`search > ${name} > ${unit}`, String(size)] as const]),
        ] as [string, string][],
    );
    const details = Object.fromEntries([['search', durationText(total)], ...lines]);
    return `,"performanceDetails":${JSON.stringify(details)}`;
  }

  #lap(): number {
    const since = this.#since;
    this.#since = performance.now();
    return this.#since - since;
  }

  #add({ name, ms, cpuMs, unit, size = 0 }: EngineStage): void {
    const known = this.#stages.get(name);
    if (known === undefined) {
      this.#stages.set(name, {
        name,
        ms,
        ...(cpuMs !== undefined && { cpuMs }),
        ...(unit !== undefined && { unit, size }),
      });
      return;
    }
    known.ms += ms;
    if (cpuMs !== undefined) known.cpuMs = (known.cpuMs ?? 0) + cpuMs;
    if (unit !== undefined) [known.unit, known.size] = [unit, (known.size ?? 0) + size];
  }
}

function durationText(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)}s`;
  return ms >= 1 ? `${ms.toFixed(2)}ms` : `${(ms * 1000).toFixed(2)}µs`;
}

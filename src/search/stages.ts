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

  /** Those of one of several queries that run at once: its own from now on. */
  of(position: number): Stages {
    let query = this.#queries.get(position);
    if (query === undefined) {
      query = new Stages(this.#present, this.#since);
      this.#queries.set(position, query);
    }
    return query;
  }

  /** The stages of the engine, and the way to its thread and back. Then `write` is under way. */
  async ofEngine(ask: () => Promise<EngineResult>): Promise<EngineResult> {
    this.begin('handover');
    const result = await ask();
    let rest = this.#lap();
    for (const stage of result.head.stages ?? []) {
      this.#add(stage);
      rest -= stage.ms;
    }
    this.#add({ name: this.#present, ms: Math.max(0, rest) });
    this.#present = 'write';
    return result;
  }

  /** In the order in which they began. Those of several queries are added up. */
  get list(): EngineStage[] {
    if (this.#queries.size === 0) return this.tracks[0]!.list;
    return sumOf(this.tracks.flatMap(({ list }) => list));
  }

  /** Stages that follow one another: those of this, and those of each query that runs at once. */
  get tracks(): { startedAt: number; list: EngineStage[] }[] {
    if (this.#queries.size === 0) this.begin(this.#present);
    const own = { startedAt: this.#startedAt, list: [...this.#stages.values()] };
    return [own, ...[...this.#queries.values()].flatMap(({ tracks }) => tracks)];
  }

  /** The member `performanceDetails` of a response, so far. */
  member(position: number): string {
    const query = this.#queries.get(position);
    const list = query === undefined ? this.list : sumOf([...this.#stages.values(), ...query.list]);
    const total = list.reduce((sum, { ms }) => sum + ms, 0);
    const details: Record<string, string> = { search: durationText(total) };
    for (const { name, ms, cpuMs, unit, size } of list) {
      const path = `search > ${name}`;
      details[path] = durationText(ms);
      if (cpuMs !== undefined) details[`${path} > cpu`] = durationText(cpuMs);
      if (unit !== undefined) details[`${path} > ${unit}`] = String(size);
    }
    return `,"performanceDetails":${JSON.stringify(details)}`;
  }

  #lap(): number {
    const since = this.#since;
    this.#since = performance.now();
    return this.#since - since;
  }

  #add(stage: EngineStage): void {
    add(stage, this.#stages);
  }
}

function sumOf(stages: readonly EngineStage[]): EngineStage[] {
  const sums = new Map<string, EngineStage>();
  for (const stage of stages) add(stage, sums);
  return [...sums.values()];
}

function add(stage: EngineStage, sums: Map<string, EngineStage>): void {
  const { name, ms, cpuMs, unit, size = 0 } = stage;
  const known = sums.get(name);
  if (known === undefined) {
    sums.set(name, { ...stage });
    return;
  }
  known.ms += ms;
  if (cpuMs !== undefined) known.cpuMs = (known.cpuMs ?? 0) + cpuMs;
  if (unit !== undefined) [known.unit, known.size] = [unit, (known.size ?? 0) + size];
}

function durationText(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)}s`;
  return ms >= 1 ? `${ms.toFixed(2)}ms` : `${(ms * 1000).toFixed(2)}µs`;
}

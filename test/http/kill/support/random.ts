import { mulberry } from '../../../support/random.ts';

/** Seeded choices: the same seed makes the same sequence on every machine. */
export class Random {
  /** Uniform in [0, 1). */
  readonly next: () => number;

  constructor(seed: number) {
    this.next = mulberry(seed);
  }

  /** Whole number, min <= n < end. */
  int(min: number, end: number): number {
    return min + Math.floor(this.next() * (end - min));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(0, list.length)]!;
  }

  /** `count` different items, or all when there are fewer. */
  some<T>(list: readonly T[], count: number): T[] {
    const left = [...list];
    const taken: T[] = [];
    while (taken.length < count && left.length > 0) {
      taken.push(left.splice(this.int(0, left.length), 1)[0]!);
    }
    return taken;
  }

  /** @param weights of the names; the sum does not matter */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const names = Object.keys(weights) as Name[];
    let left = this.next() * names.reduce((sum, name) => sum + weights[name], 0);
    for (const name of names) {
      left -= weights[name];
      if (left < 0) return name;
    }
    return names.at(-1)!;
  }
}

/** From the environment variable SEED, or new. Print it, so that a failure can be replayed. */
export function newSeed(): number {
  const given = process.env['SEED'];
  return given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
}

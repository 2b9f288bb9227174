/** The hits of several servers as one list. */
import type { AnsweredHit, FurtherHit } from './federated-answer.ts';
import { compareScored } from './score-values.ts';

/** What a server has answered. */
export interface ServerHits {
  hits: readonly AnsweredHit[];
}

export interface MergedHit<S extends ServerHits> {
  hit: AnsweredHit;
  server: S;
}

/** The hits of a merged list so far: which of those that follow may join it. */
export class KeptHits {
  readonly #documents = new Set<string>();
  readonly #values = new Set<string>();
  readonly #acrossQueries: boolean;
  /** How many were refused. */
  refused = 0;

  /** @param acrossQueries values of the distinct attribute count once in the whole list, not once for each query */
  constructor(acrossQueries: boolean) {
    this.#acrossQueries = acrossQueries;
  }

  /**
   * False: the document is in the list already, from another server, or one with the same value of the distinct
   * attribute is. While documents move between servers, some are on two.
   */
  add(hit: AnsweredHit): boolean {
    const { indexUid, documentKey } = hit;
    if (documentKey === null) return this.addValues(hit);
    const document = `${indexUid}/${documentKey}`;
    if (this.#documents.has(document)) {
      this.refused++;
      return false;
    }
    if (!this.addValues(hit)) return false;
    this.#documents.add(document);
    return true;
  }

  /** The same, where it is not known which document it is. */
  addValues({ position, distinctKeys }: FurtherHit): boolean {
    const values = distinctKeys.map((key) => (this.#acrossQueries ? key : `${position}/${key}`));
    if (values.some((value) => this.#values.has(value))) {
      this.refused++;
      return false;
    }
    for (const value of values) this.#values.add(value);
    return true;
  }
}

/**
 * Best first; where hits are equal in all, those of an earlier server come first. Each list must be in order itself.
 * @param keep false: the hit is left out and counts for nothing
 */
export function* mergedHits<S extends ServerHits>(
  servers: readonly S[],
  keep: (hit: AnsweredHit) => boolean = () => true,
): Generator<MergedHit<S>, undefined> {
  const heads = servers.map(() => 0);
  for (;;) {
    let best = -1;
    for (const [n, { hits }] of servers.entries()) {
      const hit = hits[heads[n]!];
      if (hit === undefined) continue;
      if (best < 0 || compareScored(hit, servers[best]!.hits[heads[best]!]!) < 0) best = n;
    }
    if (best < 0) return;
    const server = servers[best]!;
    const hit = server.hits[heads[best]!++]!;
    if (keep(hit)) yield { hit, server };
  }
}

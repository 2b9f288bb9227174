/** The hits of several servers as one list. */
import type { AnsweredHit } from './federated-answer.ts';
import { compareScored } from './score-values.ts';

/** What a server has answered. */
export interface ServerHits {
  hits: readonly AnsweredHit[];
}

export interface MergedHit<S extends ServerHits> {
  hit: AnsweredHit;
  server: S;
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

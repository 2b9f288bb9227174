/** Requests to other servers and how many of them failed, since the start, for metrics. */

/** What a request is for. */
export const OUTBOUND_KINDS = ['chat', 'embedder', 'reranker', 'webhook'] as const;
export type OutboundKind = (typeof OUTBOUND_KINDS)[number];

export interface OutboundCount {
  requests: number;
  /** Those without a usable response. */
  failures: number;
}

export class OutboundCounts {
  readonly #counts = Object.fromEntries(
    OUTBOUND_KINDS.map((kind) => [kind, { requests: 0, failures: 0 }]),
  ) as Record<OutboundKind, OutboundCount>;

  of(kind: OutboundKind): Readonly<OutboundCount> {
    return this.#counts[kind];
  }

  /**
   * Counts a request unless it is canceled.
   * @param signal that which cancels it
   * @param isUsable tells of a response whether it is one that was hoped for
   */
  async counted<T>(
    kind: OutboundKind,
    signal: AbortSignal | undefined,
    send: () => Promise<T>,
    isUsable: (response: T) => boolean,
  ): Promise<T> {
    let isSuccess = false;
    try {
      const response = await send();
      isSuccess = isUsable(response);
      return response;
    } finally {
      const isCanceled = !isSuccess && signal?.aborted === true;
      if (!isCanceled) this.#counts[kind].requests++;
      if (!isCanceled && !isSuccess) this.#counts[kind].failures++;
    }
  }
}

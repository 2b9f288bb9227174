/** What conversations have used since the start, by workspace and model, for the metrics. */
import type { ChatUsage } from './conversation.ts';

export interface ChatPlace {
  workspace: string;
  /** As the client named it. */
  model: string;
}

/** Pairs of workspace and model that are told apart; the model's name comes from clients. */
const PLACES_MAX = 200;

export class ChatTotals {
  readonly #totals = new Map<string, ChatPlace & ChatUsage>();

  add(usage: ChatUsage, { workspace, model }: ChatPlace): void {
    let key = JSON.stringify([workspace, model]);
    let place = { workspace, model };
    if (!this.#totals.has(key) && this.#totals.size >= PLACES_MAX) {
      key = '';
      place = { workspace: 'other', model: 'other' };
    }
    const total = this.#totals.get(key) ?? {
      ...place,
      searches: 0,
      promptTokens: 0,
      completionTokens: 0,
      totalTokens: 0,
    };
    total.searches += usage.searches;
    total.promptTokens += usage.promptTokens;
    total.completionTokens += usage.completionTokens;
    total.totalTokens += usage.totalTokens;
    this.#totals.set(key, total);
  }

  list(): readonly (ChatPlace & ChatUsage)[] {
    return [...this.#totals.values()];
  }
}

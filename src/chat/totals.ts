/** The usage of all conversations since the start, by workspace and model, for metrics. */
import type { ChatUsage } from './conversation.ts';

export interface ChatModel {
  workspace: string;
  /** The model name sent by the client. */
  model: string;
}

/** Maximum number of pairs counted separately, because clients choose the model names. */
const MODELS_MAX = 200;

export class ChatTotals {
  readonly #totals = new Map<string, ChatModel & ChatUsage>();

  add(usage: ChatUsage, { workspace, model }: ChatModel): void {
    let key = JSON.stringify([workspace, model]);
    let counted = { workspace, model };
    if (!this.#totals.has(key) && this.#totals.size >= MODELS_MAX) {
      key = '';
      counted = { workspace: 'other', model: 'other' };
    }
    const total = this.#totals.get(key) ?? {
      ...counted,
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

  list(): readonly (ChatModel & ChatUsage)[] {
    return [...this.#totals.values()];
  }
}

/** The chunks of a stream as one answer, for clients that cannot read streams (`--chat-allow-non-streaming`). */
import type { Chunk, ErrorEvent, ToolCallDelta } from './chunks.ts';
import { ApiError } from '../contract/errors.ts';
import type { ChatSink, ChatUsage } from './conversation.ts';

/** Characters that are kept: a client that reads no stream has all of it in one piece. */
const ANSWER_LENGTH_MAX = 8 * 2 ** 20;

/** Takes the events of a conversation, and puts them together as they come. */
export class WholeAnswer implements ChatSink {
  #content = '';
  #finishReason: string | null = null;
  #last: Chunk = {};
  readonly #toolCalls: ToolCallDelta[] = [];
  #length = 0;

  /** Throws `ApiError` when the provider failed, or the answer gets too long. */
  async send(event: Chunk | ErrorEvent): Promise<void> {
    if (event.type === 'error') {
      const { type, message } = (event as ErrorEvent).error;
      // A search that failed is part of the conversation: the model was told.
      if (type === 'response_error') return;
      throw new ApiError('bad_request', `The provider failed (${type}): ${message}`);
    }
    const { choices, ...chunk } = event as Chunk;
    this.#last = chunk;
    const choice = choices?.[0];
    const { content, tool_calls: calls } = choice?.delta ?? {};
    this.#finishReason = choice?.finish_reason ?? this.#finishReason;
    const sizes = [content, ...(calls ?? []).map(({ function: fn }) => fn?.arguments)];
    for (const text of sizes) this.#length += text?.length ?? 0;
    if (this.#length > ANSWER_LENGTH_MAX) {
      throw new ApiError(
        'bad_request',
        `The answer has more than ${ANSWER_LENGTH_MAX} characters; ask for it as a stream.`,
      );
    }
    this.#content += content ?? '';
    this.#toolCalls.push(...(calls ?? []));
  }

  /** @param model the one that was asked for */
  body(model: string, usage: ChatUsage): Record<string, unknown> {
    const message: Record<string, unknown> = { role: 'assistant', content: this.#content };
    if (this.#toolCalls.length > 0) {
      message.tool_calls = this.#toolCalls.map(({ id, type, function: fn }) => ({
        ...{ id, type, function: fn },
      }));
    }
    return {
      id: this.#last.id ?? '',
      object: 'chat.completion',
      created: this.#last.created ?? 0,
      model: this.#last.model ?? model,
      choices: [{ index: 0, message, finish_reason: this.#finishReason ?? 'stop' }],
      usage: {
        prompt_tokens: usage.promptTokens,
        completion_tokens: usage.completionTokens,
        total_tokens: usage.totalTokens,
      },
    };
  }
}

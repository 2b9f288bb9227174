/**
 * Combines the chunks of a stream to one answer, for clients that cannot read streams
 * (`--chat-allow-non-streaming`).
 */
import type { Chunk, ErrorEvent } from './chunks.ts';
import { ApiError } from '../contract/errors.ts';
import type { ChatSink, ChatUsage } from './conversation.ts';

/** Maximum characters of an answer, which is kept in memory as a whole. */
const ANSWER_LENGTH_MAX = 8 * 2 ** 20;

interface ReportCall {
  id: string;
  type: string;
  function: { name: string; arguments: string };
}

/**
 * A choice accepted by `readChunk`. Its calls are our reports; those of the provider are not sent.
 */
interface Choice {
  delta?: { content?: unknown; tool_calls?: ReportCall[] | null } | null;
  finish_reason?: string | null;
}

/** The text of a content, which is a text or a list of parts, some of which are texts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (part as { text?: unknown } | null)?.text)
    .filter((text) => typeof text === 'string')
    .join('');
}

/** Takes the events of a conversation and combines them as they arrive. */
export class WholeAnswer implements ChatSink {
  #content = '';
  #finishReason: string | null = null;
  #last: Chunk = {};
  /** Reports about searches. */
  readonly #toolCalls: ReportCall[] = [];
  #length = 0;

  /** Throws `ApiError` if the provider failed or the answer is too long. */
  async send(event: Chunk | ErrorEvent): Promise<void> {
    if (event.type === 'error') {
      const { type, message } = (event as ErrorEvent).error;
      // A failed search is part of the conversation: the model was informed.
      if (type === 'response_error') return;
      throw new ApiError('bad_request', `The provider failed (${type}): ${message}`);
    }
    const { choices, ...chunk } = event as Chunk;
    this.#last = chunk;
    const { delta, finish_reason: finishReason } = (choices?.[0] ?? {}) as Choice;
    const calls = delta?.tool_calls ?? [];
    const content = textOf(delta?.content);
    this.#finishReason = finishReason || this.#finishReason;
    this.#length += content.length;
    for (const { function: fn } of calls) this.#length += fn.arguments.length;
    if (this.#length > ANSWER_LENGTH_MAX) {
      throw new ApiError(
        'bad_request',
        `The answer has more than ${ANSWER_LENGTH_MAX} characters; request it as a stream.`,
      );
    }
    this.#content += content;
    this.#toolCalls.push(...calls);
  }

  /** @param model the model in the request */
  body(model: string, usage: ChatUsage): Record<string, unknown> {
    const message: Record<string, unknown> = { role: 'assistant', content: this.#content };
    if (this.#toolCalls.length > 0) {
      message.tool_calls = this.#toolCalls.map(({ id, type, function: fn }) => ({
        id,
        type,
        function: fn,
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

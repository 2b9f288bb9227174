/**
 * The chunks of a stream as one answer, for clients that cannot read streams
 * (`--chat-allow-non-streaming`).
 */
import type { Chunk, ErrorEvent } from './chunks.ts';
import { ApiError } from '../contract/errors.ts';
import type { ChatSink, ChatUsage } from './conversation.ts';

/** Characters that are kept: a client that reads no stream has all of it in one piece. */
const ANSWER_LENGTH_MAX = 8 * 2 ** 20;

interface ReportCall {
  id: string;
  type: string;
  function: { name: string; arguments: string };
}

/**
 * As `readChunk` lets it through. Calls are our own reports: those of the provider reach no client.
 */
interface Choice {
  delta?: { content?: unknown; tool_calls?: ReportCall[] | null } | null;
  finish_reason?: string | null;
}

/** A content is a text, or a list of parts of which some are texts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (part as { text?: unknown } | null)?.text)
    .filter((text) => typeof text === 'string')
    .join('');
}

/** Takes the events of a conversation, and puts them together as they come. */
export class WholeAnswer implements ChatSink {
  #content = '';
  #finishReason: string | null = null;
  #last: Chunk = {};
  /** Reports on searches. */
  readonly #toolCalls: ReportCall[] = [];
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

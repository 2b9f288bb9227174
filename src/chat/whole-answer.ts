/** The chunks of a stream as one answer, for clients that cannot read streams (`--chat-allow-non-streaming`). */
import type { Chunk, ErrorEvent, ToolCallDelta } from './chunks.ts';
import { ApiError } from '../contract/errors.ts';
import type { ChatUsage } from './conversation.ts';

/** Throws `ApiError` when the provider failed. */
export function collectedAnswer(
  events: readonly (Chunk | ErrorEvent)[],
  model: string,
  usage: ChatUsage,
): Record<string, unknown> {
  let content = '';
  let finishReason: string | null = null;
  let last: Chunk = {};
  const toolCalls: ToolCallDelta[] = [];
  for (const event of events) {
    if (event.type === 'error') {
      const { type, message } = (event as ErrorEvent).error;
      // A search that failed is part of the conversation: the model was told.
      if (type === 'response_error') continue;
      throw new ApiError('bad_request', `The provider failed (${type}): ${message}`);
    }
    last = event as Chunk;
    const choice = last.choices?.[0];
    content += choice?.delta.content ?? '';
    toolCalls.push(...(choice?.delta.tool_calls ?? []));
    finishReason = choice?.finish_reason ?? finishReason;
  }
  const message: Record<string, unknown> = { role: 'assistant', content };
  if (toolCalls.length > 0) {
    message.tool_calls = toolCalls.map(({ id, type, function: fn }) => ({
      id,
      type,
      function: fn,
    }));
  }
  return {
    id: last.id ?? '',
    object: 'chat.completion',
    created: last.created ?? 0,
    model: last.model ?? model,
    choices: [{ index: 0, message, finish_reason: finishReason ?? 'stop' }],
    usage: {
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      total_tokens: usage.totalTokens,
    },
  };
}

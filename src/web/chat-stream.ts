/** Conversations with a workspace, event by event. */
import { createParser } from 'eventsource-parser';
import { Fault, pathOf, textOf, type Client } from './client.ts';
import type { ChatEvent } from './conversation.ts';

const END = '[DONE]';

/**
 * Resolves when the answer is complete. Throws a {@link Fault} if the stream ends early; after an
 * abort, the error of the abort.
 */
export async function converse(
  client: Client,
  workspace: string,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
  onEvent: (event: ChatEvent) => void,
): Promise<void> {
  const path = pathOf(['chats', workspace, 'chat', 'completions']);
  const response = await client.open('POST', path, { body: { ...body, stream: true }, signal });
  let ended = false;
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === END) ended = true;
      else onEvent(JSON.parse(data) as ChatEvent);
    },
  });
  for await (const text of textOf(response, signal)) parser.feed(text);
  if (!ended)
    throw new Fault(0, 'unreachable', 'The answer ended early because the connection was lost.');
}

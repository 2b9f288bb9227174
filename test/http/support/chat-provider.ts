import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A chunk of the provider, or raw text that is written unchanged. */
export type Scripted = Record<string, unknown> | { raw: string } | { wait: Promise<unknown> };

export interface ChatProvider {
  readonly url: string;
  /** Bodies of the requests so far. */
  readonly requests: any[];
  /** Responses to the next requests, in order. */
  script(...rounds: Scripted[][]): void;
  /** The rest of the script. */
  forget(): void;
  /** Resolves when the server under test aborts a request. */
  broken(): Promise<void>;
  close(): Promise<void>;
}

/** A provider on loopback that follows a script. Without a script it says `Done.` */
export async function startChatProvider(): Promise<ChatProvider> {
  const rounds: Scripted[][] = [];
  const requests: any[] = [];
  let onBroken = (): void => {};
  const server = createServer((request, response) => {
    void respond(request, response);
  });

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    requests.push(JSON.parse(text));
    response.on('close', () => {
      if (!response.writableEnded) onBroken();
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const step of rounds.shift() ?? [say('Done.'), finish('stop')]) {
      if ('wait' in step) await step.wait;
      else if ('raw' in step) response.write(step.raw as string);
      else response.write(`data: ${JSON.stringify(step)}\n\n`);
      if (response.destroyed) return;
    }
    response.end('data: [DONE]\n\n');
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    script: (...more) => void rounds.push(...more),
    forget: () => void rounds.splice(0),
    broken: () => new Promise((resolve) => (onBroken = resolve)),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function chunk(delta: unknown, finishReason: string | null = null): Scripted {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return { id: 'chunk', object: 'chat.completion.chunk', created: 1, model: 'm', choices };
}

export function say(content: string): Scripted {
  return chunk({ content });
}

export function finish(reason: string): Scripted {
  return chunk({}, reason);
}

export function call(id: string, args: unknown, index = 0): Scripted {
  const fn = { name: '_meiliSearchInIndex', arguments: JSON.stringify(args) };
  return chunk({ tool_calls: [{ index, id, type: 'function', function: fn }] });
}

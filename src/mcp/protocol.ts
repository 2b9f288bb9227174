/**
 * The Model Context Protocol, by its official SDK; the only file that loads it. The build makes
 * `mcp.cjs` of it, which is loaded when the first assistant connects.
 */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  McpError,
  SUPPORTED_PROTOCOL_VERSIONS,
  type JSONRPCMessage,
} from '@modelcontextprotocol/sdk/types.js';
import type { Readable, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Assistant } from './tools.ts';

const INSTRUCTIONS =
  'A search server. Call list_indexes, then describe_index to learn which attributes can be filtered, then search.';

type Transport = Parameters<Server['connect']>[0];

function serverOf({ tools, call, version }: Assistant): Server {
  const server = new Server(
    { name: 'gannet', version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map(({ name, description, inputSchema, writes }) => ({
      name,
      description,
      inputSchema,
      annotations: { readOnlyHint: writes !== true, openWorldHint: false },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const outcome = await call(params.name, params.arguments ?? {});
    if ('fault' in outcome) throw new McpError(ErrorCode.InvalidParams, outcome.fault);
    if ('error' in outcome) {
      return { content: [{ type: 'text', text: outcome.error }], isError: true };
    }
    const structuredContent = outcome.result as Record<string, unknown>;
    const content = [{ type: 'text' as const, text: JSON.stringify(structuredContent) }];
    return { content, structuredContent };
  });
  return server;
}

/** One message after another: each is answered before the next is read. */
class Turns implements Transport {
  onmessage: NonNullable<Transport['onmessage']> = () => {};
  onclose?: () => void;
  #answered: (response: JSONRPCMessage) => void = () => {};

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    this.#answered(message);
  }

  async close(): Promise<void> {
    this.onclose?.();
  }

  /** @returns null: a notification, or a response, which has no answer */
  async take(given: unknown): Promise<unknown> {
    const parsed = JSONRPCMessageSchema.safeParse(given);
    if (!parsed.success) return failure(ErrorCode.InvalidRequest, 'This is no message of JSON-RPC');
    const message = parsed.data;
    if (!('method' in message && 'id' in message)) {
      this.onmessage(message);
      return null;
    }
    const response = new Promise((resolve) => (this.#answered = resolve));
    this.onmessage(message);
    return response;
  }
}

/** An error that belongs to no request. */
function failure(code: number, message: string): object {
  return { jsonrpc: '2.0', id: null, error: { code, message } };
}

/**
 * Answers one request of the streamable HTTP transport. Nothing is remembered between requests.
 * Between two messages, others have the event loop.
 * @param version the protocol that the client speaks; undefined: any
 * @param body one message or several
 */
export async function respond(
  assistant: Assistant,
  version: string | undefined,
  body: unknown,
): Promise<{ status: number; text: string }> {
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
    const supported = SUPPORTED_PROTOCOL_VERSIONS.join(', ');
    const reason = `This version of the protocol is not supported; supported are ${supported}`;
    return { status: 400, text: JSON.stringify(failure(ErrorCode.InvalidRequest, reason)) };
  }
  const server = serverOf(assistant);
  const turns = new Turns();
  await server.connect(turns);
  try {
    if (!Array.isArray(body)) {
      const response = await turns.take(body);
      if (response === null) return { status: 202, text: '' };
      const { id } = response as { id: unknown };
      return { status: id === null ? 400 : 200, text: JSON.stringify(response) };
    }
    const texts: string[] = [];
    for (const message of body) {
      const response = await turns.take(message);
      if (response !== null) texts.push(JSON.stringify(response));
      await setImmediate();
    }
    return texts.length === 0
      ? { status: 202, text: '' }
      : { status: 200, text: `[${texts.join(',')}]` };
  } finally {
    await server.close();
  }
}

/** Serves one assistant at a pair of streams. Resolves when it has gone, or at the signal. */
export async function serve(
  assistant: Assistant,
  input: Readable,
  output: Writable,
  signal: AbortSignal,
): Promise<void> {
  const server = serverOf(assistant);
  const transport = new StdioServerTransport(input, output);
  const closed = new Promise<void>((resolve) => {
    Object.assign(server, { onclose: resolve });
    input.once('end', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  Object.assign(server, {
    onerror(error: Error) {
      const known =
        error instanceof SyntaxError
          ? failure(ErrorCode.ParseError, 'This is no JSON')
          : 'issues' in error
            ? failure(ErrorCode.InvalidRequest, 'This is no message of JSON-RPC')
            : null;
      if (known !== null) void transport.send(known as JSONRPCMessage);
    },
  });
  await server.connect(transport);
  await closed;
  await server.close();
}

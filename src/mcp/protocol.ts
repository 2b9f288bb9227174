/**
 * The Model Context Protocol, by its official SDK; the only file that loads it. The build makes
 * `mcp.cjs` of it, which is loaded when the first assistant connects.
 */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  McpError,
  SUPPORTED_PROTOCOL_VERSIONS,
  type JSONRPCMessage,
} from '@modelcontextprotocol/sdk/types.js';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { linesOf } from '../archive/json-values.ts';
import type { Assistant } from './tools.ts';

const INSTRUCTIONS =
  'A search server. Call list_indexes, then describe_index to learn which attributes can be filtered, then search.';

/** Maximum bytes of a message. */
const LINE_BYTES_MAX = 10 * 1024 * 1024;

type Transport = Parameters<Server['connect']>[0];

function serverOf({ tools, call, version, write }: Assistant): Server {
  const server = new Server(
    { name: 'gannet', version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map(({ name, description, inputSchema, writes }) => ({
      name,
      description,
      inputSchema: publicPart(inputSchema),
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
    const content = [{ type: 'text' as const, text: write(structuredContent) }];
    return { content, structuredContent };
  });
  return server;
}

/** A schema without keywords of our own, which some clients refuse. */
function publicPart<T>(schema: T): T {
  const text = JSON.stringify(schema, (name, value: unknown) =>
    name.startsWith('x-') ? undefined : value,
  );
  return JSON.parse(text) as T;
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
    const message = messageOf(given);
    if (message === null) return NO_MESSAGE;
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

const NO_MESSAGE = failure(ErrorCode.InvalidRequest, 'This is no message of JSON-RPC');
const NO_JSON = failure(ErrorCode.ParseError, 'This is no JSON');

/** null: it is no message. */
function messageOf(given: unknown): JSONRPCMessage | null {
  const parsed = JSONRPCMessageSchema.safeParse(given);
  return parsed.success ? parsed.data : null;
}

/**
 * Answers one request of the streamable HTTP transport. Nothing is remembered between requests.
 * Between two messages, others have the event loop.
 * @param version the protocol that the client speaks; undefined: any
 * @param json one message or several
 */
export async function respond(
  assistant: Assistant,
  version: string | undefined,
  json: Buffer,
): Promise<{ status: number; text: string }> {
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
    const supported = SUPPORTED_PROTOCOL_VERSIONS.join(', ');
    const reason = `This version of the protocol is not supported; supported are ${supported}`;
    return { status: 400, text: JSON.stringify(failure(ErrorCode.InvalidRequest, reason)) };
  }
  const body = assistant.read(json);
  const server = serverOf(assistant);
  const turns = new Turns();
  await server.connect(turns);
  try {
    if (!Array.isArray(body)) {
      const response = await turns.take(body);
      if (response === null) return { status: 202, text: '' };
      const { id } = response as { id: unknown };
      return { status: id === null ? 400 : 200, text: assistant.write(response) };
    }
    const texts: string[] = [];
    for (const message of body) {
      const response = await turns.take(message);
      if (response !== null) texts.push(assistant.write(response));
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
  const send = async (message: unknown): Promise<void> => {
    if (!output.write(`${assistant.write(message)}\n`)) await once(output, 'drain');
  };
  const transport: Transport = { start: async () => {}, send, close: async () => {} };
  await server.connect(transport);
  const listen = async (): Promise<void> => {
    for await (const line of linesOf(input, LINE_BYTES_MAX)) {
      let given: unknown;
      try {
        given = assistant.read(line);
      } catch {
        void send(NO_JSON);
        continue;
      }
      const message = messageOf(given);
      if (message === null) void send(NO_MESSAGE);
      else transport.onmessage!(message);
    }
  };
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([listen(), stopped]);
  input.destroy();
  await server.close();
}

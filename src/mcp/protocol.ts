/**
 * The Model Context Protocol, by its official SDK; the only file that loads it. The build makes
 * `mcp.cjs` of it, which is loaded when the first assistant connects.
 */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Readable, Writable } from 'node:stream';
import type { Assistant } from './tools.ts';

const INSTRUCTIONS =
  'A search server. Call list_indexes, then describe_index to learn which attributes can be filtered, then search.';

function serverOf({ tools, call, version }: Assistant): Server {
  const server = new Server(
    { name: 'gannet', version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map(({ name, description, inputSchema, writes }) => ({
      ...{ name, description, inputSchema },
      annotations: { readOnlyHint: writes !== true, openWorldHint: false },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const outcome = await call(params.name, params.arguments ?? {});
    if ('error' in outcome) {
      return { content: [{ type: 'text', text: outcome.error }], isError: true };
    }
    const structuredContent = outcome.result as Record<string, unknown>;
    const content = [{ type: 'text' as const, text: JSON.stringify(structuredContent) }];
    return { content, structuredContent };
  });
  return server;
}

/** Answers one request of the streamable HTTP transport. Nothing is remembered between requests. */
export async function respond(
  assistant: Assistant,
  headers: Record<string, string>,
  body: unknown,
): Promise<{ status: number; type: string; text: string }> {
  const server = serverOf(assistant);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport as Parameters<Server['connect']>[0]);
  try {
    const request = new Request('http://localhost/mcp', { method: 'POST', headers });
    const response = await transport.handleRequest(request, { parsedBody: body });
    const type = response.headers.get('content-type') ?? 'application/json';
    return { status: response.status, type, text: await response.text() };
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
  const closed = new Promise<void>((resolve) => {
    Object.assign(server, { onclose: resolve });
    input.once('end', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await server.connect(new StdioServerTransport(input, output));
  await closed;
  await server.close();
}

import { MCP_BODY } from '../../contract/mcp.ts';
import { protocol } from '../../mcp/load.ts';
import { assistantOf, type Peer, ToolError } from '../../mcp/tools.ts';
import type { Connection } from '../connection.ts';
import type { Dependencies } from '../dependencies.ts';
import { TooLongError } from '../inner-request.ts';
import { needFeature } from '../need-feature.ts';
import { bodyOf, route, type RouteResponse, type RequestContext, type Route } from '../route.ts';

/** Bytes of a response that a model gets. */
const ANSWER_BYTES_MAX = 256 * 1024;

export const MCP_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/mcp',
    action: 'search',
    summary: 'Answers an assistant that speaks the Model Context Protocol.',
    body: bodyOf<unknown>(MCP_BODY, { kind: 'search' }),
    success: 200,
    response: {},
    handle: answerAssistant,
  }),
];

async function answerAssistant(
  { connection, body }: RequestContext,
  server: Dependencies,
): Promise<RouteResponse> {
  needFeature(server, 'mcp', 'Answering assistants');
  const { mcpProtocol } = connection.headers;
  const { serverVersion } = server.version;
  const assistant = assistantOf(peerOf(connection, server), server.mcpAllowsWrites, serverVersion);
  const headers = {
    'content-type': 'application/json',
    // Whatever the client accepts: the response is JSON.
    accept: 'application/json, text/event-stream',
    ...(mcpProtocol !== undefined && { 'mcp-protocol-version': mcpProtocol }),
  };
  const { status, type, text } = await protocol().respond(assistant, headers, body);
  return { status, type, body: text === '' ? null : text };
}

function peerOf(connection: Connection, { inner }: Dependencies): Peer {
  return {
    async send(request) {
      try {
        return await inner.send(request, connection, ANSWER_BYTES_MAX);
      } catch (error) {
        if (!(error instanceof TooLongError)) throw error;
        throw new ToolError(
          `${error.message}: ask for fewer documents, or name attributesToRetrieve.`,
        );
      }
    },
  };
}

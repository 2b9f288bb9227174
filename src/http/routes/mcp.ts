import type { RawJson } from '../../base/json.ts';
import type { ApiError, ErrorCode } from '../../contract/errors.ts';
import { MCP_BODY } from '../../contract/mcp.ts';
import { protocol } from '../../mcp/load.ts';
import { assistantOf, type Peer, ToolError } from '../../mcp/tools.ts';
import type { Dependencies } from '../dependencies.ts';
import { TooLongError } from '../inner-request.ts';
import { needFeature } from '../need-feature.ts';
import {
  bodyOf,
  requesterOf,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';

/** Bytes of one response that a model gets. */
const ANSWER_BYTES_MAX = 256 * 1024;
/** Bytes of all responses that the messages of one request need. */
const REQUEST_BYTES_MAX = 512 * 1024;

export const MCP_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/mcp',
    action: 'search',
    summary: 'Answers an assistant that speaks the Model Context Protocol.',
    body: bodyOf(MCP_BODY),
    errorBody: rpcError,
    success: 200,
    response: {},
    handle: answerAssistant,
  }),
];

async function answerAssistant(
  context: RequestContext<unknown, RawJson>,
  server: Dependencies,
): Promise<RouteResponse> {
  needFeature(server, 'mcp', 'Answering assistants');
  const { connection, body } = context;
  const ending = new AbortController();
  connection.onAbort(() => ending.abort());
  const { serverVersion } = server.version;
  const peer = peerOf(context, server);
  const assistant = assistantOf(peer, server.mcpAllowsWrites, serverVersion);
  return server.mcpLoad.run(
    requesterOf(context),
    async () => {
      const { mcpProtocol } = connection.headers;
      const { status, text } = await protocol().respond(assistant, mcpProtocol, body.bytes);
      return { status, body: text === '' ? null : text };
    },
    ending.signal,
  );
}

/** The error, with the members that clients of JSON-RPC read. */
function rpcError(error: ApiError): object {
  const { message } = error;
  const code = RPC_CODES[error.code] ?? SERVER_ERROR;
  return { ...error.toJSON(), jsonrpc: '2.0', id: null, error: { code, message } };
}

/** Codes of JSON-RPC 2.0, section 5.1. */
const RPC_CODES: Partial<Record<ErrorCode, number>> = {
  malformed_payload: -32_700,
  missing_payload: -32_700,
  bad_request: -32_600,
};
const SERVER_ERROR = -32_000;

function peerOf({ connection, meter }: RequestContext, { inner }: Dependencies): Peer {
  let left = REQUEST_BYTES_MAX;
  return {
    async send(request) {
      try {
        const bytesMax = Math.min(left, ANSWER_BYTES_MAX);
        const response = await inner.send(request, connection, meter, bytesMax);
        left -= response.bytes;
        return response;
      } catch (error) {
        if (!(error instanceof TooLongError)) throw error;
        throw new ToolError(
          `${error.message}: ask for fewer documents, name attributesToRetrieve, or use another request.`,
        );
      }
    },
  };
}

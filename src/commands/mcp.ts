/** `gannet mcp`: lets an assistant on this machine use a server, by standard input and output. */
import { createRequire } from 'node:module';
import { jsonString, parseJson } from '../base/json.ts';
import { RefusedRequest } from '../outbound/api-peer.ts';
import { protocol } from '../mcp/load.ts';
import { assistantOf, type Peer, ToolError } from '../mcp/tools.ts';
import { type Command, command, DONE } from './command.ts';
import {
  type Connection,
  CONNECTION_OPTIONS,
  connectTo,
  DEFAULT_URL,
  RETRY_OPTIONS,
  serverUrl,
} from './connection.ts';

/** Bytes of a response that a model gets. */
const ANSWER_BYTES_MAX = 256 * 1024;

const OPTIONS = {
  ...CONNECTION_OPTIONS,
  'allow-writes': { kind: 'flag', help: 'Offer tools that add and delete documents.' },
  ...RETRY_OPTIONS,
} as const;

export const mcpCommand: Command = command({
  name: 'mcp',
  summary:
    'Lets an assistant use a server: the Model Context Protocol at standard input and output.',
  operands: '',
  notes: 'The assistant has exactly the rights of the key.',
  examples: ['mcp --url http://127.0.0.1:7700 --key SEARCH_KEY'],
  options: OPTIONS,
  async run(given, _, terminal) {
    const url = serverUrl('url', given.text('url') ?? DEFAULT_URL);
    const connection = connectTo(url, given, terminal);
    try {
      const allowsWrites = given.flag('allow-writes');
      const assistant = assistantOf(peerOf(connection), allowsWrites, programVersion());
      await protocol().serve(assistant, terminal.input, terminal.output, terminal.signal);
      return DONE;
    } finally {
      await connection.close();
    }
  },
});

function programVersion(): string {
  return (createRequire(import.meta.url)('#package') as { version: string }).version;
}

function peerOf(connection: Connection): Peer {
  return {
    async send({ method, path, body }) {
      const content = Buffer.from(jsonString(body ?? null));
      const headers = { 'content-type': 'application/json' };
      const sent = body === undefined ? {} : { body: { bytes: content, headers } };
      try {
        const bytes = await connection.send({
          method,
          path,
          ...sent,
          responseBytesMax: ANSWER_BYTES_MAX,
        });
        const parsed = parseJson(bytes, { exact: true });
        if (!parsed.ok) throw new ToolError(parsed.error);
        return { status: 200, json: parsed.value };
      } catch (error) {
        if (error instanceof RefusedRequest) return { status: error.status, json: error.body };
        throw new ToolError((error as Error).message);
      }
    },
  };
}

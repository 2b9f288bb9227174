import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Chunk, ProviderChunk } from '../../../src/chat/chunks.ts';
import {
  completion,
  ProviderError,
  requestBody,
  systemMessage,
} from '../../../src/chat/provider.ts';
import { type ChatWorkspace, newWorkspace } from '../../../src/contract/chats.ts';
import { OutboundClient, type OutboundRequest } from '../../../src/outbound/outbound-client.ts';
import { OutboundCounts } from '../../../src/outbound/outbound-counts.ts';

const workspace = (more: Partial<ChatWorkspace>): ChatWorkspace => ({
  ...newWorkspace('w'),
  apiKey: 'key',
  ...more,
});
const nobody = new AbortController().signal;

async function all(chunks: AsyncIterable<ProviderChunk>): Promise<Chunk[]> {
  const list: Chunk[] = [];
  for await (const { forwarded } of chunks) list.push(forwarded);
  return list;
}

describe('A chat provider', () => {
  describe('is reached', () => {
    const azure = { source: 'azureOpenAi', deploymentId: 'd e', apiVersion: '2024-06-01' } as const;
    const cases: [name: string, workspace: Partial<ChatWorkspace>, url: string, headers: object][] =
      [
        [
          'at OpenAI',
          { source: 'openAi', orgId: 'o', projectId: 'p' },
          'https://api.openai.com/v1/chat/completions',
          {
            authorization: 'Bearer key',
            'openai-organization': 'o',
            'openai-project': 'p',
          },
        ],
        [
          'at Mistral',
          { source: 'mistral' },
          'https://api.mistral.ai/v1/chat/completions',
          { authorization: 'Bearer key' },
        ],
        [
          'at Gemini',
          { source: 'gemini' },
          'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions',
          { authorization: 'Bearer key' },
        ],
        [
          'at a vLLM of one’s own, without a key',
          { source: 'vLlm', baseUrl: 'http://a/v1/', apiKey: null },
          'http://a/v1/chat/completions',
          {},
        ],
        [
          'at Azure',
          { ...azure, baseUrl: 'https://a.example//', orgId: 'o' },
          'https://a.example/openai/deployments/d%20e/chat/completions?api-version=2024-06-01',
          { 'api-key': 'key' },
        ],
        [
          'wherever the base URL says',
          { source: 'mistral', baseUrl: 'http://b/v2' },
          'http://b/v2/chat/completions',
          { authorization: 'Bearer key' },
        ],
      ];
    for (const [name, given, url, headers] of cases) {
      it(name, async () => {
        let sent: OutboundRequest | null = null;
        const outbound = {
          counts: new OutboundCounts(),
          stream: (request: OutboundRequest) => {
            sent = request;
            return Promise.reject(new Error('enough'));
          },
        } as unknown as OutboundClient;
        await assert.rejects(all(completion(outbound, workspace(given), '{}', nobody)), /enough/);
        assert.equal(sent!.url, url);
        const { 'content-type': type, accept, ...rest } = { ...sent!.headers };
        assert.deepEqual([type, accept, rest], ['application/json', 'text/event-stream', headers]);
      });
    }
  });

  it('of OpenAI gets the prompt in the role its models support; all others as `system`', () => {
    const roles: Record<string, string[]> = {
      system: [
        ...['gpt-3.5', 'gpt-3.5-turbo', 'gpt-4', 'gpt-4-0613', 'gpt-4.1', 'gpt-4.1-mini'],
        ...['gpt-4.5-preview', 'gpt-4o', 'gpt-4o-mini', 'chatgpt-4o-latest'],
      ],
      developer: ['gpt-5', 'o1', 'o3-mini', 'gpt-4.2', 'gpt-4oo', 'gpt-35', 'my-gpt-4o', ''],
    };
    for (const [role, models] of Object.entries(roles)) {
      for (const model of models) {
        for (const source of ['openAi', 'azureOpenAi'] as const) {
          assert.equal(systemMessage(workspace({ source }), model, 'p').role, role, model);
        }
        for (const source of ['mistral', 'gemini', 'vLlm'] as const) {
          assert.equal(systemMessage(workspace({ source }), model, 'p').role, 'system');
        }
      }
    }
  });

  it('is asked for a stream, and for the usage if it supports the option', () => {
    const body = { model: 'm', stream: false, stream_options: { x: 1 }, temperature: 0.5 };
    for (const source of ['openAi', 'azureOpenAi'] as const) {
      assert.deepEqual(JSON.parse(requestBody(workspace({ source }), body)), {
        ...{ model: 'm', stream: true, temperature: 0.5 },
        stream_options: { include_usage: true },
      });
    }
    for (const source of ['mistral', 'gemini', 'vLlm'] as const) {
      const asked = JSON.parse(requestBody(workspace({ source }), body));
      assert.deepEqual(asked, { model: 'm', stream: true, temperature: 0.5 });
    }
  });

  describe('that answers', () => {
    let server: Server;
    let respond: (response: ServerResponse, request: IncomingMessage) => void;
    let here: ChatWorkspace;
    const outbound = new OutboundClient({ denyPrivate: false, allow: [] });

    before(async () => {
      server = createServer((request, response) => {
        request.resume();
        request.on('end', () => respond(response, request));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      here = workspace({ source: 'vLlm', baseUrl: `http://127.0.0.1:${port}` });
    });
    after(async () => {
      await outbound.close();
      server.closeAllConnections();
      server.close();
    });

    const chunks = (signal = nobody): Promise<Chunk[]> =>
      all(completion(outbound, here, '{}', signal));
    const streaming =
      (...parts: (string | Buffer)[]) =>
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
        const next = (n: number): void => {
          if (n === parts.length) response.end();
          else response.write(parts[n], () => next(n + 1));
        };
        next(0);
      };
    const error = async (): Promise<object> => {
      try {
        await chunks();
      } catch (thrown) {
        assert.ok(thrown instanceof ProviderError, String(thrown));
        const { event_id: id, type, error: reported } = thrown.event;
        assert.match(id, /^[0-9a-f-]{36}$/);
        assert.deepEqual([type, reported.event_id], ['error', null]);
        assert.equal(typeof reported.message, 'string');
        return reported;
      }
      assert.fail('no error');
    };

    const text = [
      ': a comment\r\n\r\n',
      'data: {"id":"1","choices":[],"prompt_filter_results":[]}\r\n\r\n',
      'event: chunk\nid: 7\nretry: 10\ndata:{"id":"2","choices":[{"index":0,"delta":{"content":"née 😀"}}]}\n\n',
      'data: {"id":"3",\ndata: "choices":[]}\n\n',
      'data: [DONE]\n\ndata: {"id":"4"}\n\n',
    ].join('');
    const ids = (list: Chunk[]): (string | undefined)[] => list.map(({ id }) => id);

    it('in pieces, wherever they are cut', async () => {
      const bytes = Buffer.from(text);
      for (let at = 1; at < bytes.length; at += 1) {
        respond = streaming(bytes.subarray(0, at), bytes.subarray(at));
        const list = await chunks();
        assert.deepEqual(ids(list), ['1', '2', '3'], `cut at ${at}`);
        assert.deepEqual(list[1]!.choices![0]!['delta'], { content: 'née 😀' });
      }
      respond = streaming(...Array.from(bytes, (byte) => Buffer.from([byte])));
      assert.deepEqual(ids(await chunks()), ['1', '2', '3']);
    }).timeout(60_000);

    it('without a `[DONE]` or a last empty line', async () => {
      respond = streaming('data: {"id":"1"}\n\ndata: {"id":"2"}');
      assert.deepEqual(ids(await chunks()), ['1', '2']);
    });

    const refusals: [name: string, status: number, body: string, expected: object][] = [
      [
        'OpenAI',
        401,
        '{"error":{"message":"bad key","type":"auth","param":"p","code":"invalid_api_key"}}',
        { type: 'auth', code: 'invalid_api_key', message: 'bad key', param: 'p' },
      ],
      [
        'Mistral, flat',
        422,
        '{"object":"error","message":"no","type":"invalid","param":null,"code":1500}',
        { type: 'invalid', code: '1500', message: 'no', param: null },
      ],
      [
        'Gemini, in a list',
        400,
        '[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}]',
        { type: 'unknown', code: '400', message: 'no', param: null },
      ],
      ['a text', 500, '{"error":"broken"}', { type: 'unknown', code: null, message: 'broken' }],
      ['nothing that can be read', 502, '<html>', { type: 'reqwest_error', code: null }],
      ['nothing at all', 503, '', { type: 'reqwest_error', code: null }],
      ['a status that is no error, and no stream', 200, '{"id":"1"}', { type: 'reqwest_error' }],
    ];
    for (const [name, status, body, expected] of refusals) {
      it(`with an error before the stream: ${name}`, async () => {
        respond = (response) => {
          response.writeHead(status, { 'content-type': 'application/json' }).end(body);
        };
        assert.deepEqual({ ...(await error()), ...expected }, await error());
      });
    }

    const faults: [name: string, parts: (string | Buffer)[], expected: object][] = [
      [
        'an error object',
        ['data: {"id":"1"}\n\n', 'data: {"error":{"message":"full","type":"overloaded"}}\n\n'],
        { type: 'overloaded', code: null, message: 'full' },
      ],
      [
        'an error object without a type',
        ['data: {"error":{"message":"full","code":429}}\n\n'],
        { type: 'unknown', code: '429', message: 'full' },
      ],
      ['an error that is a text', ['data: {"error":"x"}\n\n'], { type: 'unknown', message: 'x' }],
      [
        'the flat error of Mistral',
        ['data: {"object":"error","message":"no","type":"invalid","code":"c"}\n\n'],
        { type: 'invalid', code: 'c', message: 'no' },
      ],
      ['no JSON', ['data: {"id":\n\n'], { type: 'json_deserialize_error', code: 'internal' }],
      [
        'a choice that is none',
        ['data: {"choices":[null]}\n\n'],
        { type: 'json_deserialize_error', code: 'internal' },
      ],
      [
        'a chunk that is nested too deep',
        [`data: {"choices":[{"delta":{"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}}]}\n\n`],
        { type: 'json_deserialize_error', code: 'internal' },
      ],
      ['no object', ['data: [1]\n\n'], { type: 'json_deserialize_error', code: 'internal' }],
      ['no UTF-8', [Buffer.from([0xff, 0xfe])], { type: 'invalid_utf8_error', code: null }],
      [
        'an endless line',
        Array.from({ length: 9 }, () => 'x'.repeat(2 ** 20)),
        { type: 'parser_error' },
      ],
    ];
    for (const [name, parts, expected] of faults) {
      it(`with a fault in the stream: ${name}`, async () => {
        respond = streaming(...parts);
        const { type, code, message } = (await error()) as Record<string, unknown>;
        assert.deepEqual({ type, code, message, ...expected }, { type, code, message });
      });
    }

    it('by leaving: before a response, or in the middle of one', async () => {
      respond = (response) => response.destroy();
      assert.equal(((await error()) as { type: string }).type, 'transport_error');
      respond = (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"id":"1"}\n\n', () => response.destroy());
      };
      assert.equal(((await error()) as { type: string }).type, 'transport_error');
    });

    it('too late for a client that has disconnected: its connection is closed', async () => {
      const ending = new AbortController();
      let closed = (): void => {};
      const left = new Promise<void>((resolve) => (closed = resolve));
      respond = (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"id":"1"}\n\n');
        response.on('close', closed);
      };
      for await (const chunk of completion(outbound, here, '{}', ending.signal)) {
        assert.equal(chunk.forwarded.id, '1');
        break;
      }
      await left;
    });

    it('elsewhere: a redirection is not followed, so the key stays here', async () => {
      respond = (response) => {
        response.writeHead(307, { location: 'http://169.254.169.254/' }).end();
      };
      assert.equal(((await error()) as { type: string }).type, 'reqwest_error');
    });
  });
});

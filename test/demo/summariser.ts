/**
 * A chat provider without a model, with OpenAI's API on loopback, that answers by quoting. It takes
 * the significant words of the last question, requests a search for them (with a filter if the
 * question contains values listed in the tool's description), and quotes the lines of the results
 * that contain most of these words.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Summariser {
  /** The URL for `baseUrl` of a workspace. */
  readonly url: string;
  close(): Promise<void>;
}

interface Message {
  role: string;
  content?: string | null;
}

interface Tool {
  function: {
    name: string;
    parameters: {
      properties: { index_uid: { enum: string[] }; filter: { description: string } };
    };
  };
}

interface Request {
  model: string;
  messages: Message[];
  tools?: Tool[];
}

/** The text, and the arguments of a search if one is requested. */
interface Turn {
  text: string;
  search: { index_uid: string; q: string; filter: string } | null;
}

/** Maximum number of quoted lines. */
const QUOTES_MAX = 3;

const SMALL_WORDS = new Set(
  (
    'a an and any about are at book books by can did do does for from give has have i in is it like me of on one or please ' +
    'read recommend show some something story tell than that the their there these they this to was what when where which who with you'
  ).split(' '),
);

export async function startSummariser(): Promise<Summariser> {
  const server = createServer((request, response) => {
    respond(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = '';
  for await (const part of request) text += String(part);
  const asked = JSON.parse(text) as Request;
  const turn = turnOf(asked);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (delta: object, finishReason: string | null = null): void => {
    const choices = [{ index: 0, delta, finish_reason: finishReason }];
    const fields = {
      id: 'quoted',
      object: 'chat.completion.chunk',
      created: 0,
      model: asked.model,
    };
    response.write(`data: ${JSON.stringify({ ...fields, choices })}\n\n`);
  };
  // A few words at a time, as models do.
  for (const words of turn.text.match(/(?:\S+\s*){1,4}/g) ?? []) send({ content: words });
  if (turn.search === null) send({}, 'stop');
  else {
    const fn = { name: asked.tools![0]!.function.name, arguments: JSON.stringify(turn.search) };
    const id = `call-${asked.messages.length}`;
    send({ tool_calls: [{ index: 0, id, type: 'function', function: fn }] });
    send({}, 'tool_calls');
  }
  response.end('data: [DONE]\n\n');
}

/** The next step of the conversation. */
export function turnOf({ messages, tools }: Request): Turn {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const question = messages[last]?.content ?? '';
  const tool = tools?.[0]?.function.parameters.properties;
  const filters = tool === undefined ? [] : namedValues(question, tool.filter.description);
  const words = wordsOf(filters.reduce((rest, { value }) => without(rest, value), question));
  const results = messages.slice(last + 1).filter(({ role }) => role === 'tool');
  const index = tool?.index_uid.enum[0];
  if (results.length === 0 && index !== undefined) {
    const filter = filters.map(({ facet, value }) => `${facet} = "${value}"`).join(' AND ');
    const where = filter === '' ? '' : `, where ${filter}`;
    return {
      text: `I look for “${words.join(' ')}”${where}.\n`,
      search: { index_uid: index, q: words.join(' '), filter },
    };
  }
  const quotes = quotesOf(results.map(({ content }) => content ?? '').join('\n'), words);
  const text =
    quotes.length === 0
      ? 'The documents say nothing about that.'
      : quotes.map((quote) => `- ${quote}`).join('\n');
  return { text, search: null };
}

/** Facet values in the question, found by the lines `facet: value, value.` of the description. */
function namedValues(question: string, description: string): { facet: string; value: string }[] {
  const found: { facet: string; value: string }[] = [];
  for (const [, facet, values] of description.matchAll(/^(\w+): (.*)\.$/gm)) {
    for (const value of values!.split(', ')) {
      if (value.length > 3 && plain(question).includes(plain(value))) {
        found.push({ facet: facet!, value });
      }
    }
  }
  return found;
}

function without(text: string, value: string): string {
  return plain(text).replaceAll(plain(value), ' ');
}

/** Lines with at least half of the words, those with most of them first. */
function quotesOf(text: string, words: readonly string[]): string[] {
  const stems = [...new Set(words.map(stem))];
  return text
    .split('\n')
    .map((line) => {
      const there = new Set(wordsOf(line).map(stem));
      return { line, found: stems.filter((one) => there.has(one)).length };
    })
    .filter(({ line, found }) => line.trim() !== '' && found > 0 && found * 2 >= stems.length)
    .toSorted((a, b) => b.found - a.found)
    .slice(0, QUOTES_MAX)
    .map(({ line }) => line);
}

function wordsOf(text: string): string[] {
  return (plain(text).match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !SMALL_WORDS.has(word));
}

/** The beginning of a word, so that endings and most spellings do not matter. */
function stem(word: string): string {
  return word.slice(0, 5);
}

/** Converts to lower case without accents. */
function plain(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

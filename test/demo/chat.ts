/**
 * The conversation of the demonstration (`npm run demo -- --chat`), which docs/chat.md also shows:
 * questions about the books to a provider that quotes, through OpenAI's client.
 */
import OpenAI from 'openai';

/** Settings that allow the model to search the books. */
export const CHAT_SETTINGS = {
  description: 'Books of all times: title, author, year and what each is about.',
  documentTemplate: '{{ doc.title }}, by {{ doc.author }} ({{ doc.year }}): {{ doc.summary }}',
  searchParameters: { limit: 5 },
};

export const QUESTIONS = [
  'Which science fiction books are about a desert planet?',
  'Is there something by Dostoyevsky about a murder?',
  'Which books explain quantum computers?',
];

/** Marker tools, which make the server report the searches of the model and their results. */
const TOOLS = ['_meiliSearchProgress', '_meiliSearchSources'].map((name) => ({
  type: 'function' as const,
  function: { name, parameters: {} },
}));

type Call = (method: string, route: string, body?: unknown) => Promise<unknown>;

/** @param finish like `call`, but also waits for the task */
export async function setUpChat(call: Call, finish: Call, provider: string): Promise<void> {
  await call('PATCH', '/experimental-features', { chatCompletions: true });
  await finish('PATCH', '/indexes/books/settings', { chat: CHAT_SETTINGS });
  await call('PATCH', '/chats/demo/settings', { source: 'vLlm', baseUrl: provider });
}

/** Yields the lines of the conversation as they arrive. */
export async function* conversation(url: string, key: string): AsyncGenerator<string> {
  const client = new OpenAI({ apiKey: key, baseURL: `${url}/chats/demo`, maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [];
  for (const question of QUESTIONS) {
    yield `> ${question}`;
    messages.push({ role: 'user', content: question });
    const stream = await client.chat.completions.create({
      ...{ model: 'quoting', stream: true, messages, tools: TOOLS },
    });
    let said = '';
    let text = '';
    for await (const { choices } of stream) {
      const { content, tool_calls: calls } = choices[0]!.delta;
      said += content ?? '';
      text += content ?? '';
      for (const { function: fn } of calls ?? []) {
        if (said !== '') yield said.trimEnd();
        said = '';
        yield lineOf(fn!.name!, JSON.parse(fn!.arguments!));
      }
    }
    yield said;
    yield '';
    messages.push({ role: 'assistant', content: text });
  }
}

function lineOf(tool: string, report: any): string {
  if (tool === '_meiliSearchProgress') return `  (searches ${report.function_arguments})`;
  const titles = report.sources.map(({ title }: { title: string }) => title);
  return `  (finds ${titles.length === 0 ? 'nothing' : titles.join('; ')})`;
}

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';
import { conversation, QUESTIONS, setUpChat } from './chat.ts';
import { SETTINGS } from './examples.ts';
import { startSummariser, type Summariser, turnOf } from './summariser.ts';

const DOCUMENT = 'docs/chat.md';
/** Numbers of the documentation's blocks with the conversation and with the events. */
const [SAID, SENT] = [0, 1];

describe('The conversation of the demonstration', function () {
  this.timeout(60_000);
  let server: BuiltServer;
  let provider: Summariser;

  before(async () => {
    provider = await startSummariser();
    server = await startBuiltServer();
    await server.finish('PATCH', '/indexes/books/settings', { body: SETTINGS });
    await server.finish('POST', '/indexes/books/documents', {
      text: readFileSync('test/demo/books.ndjson', 'utf8'),
      type: 'application/x-ndjson',
    });
    await setUpChat(
      (method, route, body) => server.call(method, route, { body }),
      (method, route, body) => server.finish(method, route, { body }),
      provider.url,
    );
  });
  after(async () => {
    await server?.close();
    await provider?.close();
  });

  /** Blocks of the language `text`, in their order. With GANNET_UPDATE_DOCS=1 they are written. */
  function recorded(n: number, now: string): string {
    const text = readFileSync(DOCUMENT, 'utf8');
    const blocks = [...text.matchAll(/^```text\n([\s\S]*?)\n```$/gm)];
    if (process.env['GANNET_UPDATE_DOCS'] === undefined) return blocks[n]![1]!;
    const [whole] = blocks[n]!;
    writeFileSync(
      DOCUMENT,
      text.replace(whole, () => `\`\`\`text\n${now}\n\`\`\``),
    );
    return now;
  }

  it('is the one that the documentation shows', async () => {
    const lines: string[] = [];
    for await (const line of conversation(server.url, server.masterKey)) lines.push(line);
    const said = lines.join('\n').trimEnd();
    assert.equal(said, recorded(SAID!, said));
    assert.match(said, /Dune, by Frank Herbert/);
    assert.match(said, /The documents say nothing about that\.$/);
  });

  it('comes in the events that the documentation shows', async () => {
    const response = await fetch(`${server.url}/chats/demo/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.masterKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'quoting',
        messages: [{ role: 'user', content: QUESTIONS[0] }],
      }),
    });
    const text = await response.text();
    const sent = text.trimEnd().replace(/^data: (\{.*\})$/gm, (_, json: string) => {
      const { choices } = JSON.parse(json) as { choices: unknown };
      return `data: ${JSON.stringify({ choices })}`;
    });
    assert.equal(sent, recorded(SENT!, sent));
    assert.match(sent, /data: \[DONE\]$/);
  });

  it('quotes nothing that the documents do not say', () => {
    const question = { role: 'user', content: 'Who wrote about whales and captains?' };
    const result = { role: 'tool', content: 'A tale of a whale and its captain\nA cookery book' };
    const { text, search } = turnOf({ model: 'm', messages: [question, result] });
    assert.equal(search, null);
    assert.equal(text, '- A tale of a whale and its captain');
    const nothing = turnOf({ model: 'm', messages: [question, { role: 'tool', content: '' }] });
    assert.equal(nothing.text, 'The documents say nothing about that.');
  });
});

/**
 * Loads a catalogue and its queries, as `catalog.mjs` and `queries.mjs` write them, for one or
 * several servers.
 */
import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ServerProcess } from '../test/http/kill/support/server-process.ts';
import { finished } from './measures.ts';

/** Characters of documents in one request. */
const PAYLOAD_LENGTH = 16 * 1024 * 1024;

/** The words of each query of a file. */
export function queriesOf(path: string): string[] {
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { q: string }).q);
}

/** Calls the API. Throws the text of the response when the call fails. */
export async function call(
  { client }: ServerProcess,
  method: string,
  path: string,
  body: unknown,
): Promise<void> {
  const response = await client.call(method, path, { body });
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.text}`);
}

/** Distributes the lines of a catalogue among the servers, and waits until all are searchable. */
export async function loadProducts(path: string, among: readonly ServerProcess[]): Promise<void> {
  const texts = among.map(() => '');
  const send = async (n: number): Promise<void> => {
    const url = `http://127.0.0.1:${among[n]!.port}/indexes/products/documents?primaryKey=id`;
    const headers = { 'content-type': 'application/x-ndjson', connection: 'close' };
    const response = await fetch(url, { method: 'POST', headers, body: texts[n]! });
    if (response.status !== 202) throw new Error(await response.text());
    texts[n] = '';
  };
  let count = 0;
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const n = count++ % among.length;
    texts[n] += `${line}\n`;
    if (texts[n]!.length >= PAYLOAD_LENGTH) await send(n);
  }
  for (const [n, { client }] of among.entries()) {
    if (texts[n] !== '') await send(n);
    await finished(client);
  }
}

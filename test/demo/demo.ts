/**
 * Starts the built server on an embedded data folder, loads a small collection of books unless it
 * is there already, shows a few searches with their results, and leaves the server running until
 * Ctrl-C.
 *
 *   node --import=tsx test/demo/demo.ts [--once] [--chat | --cluster]
 *
 *   --once      stop after the searches
 *   --chat      a conversation instead of the searches
 *   --cluster   three nodes of a cluster instead, of which the leader is killed; needs etcd
 *
 * Environment: GANNET_HTTP_ADDR and GANNET_DB_PATH, as for the server.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { conversation, setUpChat } from './chat.ts';
import { showCluster } from './cluster.ts';
import { EXAMPLES, SETTINGS } from './examples.ts';
import { startSummariser } from './summariser.ts';

const address = process.env.GANNET_HTTP_ADDR ?? '127.0.0.1:7700';
const dbPath = process.env.GANNET_DB_PATH ?? './data.gannet';
const url = `http://${address}`;
const START_MS_MAX = 20_000;
const POLL_MS = 20;

if (process.argv.includes('--cluster')) {
  try {
    await showCluster(path('../../dist/main.cjs'), path('books.ndjson'));
    process.exit(0);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}

const server = spawn(
  process.execPath,
  [path('../../dist/main.cjs'), '--http-addr', address, '--db-path', dbPath, '--log-level', 'warn'],
  // A separate process group, so that Ctrl-C reaches only this process, which then stops the server
  // cleanly.
  { stdio: ['ignore', 'inherit', 'inherit'], detached: true },
);
let stopping = false;
server.on('exit', (status) => process.exit(stopping ? 0 : (status ?? 1)));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop);

function path(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

function stop(): void {
  stopping = true;
  server.kill('SIGTERM');
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function call(
  method: string,
  route: string,
  body?: string,
  type = 'application/json',
): Promise<any> {
  const response = await fetch(url + route, {
    method,
    ...(body !== undefined && { body, headers: { 'content-type': type } }),
  });
  const json: any = await response.json();
  if (response.status >= 400 && response.status !== 404) throw new Error(json.message);
  return json;
}

async function finished({ taskUid }: { taskUid: number }): Promise<void> {
  for (;;) {
    const task = await call('GET', `/tasks/${taskUid}`);
    if (task.status === 'succeeded') return;
    if (task.status === 'failed' || task.status === 'canceled')
      throw new Error(task.error?.message);
    await pause(POLL_MS);
  }
}

/** Whether the server is ready for requests. */
function isReady(): Promise<boolean> {
  return fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function ready(): Promise<void> {
  for (const begin = Date.now(); Date.now() - begin < START_MS_MAX; await pause(POLL_MS)) {
    if (await isReady()) return;
  }
  throw new Error(`The server did not answer at ${url}.`);
}

async function load(): Promise<number> {
  const { numberOfDocuments = 0 } = await call('GET', '/indexes/books/stats');
  if (numberOfDocuments > 0) return numberOfDocuments;
  await finished(await call('PATCH', '/indexes/books/settings', JSON.stringify(SETTINGS)));
  const books = readFileSync(path('books.ndjson'), 'utf8');
  const added = await call('POST', '/indexes/books/documents', books, 'application/x-ndjson');
  await finished(added);
  return (await call('GET', '/indexes/books/stats')).numberOfDocuments;
}

function show(result: any): void {
  for (const hit of result.hits) {
    const { title, author, year, summary } = hit._formatted ?? hit;
    console.log(`   ${title} (${author}, ${year})\n      ${summary}`);
  }
  if (result.facetDistribution !== undefined) {
    console.log(`   ${JSON.stringify(result.facetDistribution)}`);
  }
  const total = result.estimatedTotalHits;
  console.log(`   ${total} ${total === 1 ? 'book' : 'books'} in ${result.processingTimeMs} ms\n`);
}

async function showSearches(): Promise<void> {
  console.log('Some searches:\n');
  for (const { shows, body } of EXAMPLES) {
    console.log(`## ${shows}\n   POST /indexes/books/search ${JSON.stringify(body)}`);
    show(await call('POST', '/indexes/books/search', JSON.stringify(body)));
  }
}

/**
 * Runs the conversation with a provider that quotes search results, without a model or an account.
 */
async function showConversation(): Promise<void> {
  const provider = await startSummariser();
  const sent = (method: string, route: string, body: unknown): Promise<any> =>
    call(method, route, JSON.stringify(body));
  const finish = async (...asked: Parameters<typeof sent>): Promise<void> =>
    finished(await sent(...asked));
  await setUpChat(sent, finish, provider.url);
  console.log('A conversation with the workspace `demo`:\n');
  for await (const line of conversation(url, 'none')) console.log(line);
}

try {
  await ready();
  console.log(`${await load()} books are in the index \`books\`.`);
  await (process.argv.includes('--chat') ? showConversation() : showSearches());
  if (process.argv.includes('--once')) stop();
  else {
    console.log('The server keeps running; stop it with Ctrl-C. Try in another terminal:\n');
    console.log(`   curl -s '${url}/indexes/books/search?q=dostoyevski'\n`);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  server.kill('SIGTERM');
  process.exitCode = 1;
}

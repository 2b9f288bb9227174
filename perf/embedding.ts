/**
 * Measures the cost and quality of a model on this machine: texts embedded per second, memory, the
 * latency of searches meanwhile, and the results of twenty questions that share few words with
 * their responses.
 *
 *   node --import=tsx perf/embedding.ts --data packages.ndjson.gz --model FOLDER
 *       [--documents 2000] [--port 7896]
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ServerProcess } from '../test/http/kill/support/server-process.ts';
import { settle } from '../test/http/kill/support/compare.ts';
import { type Document, documentsOf } from './corpus.ts';
import { percentiles } from './statistics.ts';

const QUESTIONS: readonly [question: string, packages: readonly string[]][] = [
  ['retouch my holiday pictures', ['gimp']],
  ['write a letter to the tax office', ['libreoffice-writer']],
  ['watch a film', ['vlc']],
  ['keep intruders out of my machine', ['ufw']],
  ['save my data every night without storing the same twice', ['borgbackup']],
  ['bring two folders on different computers up to date', ['rsync']],
  ['an opponent for the royal game', ['gnuchess', 'stockfish']],
  ['draw boxes and arrows from a textual description', ['graphviz']],
  ['which program makes my computer slow', ['htop']],
  ['read texts aloud', ['espeak']],
  ['get back files that I deleted by mistake', ['testdisk', 'foremost']],
  ['is there malware on this machine', ['clamav']],
  ['which planets are visible tonight', ['stellarium']],
  ['design a logo that can be enlarged', ['inkscape']],
  ['from Spanish into Catalan without a person', ['apertium']],
  ['see what is sent over the wire', ['wireshark']],
  ['remember all my logins', ['keepassxc']],
  ['cut the beginning off a song', ['audacity']],
  ['find mistakes in my writing', ['hunspell']],
  ['make a directory smaller to send it by mail', ['zip', 'p7zip']],
];
const FOUND_WITHIN = 10;
const SEARCHES = 1_000;

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    model: { type: 'string' },
    documents: { type: 'string', default: '2000' },
    port: { type: 'string', default: '7896' },
  },
});
if (values.data === undefined || values.model === undefined)
  throw new Error('--data and --model are needed');

const dir = mkdtempSync(join(tmpdir(), 'gannet-embedding-'));
const server = await ServerProcess.start({ dir, port: Number(values.port) });
const { client } = server;

interface Hits {
  hits: { id: string }[];
}

async function change(method: string, path: string, body: unknown): Promise<void> {
  const response = await client.call(method, path, { body });
  if (response.status !== 202) throw new Error(response.text);
}

/** Milliseconds of keyword searches, sent one after the other until `enough` returns true. */
async function searchTimes(
  queries: readonly string[],
  enough: (count: number) => boolean,
): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; !enough(i); i++) {
    const begin = performance.now();
    await client.post('/indexes/packages/search', { q: queries[i % queries.length] });
    times.push(performance.now() - begin);
  }
  return times;
}

function shown(times: number[]): string {
  const { p50Ms, p99Ms } = percentiles(times);
  return `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`;
}

/** Resident memory of the server and of the process that runs the model, MiB. */
function memory(): { server: number; model: number } {
  const resident = (pid: number): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
  const children = execFileSync('ps', ['--ppid', String(server.pid), '-o', 'pid='], {
    encoding: 'utf8',
  });
  const model = children
    .trim()
    .split(/\s+/)
    .map((pid) => resident(Number(pid)));
  return { server: Math.round(resident(server.pid)), model: Math.round(Math.max(...model)) };
}

try {
  const wanted = new Set(QUESTIONS.flatMap(([, packages]) => packages));
  const all: Document[] = [];
  for await (const document of documentsOf(values.data)) all.push(document);
  const count = Number(values.documents);
  const step = Math.max(1, Math.floor(all.length / count));
  const documents = all.filter(({ id }, n) => n % step === 0 || wanted.has(String(id)));
  const queries = documents
    .slice(0, 200)
    .map(({ summary }) => String(summary).split(' ').slice(0, 3).join(' '));
  await change('POST', '/indexes/packages/documents?primaryKey=id', documents);
  await settle(client);
  await searchTimes(queries, (n) => n >= SEARCHES);
  const before = await searchTimes(queries, (n) => n >= SEARCHES);

  const begin = performance.now();
  await change('PATCH', '/indexes/packages/settings/embedders', {
    model: {
      ...{ source: 'huggingFace', model: values.model },
      documentTemplate: '{{ doc.name }}: {{ doc.summary }}. {{ doc.description }}',
    },
  });
  let settled = false;
  const ended = settle(client).then(() => (settled = true));
  const meanwhile = await searchTimes(queries, () => settled);
  await ended;
  const seconds = (performance.now() - begin) / 1000;
  const used = memory();
  console.log(`documents           ${documents.length}`);
  console.log(`texts per second    ${(documents.length / seconds).toFixed(1)}`);
  console.log(`memory              server ${used.server} MB, model ${used.model} MB`);
  console.log(`search before       ${shown(before)}`);
  console.log(`search meanwhile    ${shown(meanwhile)}, ${meanwhile.length} searches`);

  const found = { words: 0, hybrid: 0, meaning: 0 };
  for (const [q, packages] of QUESTIONS) {
    const ranks: string[] = [];
    for (const [kind, semanticRatio] of [
      ['words', 0],
      ['hybrid', 0.5],
      ['meaning', 1],
    ] as const) {
      const body = {
        q,
        limit: 1000,
        attributesToRetrieve: ['id'],
        hybrid: { embedder: 'model', semanticRatio },
      };
      const { hits } = await client.post<Hits>('/indexes/packages/search', body);
      const rank = hits.findIndex(({ id }) => packages.includes(id));
      if (rank >= 0 && rank < FOUND_WITHIN) found[kind]++;
      ranks.push(`${kind} ${rank < 0 ? '-' : rank + 1}`);
    }
    console.log(`${q}: ${packages[0]}: ${ranks.join(', ')}`);
  }
  console.log(
    `found within ${FOUND_WITHIN}     words ${found.words}, hybrid ${found.hybrid}, meaning ${found.meaning} of ${QUESTIONS.length}`,
  );
} finally {
  await server.kill();
  rmSync(dir, { recursive: true, force: true });
}

/**
 * How many judged documents does a model get to read within a number of tokens? Compares passages
 * (`POST /indexes/{uid}/passages`) with whole documents, best first, each found by words, by
 * vectors, and by both.
 *
 *   node --import=tsx perf/passages.ts --data documents.ndjson --queries questions.ndjson \
 *     --judgements judgements.ndjson --model FOLDER [--tokens 2000] [--chunk 60]
 *
 * The files are those of `perf/relevance.ts`; `FOLDER` has a local model (docs/embedders.md).
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { tokensOf } from '../src/embedding/passages.ts';
import { estimate } from '../src/relevance/resampling.ts';
import { startBuiltServer } from '../test/support/built-server.ts';
import { bytesOf } from './searches.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    queries: { type: 'string' },
    judgements: { type: 'string' },
    model: { type: 'string' },
    tokens: { type: 'string', default: '2000' },
    chunk: { type: 'string', multiple: true, default: ['60', '120', '200'] },
  },
});
const TOKENS = Number(values.tokens);
const WAYS = { words: 0, vectors: 1, both: 0.5 };
const searchBy = (semanticRatio: number): object => ({
  matchingStrategy: 'natural',
  hybrid: { embedder: 'model', fusion: 'rrf', semanticRatio },
});

function linesOf(file: string): any[] {
  const lines = bytesOf(file).toString().split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line));
}

const documents = linesOf(values.data!);
const judged = new Map<string, Set<string>>();
for (const { id, relevant = [] } of linesOf(values.judgements!)) {
  if (relevant.length > 0) judged.set(String(id), new Set(relevant.map(String)));
}
const questions = linesOf(values.queries!).filter(({ id }) => judged.has(String(id)));

const server = await startBuiltServer();
const post = async (path: string, body: object): Promise<any> => {
  const { status, json } = await server.call('POST', `/indexes/${path}`, { body });
  if (status !== 200) throw new Error(JSON.stringify(json));
  return json;
};

async function load(uid: string, chunks: object | null): Promise<void> {
  const embedder = {
    source: 'huggingFace',
    model: resolve(values.model!),
    documentTemplate: '{{doc.title}}. {{doc.text}}',
    documentTemplateMaxBytes: 2_000,
    chunks,
  };
  const settings = { embedders: { model: embedder }, searchableAttributes: ['title', 'text'] };
  const path = `/indexes/${uid}`;
  for (const task of [
    await server.finish('PATCH', `${path}/settings`, { body: settings }),
    await server.finish('POST', `${path}/documents?primaryKey=id`, { body: documents }),
  ]) {
    if (task.status !== 'succeeded') throw new Error(JSON.stringify(task.error));
  }
}

/** Ids of whole documents that fit, best first. */
async function whole(uid: string, q: string, search: object): Promise<string[]> {
  const { hits } = await post(`${uid}/search`, { ...search, q, limit: 100 });
  const ids: string[] = [];
  let left = TOKENS;
  for (const { id, title, text } of hits) {
    left -= tokensOf(`${title}. ${text}`);
    if (left < 0) break;
    ids.push(String(id));
  }
  return ids;
}

async function cited(uid: string, q: string, search: object): Promise<string[]> {
  const body = { ...search, q, maxTokens: TOKENS, documents: 100 };
  const { passages } = await post(`${uid}/passages`, body);
  return [...new Set<string>(passages.map(({ id }: { id: unknown }) => String(id)))];
}

type Find = typeof cited;

async function measure(name: string, uid: string, find: Find): Promise<void> {
  for (const [way, ratio] of Object.entries(WAYS)) {
    const search = searchBy(ratio);
    await measureOne(`${name} by ${way}`, (q) => find(uid, q, search));
  }
}

async function measureOne(name: string, find: (q: string) => Promise<string[]>): Promise<void> {
  const recalls: number[] = [];
  let read = 0;
  for (const { id, q } of questions) {
    const relevant = judged.get(String(id))!;
    const ids = await find(q);
    read += ids.length;
    recalls.push(ids.filter((one) => relevant.has(one)).length / relevant.size);
  }
  const { mean, low, high } = estimate(recalls, 1);
  const figures = [mean, low, high].map((one) => one.toFixed(3));
  const some = recalls.filter((one) => one > 0).length / recalls.length;
  console.log(
    `${name}: recall ${figures[0]} [${figures[1]}, ${figures[2]}], any judged ${some.toFixed(3)}, ` +
      `${(read / questions.length).toFixed(1)} documents`,
  );
}

try {
  await load('whole', null);
  await measure('whole documents', 'whole', whole);
  await measure('passages without chunks', 'whole', cited);
  for (const maxTokens of values.chunk.map(Number)) {
    const uid = `chunks-${maxTokens}`;
    await load(uid, { attribute: 'text', maxTokens });
    await measure(`passages of ${maxTokens} tokens`, uid, cited);
  }
} finally {
  await server.close();
}

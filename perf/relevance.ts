/**
 * How well do searches answer judged questions? Compares sets of search parameters by nDCG@10,
 * MRR@10 and recall@100, with 95 % intervals (bootstrap over the questions). Also prints the
 * questions that gained and lost most between the first set and the last.
 *
 *   npm run relevance -- --data documents.ndjson.gz --queries questions.ndjson \
 *     --judgements judgements.ndjson [--search 'NAME={"matchingStrategy":"natural"}']... \
 *     [--settings '{"searchableAttributes":["title","text"]}'] [--model FOLDER]
 *
 * Without `--search`, the strategies are compared. A set may have a member `settings`, which the
 * index has while this set is searched. With the folder of a model (docs/embedders.md, local
 * models), its embeddings of `--template` are searched too: alone, and at three ratios by scores
 * and with the fusion of the strategy.
 *
 * Documents have an `id`. A question is `{id, q}`. A judgement is `{id, relevant: [document ids]}`
 * with the id of the question, or `{query, document, gain}`. A question with `relevant` is a
 * judgement as well, and so is one with the `target` that it looks for. If questions have a `kind`,
 * each kind has a table. The documents are loaded into a new server; with `--url` and `--index`
 * (and `--key`), an existing server is searched instead.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Metrics, metricsOf } from '../src/relevance/metrics.ts';
import { estimate } from '../src/relevance/resampling.ts';
import { startBuiltServer } from '../test/support/built-server.ts';
import { bytesOf } from './searches.ts';

interface Question {
  id: string | number;
  q: string;
  kind?: string;
}
/** Gains by document id. */
type Judgements = Map<string, number>;
type Ask = (body: object) => Promise<string[]>;

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    queries: { type: 'string' },
    judgements: { type: 'string' },
    search: { type: 'string', multiple: true },
    settings: { type: 'string', default: '{}' },
    model: { type: 'string' },
    template: { type: 'string', default: '{{doc.title}}. {{doc.text}}' },
    url: { type: 'string' },
    index: { type: 'string', default: 'relevance' },
    key: { type: 'string' },
    examples: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
  },
});

const DEFAULT_SETS = [
  'last={}',
  'frequency={"matchingStrategy":"frequency"}',
  'natural, no stems={"matchingStrategy":"natural","locales":["jpn"]}',
  'natural, no proximity={"matchingStrategy":"natural","settings":{"proximityPrecision":"byAttribute"}}',
  'natural={"matchingStrategy":"natural"}',
];
const HYBRID_SETS = [
  'vectors={"hybrid":{"embedder":"model","semanticRatio":1}}',
  ...[{ fusion: 'score' }, {}].flatMap((fusion) =>
    [0.3, 0.5, 0.7].map((semanticRatio) => {
      const hybrid = { embedder: 'model', semanticRatio, ...fusion };
      const body = JSON.stringify({ matchingStrategy: 'natural', hybrid });
      return `hybrid, ${fusion.fusion ?? 'by default'}, ${semanticRatio}=${body}`;
    }),
  ),
];
const DEPTHS = { page: 10, recall: 100 };

function linesOf(file: string): any[] {
  return bytesOf(file)
    .toString()
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line));
}

function judgementsOf(lines: readonly any[]): Map<string, Judgements> {
  const all = new Map<string, Judgements>();
  const add = (query: unknown, document: unknown, gain: number): void => {
    const key = String(query);
    if (gain > 0) all.set(key, (all.get(key) ?? new Map()).set(String(document), gain));
  };
  for (const { id, relevant, target, query, document, gain = 1 } of lines) {
    if (Array.isArray(relevant)) for (const one of relevant) add(id, one, 1);
    else if (target !== undefined && target !== null) add(id, target, 1);
    else if (query !== undefined) add(query, document, Number(gain));
  }
  return all;
}

/** The mean and the interval that holds 95 % of the means of resampled questions. */
function interval(numbers: readonly number[]): string {
  const { mean, low, high } = estimate(numbers, Number(values.seed));
  return `${mean.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
}

async function figuresOf(
  ask: Ask,
  questions: readonly Question[],
  judged: Map<string, Judgements>,
  parameters: object,
): Promise<Metrics[]> {
  const figures: Metrics[] = [];
  for (const { id, q } of questions) {
    const found = await ask({ ...parameters, q, limit: 100, attributesToRetrieve: ['id'] });
    figures.push(metricsOf(found, judged.get(String(id))!, DEPTHS));
  }
  return figures;
}

function printTable(rows: ReadonlyMap<string, Metrics[]>): void {
  const width = Math.max(...[...rows.keys()].map((name) => name.length));
  const heads = ['nDCG@10', 'MRR@10', 'recall@100'].map((head) => head.padEnd(22));
  console.log(`${''.padEnd(width)}  ${heads.join('')}`);
  for (const [name, figures] of rows) {
    const cells = (['ndcg', 'mrr', 'recall'] as const).map((figure) =>
      interval(figures.map((one) => one[figure])).padEnd(22),
    );
    console.log(`${name.padEnd(width)}  ${cells.join('')}`.trimEnd());
  }
}

function printChanges(rows: ReadonlyMap<string, Metrics[]>, questions: readonly Question[]): void {
  const names = [...rows.keys()];
  const [first, last] = [names[0]!, names.at(-1)!];
  const changes = questions
    .map(({ q }, n) => ({ q, by: rows.get(last)![n]!.ndcg - rows.get(first)![n]!.ndcg }))
    .sort((a, b) => b.by - a.by);
  const count = Number(values.examples);
  if (names.length < 2 || count === 0) return;
  const print = (title: string, some: typeof changes): void => {
    console.log(`\n${title} from ${first} to ${last}, by nDCG@10:`);
    for (const { q, by } of some) console.log(`  ${by.toFixed(3).padStart(6)}  ${q.slice(0, 100)}`);
  };
  print('Gained most', changes.slice(0, count));
  print('Lost most', changes.slice(-count).reverse());
}

/** The settings of the index. Every query is embedded, however long it takes. */
function settingsOf(): object {
  const given = JSON.parse(values.settings) as object;
  const { model, template: documentTemplate } = values;
  if (model === undefined) return given;
  const source = { source: 'huggingFace', model: resolve(model) };
  const embedder = { ...source, documentTemplate, documentTemplateMaxBytes: 2000 };
  return { ...given, searchCutoffMs: 600_000, embedders: { model: embedder } };
}

async function main(): Promise<void> {
  if (values.queries === undefined || (values.data === undefined && values.url === undefined)) {
    console.error('needs --queries FILE, and --data FILE or --url URL');
    process.exit(2);
  }
  const asked = linesOf(values.queries).map((line, n) => ({ id: n, ...line }));
  const file = values.judgements;
  const judged = judgementsOf([...asked, ...(file === undefined ? [] : linesOf(file))]);
  const questions = (asked as Question[]).filter(({ id }) => judged.has(String(id)));
  const server = values.url === undefined ? await startBuiltServer() : null;
  try {
    if (server !== null) {
      await server.finish('PATCH', `/indexes/${values.index}/settings`, {
        body: settingsOf(),
      });
      await server.finish('POST', `/indexes/${values.index}/documents?primaryKey=id`, {
        text: bytesOf(values.data!).toString(),
        type: 'application/x-ndjson',
      });
    }
    const key = server?.masterKey ?? values.key;
    const ask: Ask = async (body) => {
      const response = await fetch(`${server?.url ?? values.url}/indexes/${values.index}/search`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
        },
        body: JSON.stringify(body),
      });
      const json: any = await response.json();
      if (!response.ok) throw new Error(json.message);
      return json.hits.map(({ id }: { id: unknown }) => String(id));
    };
    const change = async (settings: object): Promise<void> => {
      if (Object.keys(settings).length === 0) return;
      if (server === null) throw new Error('the settings of an existing server stay as they are');
      const path = `/indexes/${values.index}/settings`;
      const { status, error } = await server.finish('PATCH', path, { body: settings });
      if (status !== 'succeeded') throw new Error(JSON.stringify(error));
    };
    const rows = new Map<string, Metrics[]>();
    const hybrid = values.model === undefined ? [] : HYBRID_SETS;
    for (const set of values.search ?? [...DEFAULT_SETS, ...hybrid]) {
      const at = set.indexOf('=');
      const { settings = {}, ...parameters } = JSON.parse(set.slice(at + 1)) as {
        settings?: Record<string, unknown>;
      };
      const before = settingsOf() as Record<string, unknown>;
      await change(settings);
      rows.set(set.slice(0, at), await figuresOf(ask, questions, judged, parameters));
      const names = Object.keys(settings);
      await change(Object.fromEntries(names.map((name) => [name, before[name] ?? null])));
    }
    for (const kind of new Set(questions.map((question) => question.kind))) {
      const here = questions.map((question) => question.kind === kind);
      const only = <T>(list: readonly T[]): T[] => list.filter((_, n) => here[n]);
      const some = new Map([...rows].map(([name, figures]) => [name, only(figures)]));
      console.log(`${only(questions).length} questions${kind === undefined ? '' : `: ${kind}`}\n`);
      printTable(some);
      printChanges(some, only(questions));
      console.log();
    }
  } finally {
    await server?.close();
  }
}

await main();

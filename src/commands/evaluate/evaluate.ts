/** `gannet evaluate`: measures how well an index answers judged queries. */
import { writeFileSync } from 'node:fs';
import { bad, type GivenOptions, type Options, refuseUseless } from '../../base/options.ts';
import { METRIC_NAMES, type MetricName } from '../../relevance/metrics.ts';
import { type Command, command, DONE, FAILED, FileError, type Terminal } from '../command.ts';
import {
  type Connection,
  CONNECTION_OPTIONS,
  connectTo,
  DEFAULT_URL,
  RETRY_OPTIONS,
  serverUrl,
} from '../connection.ts';
import { showProgress } from '../progress.ts';
import { type Evaluation, evaluate } from './evaluation.ts';
import { CLICKS, clickedLines } from './clicks.ts';
import { type JudgedQueries, readJudgedQueries } from './judged-queries.ts';
import { hitsOf, missingDocuments, primaryKeyOf, type Searching } from './measure.ts';
import { jsonReport, markdownReport, textReport } from './report.ts';
import { readLines } from './text-lines.ts';
import { type Way, waysOf } from './ways.ts';

const HITS_MAX = 1000;
/** Searches of this command are those of a test: no usage events. */
const HEADERS = { 'x-gannet-test-search': 'true' };

type Minima = ReadonlyMap<MetricName, number>;

const OPTIONS = {
  index: { kind: 'text', help: 'The index to search. Required.' },
  queries: { kind: 'text', help: 'File of queries, unless the judgements have their texts.' },
  judgements: {
    kind: 'text',
    help: 'File of judgements, or `clicks`: those that the server has recorded. Required.',
  },
  'min-clicks': {
    kind: 'count',
    initial: '5',
    min: 1,
    help: 'With `clicks`: the clicks that a document needs after a query.',
  },
  'save-clicks': { kind: 'text', help: 'With `clicks`: write the judgements to this file too.' },
  search: { kind: 'text', help: 'Search parameters, as JSON.' },
  with: { kind: 'text', help: 'Search parameters to compare with, as JSON.' },
  'with-index': { kind: 'text', help: 'Another index to compare with, such as a branch.' },
  settings: {
    kind: 'text',
    help: 'Settings to compare with, as JSON: on a branch, which is then deleted.',
  },
  sweep: {
    kind: 'text',
    help: 'Parameters and their values, all combinations of which are compared. Paths that begin with `settings.` are settings.',
  },
  page: { kind: 'count', initial: '10', min: 1, max: HITS_MAX, help: 'Hits of a page.' },
  'recall-at': {
    kind: 'count',
    initial: '100',
    min: 1,
    max: HITS_MAX,
    help: 'Hits among which relevant documents count as found.',
  },
  min: {
    kind: 'text',
    read: readMinima,
    help: 'Least figures of the last way, such as `ndcg=0.3,recall=0.5`; below one, the exit status is 1.',
  },
  json: { kind: 'flag', help: 'Print the figures of each query and way as JSON.' },
  report: { kind: 'text', help: 'Also write a report in Markdown to this file.' },
  seed: { kind: 'count', initial: '1', max: 2 ** 32 - 1, help: 'Seed of the intervals.' },
  parallel: { kind: 'count', initial: '4', min: 1, max: 64, help: 'Searches at a time.' },
  'primary-key': { kind: 'text', help: 'The attribute with the ids, if the key may not see it.' },
  quiet: { kind: 'flag', help: 'Hide progress.' },
  ...CONNECTION_OPTIONS,
  ...RETRY_OPTIONS,
} as const satisfies Options;

const NOTES = `Queries are lines \`id TAB text\`, or JSON \`{"id": 1, "q": "…", "search": {…}}\`. Judgements are those of
TREC (\`query 0 document grade\`), or JSON \`{"q": "…", "judgements": {"document": grade}}\` (with \`id\`, if the
queries are another file), \`{"id": 1, "relevant": [documents]}\` or \`{"id": 1, "document": …, "grade": 2}\`.
Documents are named by their primary key. A grade of 0 means not relevant; the greater, the better.
nDCG discounts grades by log2(rank + 1). Coverage is the share of the hits of a page that are judged: where
it is low, the other figures say little. With \`clicks\`, the grade of a document is its clicks per search of
the query: people click on what is on top today, so such figures favour the present order.`;

export const evaluateCommand: Command = command({
  name: 'evaluate',
  summary: 'Measures how well an index answers judged queries, and compares ways to search.',
  operands: '',
  notes: NOTES,
  examples: [
    'evaluate --index books --judgements judged.ndjson',
    `evaluate --index books --queries q.tsv --judgements qrels.txt --with '{"matchingStrategy": "natural"}'`,
    `evaluate --index books --judgements judged.ndjson --settings '{"searchableAttributes": ["title"]}'`,
    `evaluate --index books --judgements judged.ndjson --sweep 'hybrid.semanticRatio=0.3,0.5,0.7'`,
  ],
  options: OPTIONS,
  async run(given, _, terminal) {
    refuseUseless(OPTIONS, given);
    const url = serverUrl('url', given.text('url') ?? DEFAULT_URL);
    const { seed, page, 'recall-at': recall } = given.values;
    const ways = waysOf({
      index: given.required('index', 'the index to search'),
      search: given.text('search'),
      with: given.text('with'),
      withIndex: given.text('with-index'),
      settings: given.text('settings'),
      sweep: given.text('sweep'),
    });
    const judgements = given.required('judgements', 'the file with the judgements');
    // Faults of files are reported before the server is needed.
    const read =
      judgements === CLICKS
        ? null
        : readJudgedQueries(given.text('queries'), readLines(judgements));
    const connection = connectTo(url, given, terminal, HEADERS);
    const lasting = connectTo(url, given, { ...terminal, signal: new AbortController().signal });
    try {
      await connection.reach();
      const judged = read ?? (await clickedQueries(connection, ways[0]!.index, given));
      const searching = { connection, lasting, depths: { page, recall }, seed };
      return await measure(ways, judged, { given, terminal, searching });
    } finally {
      await Promise.all([connection.close(), lasting.close()]);
    }
  },
});

type Given = GivenOptions<typeof OPTIONS>;

async function clickedQueries(
  connection: Connection,
  index: string,
  given: Given,
): Promise<JudgedQueries> {
  const lines = await clickedLines(connection, index, given.values['min-clicks']);
  const file = given.text('save-clicks');
  if (file !== null) writeText(file, lines.map(({ text }) => `${text}\n`).join(''));
  return readJudgedQueries(null, lines);
}

/** Searches in every way, and reports. @returns the exit status */
async function measure(
  ways: readonly Way[],
  judged: JudgedQueries,
  {
    given,
    terminal,
    searching: { seed, ...common },
  }: {
    given: Given;
    terminal: Terminal;
    searching: Pick<Searching, 'connection' | 'lasting' | 'depths'> & { seed: number };
  },
): Promise<number> {
  const { index } = ways[0]!;
  const complain = (message: string): void => void terminal.complaints.write(`${message}\n`);
  const primaryKey = given.text('primary-key') ?? (await primaryKeyOf(common.connection, index));
  const searching = { ...common, primaryKey, parallel: given.values.parallel, complain };
  const note = await missingDocuments(searching, index, judged);
  const progress = await showProgress(terminal, index, ways.length, given.flag('quiet'));
  const hits = new Map<string, string[][]>();
  try {
    for (const way of ways) {
      progress.update(hits.size, way.name);
      hits.set(way.name, await hitsOf(way, judged.queries, searching));
    }
  } finally {
    progress.end();
  }
  const evaluation = evaluate(judged.queries, hits, { depths: common.depths, seed });
  const notes = [...judged.notes, ...(note === null ? [] : [note])];
  const reported = { evaluation, ways, notes, seed };
  for (const one of notes) complain(`Note: ${one}.`);
  terminal.output.write(given.flag('json') ? jsonReport(reported) : textReport(reported));
  const file = given.text('report');
  if (file !== null) writeText(file, markdownReport(reported));
  const faults = faultsOf(given.values.min ?? new Map(), evaluation);
  for (const fault of faults) complain(fault);
  return faults.length === 0 ? DONE : FAILED;
}

function writeText(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new FileError(`${file} cannot be written: ${(error as Error).message}.`);
  }
}

function readMinima(text: string, name: string): Minima {
  return new Map(
    text.split(',').map((part) => {
      const [metric = '', bound = ''] = part.split('=').map((word) => word.trim());
      const known = METRIC_NAMES.find((one) => one === metric);
      const number = /^\d*\.?\d+$/.test(bound) ? Number(bound) : NaN;
      if (known === undefined || !(number <= 1)) {
        bad(
          name,
          part,
          `${METRIC_NAMES.join(', ')} and a number from 0 to 1, such as \`ndcg=0.3\``,
        );
      }
      return [known, number] as const;
    }),
  );
}

function faultsOf(minima: Minima, { ways }: Evaluation): string[] {
  const { name, estimates } = ways.at(-1)!;
  return [...minima].flatMap(([metric, min]) => {
    const { mean } = estimates[metric];
    return mean >= min
      ? []
      : [`${metric} of ${name} is ${mean.toFixed(4)}, below the minimum of ${min}.`];
  });
}

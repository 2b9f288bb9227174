/**
 * Measures a server of its own with the workloads of this folder. See README.md.
 *
 *   node --import=tsx perf/run.ts --data FILE [WORKLOAD...] [OPTIONS]
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ServerProcess } from '../test/http/kill/support/server-process.ts';
import {
  catalogue,
  CATALOGUE_SETTINGS,
  chunksOf,
  type Document,
  documentsOf,
  writeNdjson,
} from './corpus.ts';
import { type Bench, load, measure } from './measures.ts';
import { type Figures, isGain, prefixed } from './statistics.ts';
import { readWorkloads, type Target, type Workload } from './workload.ts';

const HELP = `Usage: node --import=tsx perf/run.ts --data FILE [WORKLOAD...] [OPTIONS]

  --data FILE           packages: NDJSON (or .gz) with id, name, summary, description, section, maintainer
  --catalog N           products in the generated catalogue (100000; the targets are for 1000000)
  --catalog-file FILE   a catalogue made before, instead
  --scale X             0.1: a tenth of the queries, changes and seconds (1)
  --server-option TEXT  passed on to the server, may be repeated, as --server-option=--max-indexing-threads=2
  --port N              of the server (7897)
  --dir FOLDER          data folder, kept; default: a temporary one
  --json FILE           writes the figures
  --baseline FILE       compares with figures written before
  --list                shows the workloads

Without a name: packages-indexing, packages-search, packages-throughput.`;

const CANONICAL = ['packages-indexing', 'packages-search', 'packages-throughput'];
/** Maximum number of documents that queries are made from. */
const SAMPLE_MAX = 20_000;
/** Bytes of documents in one request, unless the workload says otherwise. */
const BATCH_BYTES = 10_000_000;
/** A figure is marked when it is worse than the baseline by more than this factor. */
const WORSE = 1.1;

interface Report {
  machine: Record<string, string | number>;
  options: Record<string, string | number>;
  figures: Figures;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    data: { type: 'string' },
    catalog: { type: 'string', default: '100000' },
    'catalog-file': { type: 'string' },
    scale: { type: 'string', default: '1' },
    'server-option': { type: 'string', multiple: true, default: [] },
    port: { type: 'string', default: '7897' },
    dir: { type: 'string' },
    json: { type: 'string' },
    baseline: { type: 'string' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  const workloads = readWorkloads();
  if (values.list) {
    for (const { name, question } of workloads) console.log(`${name}: ${question}`);
    return;
  }
  if (values.help || values.data === undefined) {
    console.log(HELP);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  const names = positionals.length > 0 ? positionals : CANONICAL;
  const chosen = names.map((name) => {
    const found = workloads.find((workload) => workload.name === name);
    if (found === undefined) throw new Error(`there is no workload ${name}; see --list`);
    return found;
  });
  // The targets apply to the whole catalogue.
  const isSmall = values['catalog-file'] === undefined && Number(values.catalog) < 1_000_000;
  const figures: Figures = {};
  const targets: Record<string, Target> = {};
  for (const corpus of ['packages', 'catalogue'] as const) {
    // In the order of `workloads`, whatever the order of the names.
    const own = workloads.filter((one) => one.corpus === corpus && chosen.includes(one));
    if (own.length > 0) Object.assign(figures, await runOn(corpus, own, values.data));
    if (corpus === 'catalogue' && isSmall) continue;
    for (const { name, targets: list = {} } of own) {
      for (const [figure, target] of Object.entries(list)) targets[`${name}.${figure}`] = target;
    }
  }
  const report: Report = {
    machine: machine(),
    options: {
      catalogue: values['catalog-file'] ?? Number(values.catalog),
      scale: Number(values.scale),
      server: values['server-option'].join(' '),
    },
    figures,
  };
  const before =
    values.baseline === undefined
      ? null
      : (JSON.parse(readFileSync(values.baseline, 'utf8')) as Report).figures;
  console.log(table(figures, targets, before));
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
  }
}

/** Runs all workloads on a corpus with one server, which is loaded once. */
async function runOn(
  corpus: Workload['corpus'],
  workloads: readonly Workload[],
  data: string,
): Promise<Figures> {
  const dir = join(values.dir ?? mkdtempSync(join(tmpdir(), 'gannet-perf-')), corpus);
  const options = { dir, port: Number(values.port), args: values['server-option'] };
  const scale = Number(values.scale);
  const sample: Document[] = [];
  const file = `${dir}.ndjson`;
  const bench: Bench = {
    server: await ServerProcess.start(options),
    dir,
    index: 'bench',
    file,
    documents: 0,
    sample,
    scale,
    restart: async () => {
      await bench.server.stop();
      bench.server = await ServerProcess.start(options);
    },
  };
  try {
    const indexing = workloads.find(({ measure: { kind } }) => kind === 'indexing');
    const seed = indexing?.seed ?? workloads[0]!.seed;
    const documents =
      corpus === 'packages'
        ? documentsOf(data)
        : values['catalog-file'] === undefined
          ? catalogue(data, Number(values.catalog), seed)
          : documentsOf(values['catalog-file']);
    const batchBytes =
      indexing?.measure.kind === 'indexing' ? indexing.measure.batchBytes : BATCH_BYTES;
    console.error(`loading ${corpus} into ${dir}`);
    const count = await writeNdjson(documents, file, sampler(sample));
    bench.documents = count;
    const loaded = await load(
      bench,
      corpus === 'catalogue' ? CATALOGUE_SETTINGS : null,
      chunksOf(file, batchBytes),
      count,
    );
    const figures: Figures = indexing === undefined ? {} : prefixed(indexing.name, loaded);
    for (const workload of workloads) {
      if (workload === indexing) continue;
      console.error(`${workload.name}: ${workload.question}`);
      Object.assign(figures, prefixed(workload.name, await measure(workload, bench)));
    }
    return figures;
  } finally {
    await bench.server.stop();
    rmSync(file, { force: true });
    if (values.dir === undefined) rmSync(join(dir, '..'), { recursive: true });
  }
}

/** Keeps evenly spaced documents, at most `SAMPLE_MAX`. */
function sampler(sample: Document[]): (document: Document) => void {
  let every = 1;
  let seen = 0;
  return (document) => {
    if (seen++ % every !== 0) return;
    sample.push(document);
    if (sample.length < SAMPLE_MAX) return;
    every *= 2;
    const kept = sample.filter((_, n) => n % 2 === 0);
    sample.length = 0;
    sample.push(...kept);
  };
}

function machine(): Report['machine'] {
  const git = (): string => {
    try {
      return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
    } catch {
      return 'unknown';
    }
  };
  const [cpu] = cpus();
  return {
    date: new Date().toISOString(),
    commit: git(),
    node: process.version,
    cpu: cpu?.model ?? 'unknown',
    cores: cpus().length,
  };
}

function table(
  figures: Figures,
  targets: Readonly<Record<string, Target>>,
  before: Figures | null,
): string {
  const rows = [
    ['figure', 'value', 'ship', 'goal', ...(before === null ? [] : ['before', 'ratio'])],
  ];
  for (const [name, value] of Object.entries(figures)) {
    const target = targets[name];
    const met = (bound: number | undefined): string => {
      if (bound === undefined) return '';
      return `${number(bound)} ${(isGain(name) ? value >= bound : value <= bound) ? '+' : '-'}`;
    };
    const row = [name, number(value), met(target?.ship), met(target?.goal)];
    if (before !== null) {
      const old = before[name];
      const ratio = old === undefined || old === 0 ? null : value / old;
      const worse = ratio !== null && (isGain(name) ? 1 / ratio : ratio) > WORSE;
      row.push(
        old === undefined ? '' : number(old),
        ratio === null ? '' : `${ratio.toFixed(2)}${worse ? ' !' : ''}`,
      );
    }
    rows.push(row);
  }
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, n) => (n === 0 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function number(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : 3);
}

await main();

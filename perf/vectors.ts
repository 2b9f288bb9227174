/**
 * How much do vectors cost while documents are indexed, and on disk?
 *
 *   node --import=tsx perf/vectors.ts --data packages.ndjson.gz --vectors package-vectors.f16
 *       [--dimensions 384] [--copies 0]
 *
 * Loads the documents twice, each time into a new server: as they are, and with their embeddings
 * (half-precision rows in the order of the documents). `--copies N` adds N noisy copies of each
 * document under new ids, and waits for the graph. Prints CPU until the last task has ended and
 * until merges and graphs are done, the peak of private memory, and the bytes of vectors on disk as
 * a share of their size in single precision.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { settle } from '../test/http/kill/support/compare.ts';
import { Random } from '../test/http/kill/support/random.ts';
import { ServerProcess } from '../test/http/kill/support/server-process.ts';
import { documentsOf } from './corpus.ts';
import { fromHalf } from './half.ts';
import { cpuSeconds, diskMb, MemoryPeak } from './process-stats.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    vectors: { type: 'string' },
    dimensions: { type: 'string', default: '384' },
    copies: { type: 'string', default: '0' },
    port: { type: 'string', default: '7898' },
  },
});

const BATCH_BYTES = 50_000_000;
/** Digits of a component, as most JSON embeddings have. */
const DIGITS = 4;
/** Noise of each component of a copy, as a share of the mean size of components. */
const NOISE = 0.5;
/** Merges and graphs are done once the server has used at most this much CPU for a second. */
const IDLE_CPU_SECONDS = 0.05;
const SEED = 7;

const dimensions = Number(values.dimensions);
const copies = Number(values.copies);
const halves = readFileSync(values.vectors!);

function* embedding(row: number, random: Random | null): Generator<number> {
  for (let i = 0; i < dimensions; i++) {
    const component = fromHalf(halves.readUInt16LE((row * dimensions + i) * 2));
    const noise =
      random === null ? 0 : ((random.next() * 2 - 1) * NOISE * 1.7) / Math.sqrt(dimensions);
    yield Number((component + noise).toPrecision(DIGITS));
  }
}

/** NDJSON in pieces, one per batch. */
async function* batches(withVectors: boolean): AsyncGenerator<Buffer> {
  const random = new Random(SEED);
  let lines: string[] = [];
  let size = 0;
  for (let copy = 0; copy <= copies; copy++) {
    let row = 0;
    for await (const document of documentsOf(values.data!)) {
      const id = copy === 0 ? document.id : `${document.id}-copy${copy}`.replaceAll(/[^\w-]/g, '_');
      const vectors = withVectors
        ? { _vectors: { e: [...embedding(row++, copy === 0 ? null : random)] } }
        : {};
      const line = JSON.stringify({ ...document, id, ...vectors });
      lines.push(line);
      size += line.length;
      if (size < BATCH_BYTES) continue;
      yield Buffer.from(lines.join('\n'));
      lines = [];
      size = 0;
    }
  }
  if (lines.length > 0) yield Buffer.from(lines.join('\n'));
}

interface Load {
  cpu: number;
  cpuToTheEnd: number;
  privateMb: number;
  diskMb: number;
  documents: number;
}

async function load(withVectors: boolean): Promise<Load> {
  const dir = mkdtempSync(join(tmpdir(), 'gannet-vectors-'));
  const server = await ServerProcess.start({ dir: join(dir, 'data'), port: Number(values.port) });
  const { client, pid } = server;
  try {
    const embedders = withVectors ? { e: { source: 'userProvided', dimensions } } : {};
    await client.call('PATCH', '/indexes/bench/settings', { body: { embedders } });
    await settle(client);
    const begin = cpuSeconds(pid);
    const peak = new MemoryPeak(pid);
    for await (const bytes of batches(withVectors)) {
      const { status, text } = await client.call('POST', '/indexes/bench/documents?primaryKey=id', {
        bytes,
        type: 'application/x-ndjson',
      });
      if (status !== 202) throw new Error(text);
    }
    await settle(client);
    const cpu = cpuSeconds(pid) - begin;
    for (
      let last = -1, now = cpuSeconds(pid);
      now - last > IDLE_CPU_SECONDS;
      now = cpuSeconds(pid)
    ) {
      last = now;
      await sleep(1_000);
    }
    const { numberOfDocuments } = (await client.call('GET', '/indexes/bench/stats')).json<{
      numberOfDocuments: number;
    }>();
    return {
      cpu,
      cpuToTheEnd: cpuSeconds(pid) - begin,
      privateMb: peak.stop(),
      diskMb: diskMb(join(dir, 'data', 'indexes')),
      documents: numberOfDocuments,
    };
  } finally {
    await server.kill();
    rmSync(dir, { recursive: true, force: true });
  }
}

const texts = await load(false);
const both = await load(true);
const singlesMb = (both.documents * dimensions * 4) / 1e6;
const show = (name: string, figures: Load): void =>
  console.log(
    `${name}: ${figures.documents} documents, ${figures.cpu.toFixed(1)} s of CPU to the end of the last task, ` +
      `${figures.cpuToTheEnd.toFixed(1)} s with merges and graphs, ${figures.privateMb.toFixed(0)} MB of private memory, ` +
      `${figures.diskMb.toFixed(0)} MB on the disk`,
  );
show('texts', texts);
show('texts and vectors', both);
console.log(
  `CPU ${(both.cpu / texts.cpu).toFixed(2)} times that of the texts; vectors take ` +
    `${((both.diskMb - texts.diskMb) / singlesMb).toFixed(2)} times their ${singlesMb.toFixed(0)} MB in single precision`,
);

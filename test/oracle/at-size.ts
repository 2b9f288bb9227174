/**
 * A large collection searched in two ways: by a server that splits large buckets by posting lists
 * without reading their documents, and by one that reads all of them. The responses must be equal,
 * including scores and details. The oracle verifies both on small collections; this program tests
 * the thresholds, frequencies and lengths of real ones.
 *
 *   npm run oracle:size -- --data FILE.ndjson[.gz] [--fields a,b] [--documents N] [--minutes 5]
 *     [--seed N]
 *
 * The first of the fields is treated as a name. Prints every difference; the exit status is 1 if
 * there is one.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chunksOf, documentsOf, writeNdjson, type Document } from '../../perf/corpus.ts';
import { load } from '../../perf/measures.ts';
import { makeQueries } from '../../perf/queries.ts';
import type { Client } from '../http/kill/support/client.ts';
import { settle } from '../http/kill/support/compare.ts';
import { newSeed, Random } from '../http/kill/support/random.ts';
import { ServerProcess } from '../http/kill/support/server-process.ts';
import { freePort } from '../support/free-port.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    fields: { type: 'string', default: 'name,summary,description' },
    documents: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string' },
  },
});

const INDEX = 'large';
const CHUNK_BYTES = 10_000_000;
/** Documents from which words and queries are taken. */
const SAMPLED = 20_000;
const QUERIES = 3000;
const FREQUENT_WORDS = 40;
const SEARCHES_PER_SETTINGS = 200;
/** More than any bucket has. */
const NEVER_LARGE = { GANNET_TUNING: '{"largeBucketMin":1000000000}' };
/** A search cut short has a different result. */
const CUTOFF_MS = 60_000;

type Body = Record<string, unknown>;

/** Random searches and settings, of the words of some documents. */
class Mix {
  readonly #random: Random;
  readonly #fields: readonly string[];
  readonly #typed: readonly string[];
  readonly #words: readonly string[];
  readonly #frequent: readonly string[];

  constructor(documents: readonly Document[], fields: readonly string[], random: Random) {
    const kinds = ['exact', 'prefix', 'typo', 'typoprefix', 'phrase', 'common'] as const;
    const model = { fields: [...fields], kinds: [...kinds], count: QUERIES };
    this.#random = random;
    this.#fields = fields;
    this.#typed = makeQueries(documents, model, random.int(0, 2 ** 31)).map(({ q }) => q);
    const counts = new Map<string, number>();
    for (const word of this.#typed.flatMap((q) => q.replaceAll('"', '').split(' '))) {
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    this.#words = [...counts.keys()];
    this.#frequent = this.#words
      .toSorted((a, b) => counts.get(b)! - counts.get(a)!)
      .slice(0, FREQUENT_WORDS);
  }

  #shuffled(names: readonly string[]): string[] {
    return this.#random.some(names, names.length);
  }

  settings(): Body {
    const random = this.#random;
    const usual = ['words', 'typo', 'proximity', 'attribute', 'sort', 'exactness'];
    const halves = this.#shuffled(['attributeRank', 'wordPosition']);
    const inOrder = random.chance(0.4) ? usual : this.#shuffled(usual);
    const rules = random.chance(0.3)
      ? inOrder.flatMap((rule) => (rule === 'attribute' ? halves : [rule]))
      : inOrder;
    const synonyms: Record<string, string[]> = {};
    for (let left = random.chance(0.5) ? 6 : 0; left > 0; left--) {
      const [frequent, rare] = [random.pick(this.#frequent), random.pick(this.#words)];
      const few = random.int(1, 4);
      synonyms[random.pick([frequent, rare, `${frequent} ${random.pick(this.#frequent)}`])] =
        Array.from({ length: few }, () =>
          random.pick([frequent, random.pick(this.#words), `${frequent} ${rare}`]),
        );
    }
    return {
      rankingRules: random.chance(0.2) ? rules.filter(() => random.chance(0.7)) : rules,
      synonyms,
      pagination: { maxTotalHits: random.pick([50, 1000, 1000, 20_000]) },
      typoTolerance: {
        enabled: random.chance(0.9),
        minWordSizeForTypos: random.chance(0.5) ? null : { oneTypo: 3, twoTypos: 6 },
        disableOnAttributes: random.chance(0.2) ? [random.pick(this.#fields)] : [],
        disableOnWords: random.chance(0.2) ? [random.pick(this.#words)] : [],
      },
      searchCutoffMs: CUTOFF_MS,
    };
  }

  #query(): string {
    const random = this.#random;
    const frequent = (): string => random.pick(this.#frequent);
    const word = (): string => random.pick(this.#words);
    const typed = random.pick(this.#typed);
    const kinds: (() => string)[] = [
      () => typed.replace(' ', ''),
      () => `${frequent()} ${frequent()}`,
      () => `${frequent()} ${word().slice(0, random.int(1, 4))}`,
      () => `"${frequent()} ${frequent()}" ${word()}`,
      () => `${typed} -${word()}`,
      () => `${typed} -"${frequent()} ${frequent()}"`,
      () => `${frequent()}${frequent()}`,
      () => [frequent(), word(), frequent(), word()].join(' '),
    ];
    return random.chance(0.4) ? typed : random.pick(kinds)();
  }

  search(): Body {
    const random = this.#random;
    const page = random.chance(0.1)
      ? { hitsPerPage: random.pick([10, 30]), page: random.int(1, 4) }
      : { limit: random.pick([1, 5, 20, 60]), offset: random.chance(0.2) ? random.int(0, 80) : 0 };
    return {
      q: this.#query(),
      ...page,
      attributesToRetrieve: ['id'],
      showRankingScore: true,
      showRankingScoreDetails: random.chance(0.5),
      ...(random.chance(0.3) && {
        matchingStrategy: random.pick(['all', 'frequency', 'last']),
      }),
      ...(random.chance(0.1) && { rankingScoreThreshold: random.pick([0.2, 0.5, 0.8, 0.95]) }),
      ...(random.chance(0.1) && { attributesToSearchOn: [random.pick(this.#fields)] }),
    };
  }
}

/** Without members that differ from run to run. */
async function result(client: Client, search: Body): Promise<string> {
  const { status, text } = await client.call('POST', `/indexes/${INDEX}/search`, { body: search });
  if (status !== 200) return `${status} ${text}`;
  const body = JSON.parse(text) as Body;
  return JSON.stringify({ ...body, processingTimeMs: 0, requestUid: '' });
}

async function main(): Promise<number> {
  if (values.data === undefined) throw new Error('--data FILE is missing');
  const seed = values.seed === undefined ? newSeed() : Number(values.seed);
  const dir = mkdtempSync(join(tmpdir(), 'gannet-size-'));
  console.log(`seed ${seed}, folder ${dir}`);
  const fields = values.fields.split(',');
  const max = Number(values.documents);
  const sample: Document[] = [];
  const first = async function* (): AsyncGenerator<Document> {
    let count = 0;
    for await (const document of documentsOf(values.data!)) {
      if (count++ === max) return;
      yield document;
    }
  };
  const servers: ServerProcess[] = [];
  try {
    const file = join(dir, 'documents.ndjson');
    const documents = await writeNdjson(first(), file, (document) => {
      if (sample.length < SAMPLED) sample.push(document);
    });
    const [listed, read] = [join(dir, 'listed'), join(dir, 'read')];
    const loaded = await ServerProcess.start({ dir: listed, port: await freePort() });
    servers.push(loaded);
    const settings = { searchableAttributes: fields };
    const chunks = chunksOf(file, CHUNK_BYTES);
    await load({ server: loaded, dir: listed, index: INDEX }, settings, chunks, documents);
    await loaded.stop();
    cpSync(listed, read, { recursive: true });
    servers[0] = await ServerProcess.start({ dir: listed, port: await freePort() });
    servers[1] = await ServerProcess.start({ dir: read, port: await freePort(), env: NEVER_LARGE });
    return await compare(
      new Mix(sample, fields, new Random(seed)),
      servers[0].client,
      servers[1].client,
    );
  } finally {
    for (const server of servers) await server.kill();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** @returns the number of differences */
async function compare(mix: Mix, listed: Client, read: Client): Promise<number> {
  const until = performance.now() + Number(values.minutes) * 60_000;
  let [compared, differences] = [0, 0];
  while (performance.now() < until) {
    const settings = mix.settings();
    for (const client of [listed, read]) {
      const path = `/indexes/${INDEX}/settings`;
      const { status, text } = await client.call('PATCH', path, { body: settings });
      if (status !== 202) throw new Error(text);
      await settle(client);
    }
    for (let n = 0; n < SEARCHES_PER_SETTINGS && performance.now() < until; n++) {
      const search = mix.search();
      const [a, b] = [await result(listed, search), await result(read, search)];
      compared++;
      if (a === b) continue;
      differences++;
      console.log(`settings ${JSON.stringify(settings)}\nsearch ${JSON.stringify(search)}`);
      console.log(`by lists ${a}\nread     ${b}\n`);
    }
  }
  console.log(`${compared} results compared, ${differences} differences`);
  return differences;
}

process.exitCode = (await main()) > 0 ? 1 : 0;

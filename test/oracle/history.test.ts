/**
 * However an index got its documents, its results equal those of an index that got them all at
 * once: whatever batches added, replaced, changed and deleted, whenever the settings changed, and
 * whatever was merged meanwhile.
 *
 *   GANNET_SEED=1 GANNET_HISTORIES=1000 mocha test/oracle/history.test.ts
 *
 * GANNET_HISTORIES: number of histories to play (default 25). A failure names the seed of its
 * history, which GANNET_HISTORIES=1 plays alone.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultSettings } from '../../src/contract/settings.ts';
import { loadAddon } from '../../src/engine/addon.ts';
import { IndexHandle } from '../../src/engine/handle.ts';
import type { BatchStep } from '../../src/engine/native.ts';
import { planSearch } from '../../src/search/plan.ts';
import type { EngineResult } from '../../src/engine/native.ts';
import { mulberry } from '../support/random.ts';
import type { Document, Json } from './corpus.ts';

const HISTORIES = Number(process.env['GANNET_HISTORIES'] ?? 25);
const SEED = Number(process.env['GANNET_SEED'] ?? Math.floor(Math.random() * 2 ** 32));
const QUESTIONS = 60;
const BATCHES_MAX = 30;
const IDS = 400;

type Step = BatchStep;
type Settings = ReturnType<typeof defaultSettings>;

/** Always there and never changed: has every field, so that no field is known to one index only. */
const EVERYTHING: Document = {
  id: 'all',
  title: 'every field',
  body: 'of all documents',
  tags: ['all', 1],
  group: 'all',
  price: 1,
  mixed: ['x', 2, true, null],
  o: { x: 'inner', y: 3, list: [{ z: 'deep' }] },
  _geo: { lat: 1, lng: 2 },
};

const WORDS = (
  'alpha alphabet alpine beta better bettor butter batter bitter gamma game gamble delta deltas dealt the of and a in ' +
  "sun sunflower flower flow flour new york newyork straße strasse café cafe naïve élan 42 2024 x-ray état don't io"
).split(' ');

class Random {
  readonly next: () => number;
  /** Words that differ by a letter from many others. */
  readonly #crowded: boolean;

  constructor(seed: number) {
    this.next = mulberry(seed);
    this.#crowded = this.chance(0.3);
  }
  below(end: number): number {
    return Math.floor(this.next() * end);
  }
  chance(share: number): boolean {
    return this.next() < share;
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
  some<T>(list: readonly T[], share = 0.5): T[] {
    return list.filter(() => this.chance(share));
  }
  many<T>(count: number, make: () => T): T[] {
    return Array.from({ length: count }, make);
  }

  word(): string {
    if (!this.#crowded || this.chance(0.3)) return this.pick(WORDS);
    return this.many(4 + this.below(3), () => this.pick(['a', 'b', 'c', 'd'])).join('');
  }
  text(words: number): string {
    return this.many(1 + this.below(words), () => this.word()).join(
      this.pick([' ', ' ', ', ', '. ']),
    );
  }
  scalar(): Json {
    return this.pick<Json>([
      ...[
        0,

        1,
        2,
        2.5,
        1e21,
        -7,
        2 ** 53 + 2,
        1e308,
        true,
        false,
        null,
        '',
        'red',
        'Red',
        'RED ',
        'rosé',
        '10',
      ],
      ...['Rosé', '2024-01-31', this.word(), this.below(40)],
    ]);
  }
  value(): Json {
    if (this.chance(0.7)) return this.scalar();
    return this.pick<Json>([
      [],
      {},
      [this.scalar(), this.scalar(), [this.scalar()]],
      [this.scalar()],
    ]);
  }
  document(): Document {
    const fields: Document = {};
    if (this.chance(0.9)) fields['title'] = this.text(5);
    if (this.chance(0.6))
      fields['body'] = this.chance(0.2) ? [this.text(9), this.text(4)] : this.text(25);
    if (this.chance(0.6)) fields['tags'] = this.many(this.below(4), () => `tag ${this.below(12)}`);
    if (this.chance(0.8)) fields['group'] = `g${this.below(9)}`;
    if (this.chance(0.7)) fields['price'] = this.below(60) / 4;
    if (this.chance(0.6)) fields['mixed'] = this.value();
    if (this.chance(0.4)) {
      const inner = {
        x: this.value(),
        y: this.below(5),
        list: this.many(this.below(3), () => ({ z: this.scalar() })),
      };
      fields['o'] = this.pick<Json>([inner, [inner, { x: this.scalar() }], 'no object']);
    }
    if (this.chance(0.5)) {
      fields['_geo'] = { lat: this.below(20) + this.below(3) * 1e-6, lng: this.below(20) };
    }
    return fields;
  }

  settings(): Partial<Settings> {
    const fields = ['title', 'body', 'tags', 'group', 'o', 'mixed'];
    const order = (list: string[]): string[] => list.toSorted(() => this.next() - 0.5);
    return {
      ...(this.chance(0.6) && { searchableAttributes: order([...this.some(fields), 'title']) }),
      ...(this.chance(0.2) && { displayedAttributes: ['id', ...this.some(fields)] }),
      filterableAttributes: this.chance(0.8)
        ? ['group', 'tags', 'price', 'mixed', 'o', '_geo', ...this.some(['title'])]
        : [
            'group',
            {
              attributePatterns: ['t*', 'o.*'],
              features: { facetSearch: true, filter: { equality: true, comparison: true } },
            },
          ],
      sortableAttributes: this.chance(0.8)
        ? ['group', 'price', 'mixed', 'o', '_geo', 'title']
        : this.some(fields),
      ...(this.chance(0.4) && {
        rankingRules: order([
          'words',
          'typo',
          'proximity',
          'attribute',
          'sort',
          'exactness',
          'price:desc',
        ]),
      }),
      ...(this.chance(0.3) && { stopWords: this.some(['the', 'of', 'and', 'a', 'in']) }),
      ...(this.chance(0.3) && {
        synonyms: { ny: ['new york'], beta: ['alpha'], 'sun flower': ['gamma'] },
      }),
      ...(this.chance(0.2) && { separatorTokens: ['x', '-'] }),
      ...(this.chance(0.2) && { nonSeparatorTokens: ['-', "'"] }),
      ...(this.chance(0.2) && { dictionary: ['new york', 'x-ray'] }),
      ...(this.chance(0.2) && { distinctAttribute: this.pick(['group', 'tags', 'mixed']) }),
      ...(this.chance(0.2) && { proximityPrecision: 'byAttribute' as const }),
      ...(this.chance(0.2) && { prefixSearch: 'disabled' as const }),
      ...(this.chance(0.3) && {
        typoTolerance: {
          enabled: this.chance(0.8),
          minWordSizeForTypos: { oneTypo: 2 + this.below(4), twoTypos: 6 + this.below(4) },
          disableOnWords: this.some(['alpha', 'butter']),
          disableOnAttributes: this.some(['title', 'tags'], 0.3),
          disableOnNumbers: this.chance(0.5),
        },
      }),
      faceting: {
        maxValuesPerFacet: this.pick([1, 3, 100]),
        sortFacetValuesBy: {
          '*': this.pick(['alpha', 'count']),
          tags: this.pick(['alpha', 'count']),
        },
      },
      ...(this.chance(0.3) && { pagination: { maxTotalHits: 20 } }),
    } as Partial<Settings>;
  }

  // ---- Questions ----

  filter(): string {
    const one = (): string =>
      this.pick([
        `group = g${this.below(9)}`,
        `group != g${this.below(9)}`,
        `price > ${this.below(15)}`,
        `price ${this.below(8)} TO ${this.below(16)}`,
        `tags IN ["tag 1", "TAG ${this.below(12)}"]`,
        'mixed EXISTS',
        'mixed IS NULL',
        'mixed IS EMPTY',
        'o.x = red',
        'o.list.z != 1',
        'mixed STARTS WITH r',
        'mixed CONTAINS e',
        `mixed >= ${this.below(10)}`,
        `_geoRadius(${this.below(20)}, ${this.below(20)}, ${10 ** this.below(7)})`,
        `_geoBoundingBox([${10 + this.below(10)}, ${this.below(20)}], [${this.below(10)}, ${this.below(10)}])`,
      ]);
    const two = `${this.chance(0.3) ? 'NOT ' : ''}${one()} ${this.pick(['AND', 'OR'])} ${one()}`;
    return this.chance(0.5) ? one() : two;
  }
  sort(): string[] {
    const one = (): string =>
      `${this.pick(['price', 'group', 'mixed', 'o.x', 'title', `_geoPoint(${this.below(20)}, ${this.below(20)})`])}:` +
      this.pick(['asc', 'desc']);
    return this.many(1 + this.below(2), one);
  }
  query(): string {
    const typed = (): string => {
      const word = this.word();
      if (this.chance(0.2)) return word.slice(0, 1 + this.below(word.length));
      if (!this.chance(0.3) || word.length < 4) return word;
      const at = 1 + this.below(word.length - 1);
      return (
        word.slice(0, at) + this.pick(['', 'q', word[at - 1]!]) + word.slice(at + this.below(2))
      );
    };
    let q = this.many(1 + this.below(4), typed).join(' ');
    if (this.chance(0.15)) q += ` "${this.word()} ${this.word()}"`;
    if (this.chance(0.15)) q += ` -${this.word()}`;
    return q;
  }
  search(): Record<string, unknown> {
    return {
      ...(this.chance(0.75) && { q: this.query() }),
      ...(this.chance(0.4) && { filter: this.filter() }),
      ...(this.chance(0.3) && { sort: this.sort() }),
      ...(this.chance(0.4) && {
        facets: this.pick([['*'], ['tags', 'group'], ['mixed', 'price'], ['o']]),
      }),
      ...(this.chance(0.15) && { distinct: this.pick(['group', 'tags', 'mixed', 'price']) }),
      ...(this.chance(0.3) && { matchingStrategy: this.pick(['all', 'last', 'frequency']) }),
      ...(this.chance(0.3) && { showRankingScore: true, showRankingScoreDetails: true }),
      ...(this.chance(0.1) && { rankingScoreThreshold: this.next() }),
      ...(this.chance(0.2) && {
        attributesToHighlight: ['*'],
        attributesToCrop: ['body'],
        cropLength: 4,
        showMatchesPosition: true,
      }),
      ...(this.chance(0.15) && { attributesToSearchOn: [this.pick(['title', 'body', 'tags'])] }),
      ...(this.chance(0.3)
        ? { page: 1 + this.below(3), hitsPerPage: this.below(8) }
        : { offset: this.below(6), limit: this.below(30) }),
    };
  }
}

/** One index in a folder of its own. */
class Subject {
  readonly #dir = mkdtempSync(
    join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'gannet-history-'),
  );
  readonly handle = new IndexHandle(loadAddon(), this.#dir, true);
  #batches = 0;

  async apply(steps: Step[], payloads: Buffer[]): Promise<void> {
    const job = {
      batchUid: this.#batches++,
      taskUids: steps.map(({ task }) => task),
      now: '2025-01-01T00:00:00Z',
      steps,
    };
    const { results } = await this.handle.applyBatch(job, payloads);
    for (const { error } of results) assert.equal(error, undefined);
  }
  async documents(): Promise<Document[]> {
    return JSON.parse(
      (await this.handle.fetchAllDocuments('{"offset":0,"limit":100000}')).toString(),
    ).results;
  }
  close(): void {
    this.handle.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** Plays random batches on a subject; tracks the expected documents. */
class History {
  readonly documents = new Map<string, Document>();
  readonly #random: Random;
  #groupsFilterable = false;
  #steps: Step[] = [];
  #payloads: Buffer[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  async play(subject: Subject, last: Settings): Promise<void> {
    const random = this.#random;
    const batches = 1 + random.below(BATCHES_MAX);
    const settingsAt = random.below(batches + 1);
    const apply = async (): Promise<void> => {
      if (this.#steps.length > 0) await subject.apply(this.#steps, this.#payloads);
      this.#steps = [];
      this.#payloads = [];
    };
    for (let batch = 0; batch <= batches; batch++) {
      if (batch === settingsAt) this.#settings(last);
      else if (batch < settingsAt && random.chance(0.15)) {
        this.#settings({ ...defaultSettings(), ...random.settings() });
      }
      await apply();
      if (!this.documents.has('all')) this.#add('replace', [EVERYTHING]);
      this.#batch(batch === batches);
      await apply();
    }
  }

  /** Steps that the server would also run in one batch. */
  #batch(last: boolean): void {
    const random = this.#random;
    const kind = random.next();
    if (kind < 0.8 || !this.#groupsFilterable || this.#steps.length > 0) {
      for (let steps = 1 + random.below(4); steps > 0; steps--) {
        if (random.chance(0.2)) this.#deleteIds();
        else this.#addSome();
      }
    } else if (kind < 0.97 || last) {
      this.#deleteGroup();
      if (random.chance(0.3)) this.#deleteIds();
      if (random.chance(0.3)) this.#deleteGroup();
    } else {
      this.documents.clear();
      this.#push({ kind: 'clear' });
    }
  }

  #settings(settings: Settings): void {
    this.#groupsFilterable = true;
    this.#push({ kind: 'settings', settings: settings as unknown as Record<string, unknown> });
  }

  #push(step: Step extends infer S ? (S extends Step ? Omit<S, 'task'> : never) : never): void {
    this.#steps.push({ task: this.#steps.length, ...step } as Step);
  }

  #id(): string {
    return `d${this.#random.below(IDS)}`;
  }

  #addSome(): void {
    const random = this.#random;
    const ids = random.many(random.chance(0.2) ? 100 : 1 + random.below(8), () => this.#id());
    const documents = ids.map((id) => ({ id, ...random.document() }));
    this.#add(random.pick(['replace', 'update']), documents, random.chance(0.1));
  }

  #deleteIds(): void {
    const ids = this.#random.many(this.#random.chance(0.2) ? 80 : this.#random.below(6), () =>
      this.#id(),
    );
    for (const id of ids) this.documents.delete(id);
    this.#push({ kind: 'deleteIds', ids });
  }

  #deleteGroup(): void {
    const group = `g${this.#random.below(9)}`;
    for (const [id, document] of this.documents) {
      if (document['group'] === group) this.documents.delete(id);
    }
    this.#push({ kind: 'deleteFilter', filter: `group = ${group}` });
  }

  #add(method: 'replace' | 'update', documents: readonly Document[], skipCreation = false): void {
    for (const document of documents) {
      const id = document['id'] as string;
      const before = this.documents.get(id);
      if (before === undefined && skipCreation) continue;
      this.documents.set(id, method === 'update' ? { ...before, ...document } : document);
    }
    this.#push({
      kind: 'documents',
      method,
      payload: { buffer: this.#payloads.length },
      format: 'json',
      primaryKey: 'id',
      skipCreation,
    });
    this.#payloads.push(Buffer.from(JSON.stringify(documents)));
  }
}

/**
 * The content of a result, without times. The order of facet values counts, that of the fields of a
 * document does not.
 */
async function contentOf(asked: () => Promise<Buffer | EngineResult>): Promise<unknown> {
  try {
    const result = await asked();
    const text = String(Buffer.isBuffer(result) ? result : result.bytes).replace(
      /"processingTimeMs":\d+/,
      '"processingTimeMs":0',
    );
    const facets = text.indexOf('"facetDistribution"');
    return { ...JSON.parse(text), facets: facets < 0 ? '' : text.slice(facets) };
  } catch (error) {
    return (error as { code?: string }).code ?? error;
  }
}

async function compare(seed: number): Promise<void> {
  const random = new Random(seed);
  const settings = { ...defaultSettings(), ...random.settings() };
  const old = new Subject();
  const fresh = new Subject();
  try {
    const history = new History(random);
    await history.play(old, settings);
    // Ties are decided by the order of the documents, which deletions and new documents shuffle.
    const listed = await old.handle.fetchAllDocuments('{"offset":0,"limit":100000}');
    const documents = JSON.parse(listed.toString()).results as Document[];
    assert.deepEqual(
      new Map(documents.map((document) => [document['id'], document])),
      history.documents,
    );
    const payload = Buffer.from(JSON.stringify(documents));
    const steps: Step[] = [
      { task: 0, kind: 'settings', settings: settings as unknown as Record<string, unknown> },
      {
        ...{
          task: 1,
          kind: 'documents',
          method: 'replace',
          payload: { buffer: 0 },
          format: 'json',
        },
        ...{ primaryKey: 'id', skipCreation: false },
      },
    ];
    const [first, second] = random.chance(0.5) ? steps : steps.toReversed();
    await fresh.apply([first!], [payload]);
    await fresh.apply([second!], [payload]);

    const both = async (
      what: string,
      ask: (handle: IndexHandle) => Promise<Buffer | EngineResult>,
    ): Promise<void> => {
      const [expected, found] = [
        await contentOf(() => ask(fresh.handle)),
        await contentOf(() => ask(old.handle)),
      ];
      assert.deepEqual(found, expected, what);
    };
    const { numberOfDocuments, fieldDistribution, primaryKey } = fresh.handle.state();
    const state = old.handle.state();
    assert.deepEqual(
      [state.numberOfDocuments, state.fieldDistribution, state.primaryKey],
      [numberOfDocuments, fieldDistribution, primaryKey],
    );
    for (let i = 0; i < QUESTIONS; i++) {
      const request = random.search();
      const features = { containsFilter: true, multimodal: true };
      const plan = JSON.stringify(planSearch(request, features, {}));
      await both(`search ${plan}`, (handle) => handle.search(plan));
      if (i % 3 === 0) {
        const { q, filter, matchingStrategy } = request;
        const facet = JSON.stringify({
          ...{
            facetName: random.pick(['group', 'tags', 'mixed', 'o.x']),
            containsFilter: true,
            q,
            filter,
            matchingStrategy,
          },
          facetQuery: random.pick([
            null,
            '',
            'tag',
            'tag 1',
            'tga 1',
            'g',
            'r',
            'rose',
            random.word(),
          ]),
          exhaustiveFacetCount: random.chance(0.3),
        });
        await both(`facet search ${facet}`, (handle) => handle.facetSearch(facet));
        const list = JSON.stringify({
          ...{ offset: random.below(5), limit: random.below(40), containsFilter: true },
          ...(random.chance(0.7) && { filter: random.filter() }),
          ...(random.chance(0.5) && { sort: random.sort() }),
          ...(random.chance(0.2) && { ids: random.many(9, () => `d${random.below(IDS)}`) }),
        });
        await both(`documents ${list}`, async (handle) => {
          const { bytes, rest } = await handle.fetchDocuments(list);
          assert.equal(rest, null);
          return bytes;
        });
      }
    }
    for (const id of ['all', ...random.many(5, () => `d${random.below(IDS)}`)]) {
      const parsed = (handle: IndexHandle): unknown =>
        JSON.parse(handle.getDocument(id, null, false)?.toString() ?? 'null');
      assert.deepEqual(parsed(old.handle), parsed(fresh.handle));
    }
  } finally {
    old.close();
    fresh.close();
  }
}

describe('an index of any history', () => {
  it(`gives the results of one built from its documents in one batch (GANNET_SEED=${SEED}, GANNET_HISTORIES=${HISTORIES})`, async function () {
    this.timeout(0);
    for (let i = 0; i < HISTORIES; i++) {
      const seed = (SEED + i) % 2 ** 32;
      try {
        await compare(seed);
      } catch (error) {
        (error as Error).message = `GANNET_SEED=${seed}: ${(error as Error).message}`;
        throw error;
      }
    }
  });
});

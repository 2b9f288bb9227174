import type { Doc, Operation, Settings } from './operations.ts';
import type { Random } from './random.ts';

/**
 * Chooses the next operation. The id and index spaces are small, so that operations often collide.
 */

export const INDEXES = ['alpha', 'beta', 'gamma', 'delta'] as const;

/** Documents that are only written together: a reader sees all of one generation, or none. */
export const GROUP: readonly string[] = Array.from({ length: 12 }, (_, n) => `group-${n}`);

const ID_SPACE = 240;
/** The newest tasks are canceled, because the others have ended. */
const CANCELED_BACK = 12;
export const BUCKETS = 6;

const SYLLABLES = ['ka', 'lo', 'mi', 'ren', 'tus', 'vor', 'bel', 'dra', 'fin', 'gul'];

/** Words that stay words whatever the settings; searched in quotes. */
export const WORDS: readonly string[] = SYLLABLES.flatMap((a) =>
  SYLLABLES.slice(0, 6).map((b) => `${a}${b}${a}x`),
);
const STOP_WORDS: readonly string[] = ['the', 'and', 'of', 'with'];

/** Attributes of text, in the order of the documents. */
export const TEXT_FIELDS = ['title', 'body', 'note'] as const;

const WEIGHTS: Readonly<Record<Operation['kind'], number>> = {
  add: 60,
  deleteIds: 12,
  deleteFilter: 6,
  clear: 2,
  settings: 10,
  create: 2,
  deleteIndex: 1.5,
  swap: 2.5,
  branch: 2.5,
  cancel: 2,
};

export class Workload {
  readonly #random: Random;
  #serial = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** @param newest the uid of the newest task that the client knows */
  next(newest: number): Operation {
    const random = this.#random;
    const serial = this.#serial++;
    const index = random.pick(INDEXES);
    const kind = random.weighted(WEIGHTS);
    switch (kind) {
      case 'add':
        return this.#add(serial, index);
      case 'deleteIds': {
        const single = random.chance(0.5);
        const ids = Array.from({ length: single ? 1 : random.int(0, 20) }, () => this.#id());
        return { serial, kind, index, single, ids: [...new Set(ids)] };
      }
      case 'deleteFilter': {
        const values = random.some([0, 1, 2, 3, 4, 5], random.int(1, 3));
        return { serial, kind, index, attribute: 'bucket', values };
      }
      case 'settings':
        return { serial, kind, index, patch: random.chance(0.06) ? null : this.#patch(serial) };
      case 'create':
        return { serial, kind, index, primaryKey: random.chance(0.5) ? 'id' : null };
      case 'swap': {
        const [a, b] = random.some(INDEXES, 2) as [string, string];
        return { serial, kind, pair: [a, b], rename: random.chance(0.3) };
      }
      case 'branch': {
        const [a, b] = random.some(INDEXES, 2) as [string, string];
        return { serial, kind, index: a, branch: b };
      }
      case 'cancel': {
        const uids = Array.from({ length: random.int(1, 5) }, () =>
          Math.max(0, newest - random.int(0, CANCELED_BACK)),
        );
        const selected = random.weighted({ uids: 6, additions: 2, everything: 1 });
        return { serial, kind, selected: selected === 'uids' ? [...new Set(uids)] : selected };
      }
      case 'clear':
      case 'deleteIndex':
        return { serial, kind, index };
    }
  }

  #id(): string {
    return `d${this.#random.int(0, ID_SPACE)}`;
  }

  #add(serial: number, index: string): Operation {
    const random = this.#random;
    const shape = random.weighted({ few: 60, group: 15, large: 8, faulty: 5, twice: 8, none: 3 });
    let documents: Record<string, unknown>[];
    switch (shape) {
      case 'few':
        documents = this.#documents(serial, random.int(1, 12), 12);
        break;
      case 'group':
        documents = GROUP.map((id) => ({ ...this.#document(serial, id, 8), bucket: BUCKETS }));
        break;
      case 'large':
        // More than the server keeps in memory.
        documents = this.#documents(serial, 150, 80);
        break;
      case 'faulty':
        documents = this.#documents(serial, random.int(1, 6), 6);
        documents.push({ title: 'nobody' });
        break;
      case 'twice': {
        documents = this.#documents(serial, 3, 6);
        documents.push({ ...documents[0], title: `again ${random.pick(WORDS)}` });
        break;
      }
      case 'none':
        documents = [];
        break;
    }
    // A partial update of the group would leave members of several generations.
    const method = random.chance(0.5) ? 'replace' : 'update';
    if (method === 'update' && shape !== 'group') {
      documents = documents.map((document) => this.#part(document));
    }
    return {
      serial,
      kind: 'add',
      index,
      method,
      documents,
      format: random.chance(0.5) ? 'json' : 'ndjson',
      primaryKey: random.chance(0.5) ? 'id' : null,
      skipCreation: shape !== 'group' && random.chance(0.05),
    };
  }

  #documents(serial: number, count: number, words: number): Doc[] {
    return Array.from({ length: count }, () => this.#document(serial, this.#id(), words));
  }

  #document(serial: number, id: string, words: number): Doc {
    const random = this.#random;
    const document: Doc = {
      id,
      title: this.#text(random.int(1, 5)),
      body: this.#text(words),
      bucket: random.int(0, BUCKETS),
      price: random.int(0, 1000) / 4,
      generation: serial,
    };
    if (random.chance(0.3)) document['note'] = random.chance(0.2) ? null : this.#text(3);
    if (random.chance(0.2)) document['tags'] = random.some(WORDS, random.int(0, 4));
    if (random.chance(0.1)) document['origin'] = { city: random.pick(WORDS), year: serial };
    if (random.chance(0.05)) document[`extra${random.int(0, 8)}`] = true;
    return document;
  }

  /** Some of the fields. */
  #part(document: Record<string, unknown>): Record<string, unknown> {
    const entries = Object.entries(document).filter(
      ([name]) => name === 'id' || this.#random.chance(0.5),
    );
    return Object.fromEntries(entries);
  }

  #text(count: number): string {
    const random = this.#random;
    return Array.from({ length: count }, () =>
      random.chance(0.2) ? random.pick(STOP_WORDS) : random.pick(WORDS),
    ).join(' ');
  }

  /** Every patch contains its serial number, in a limit too high to have an effect. */
  #patch(serial: number): Settings {
    const random = this.#random;
    const patch: Settings = { pagination: { maxTotalHits: 100_000 + serial } };
    const choices: Record<string, () => unknown> = {
      // Settings used at query time.
      synonyms: () => ({ [random.pick(WORDS)]: [random.pick(WORDS)] }),
      typoTolerance: () => ({ enabled: random.chance(0.5) }),
      rankingRules: () => random.some(['words', 'typo', 'proximity', 'attribute', 'sort'], 5),
      faceting: () => ({ maxValuesPerFacet: random.int(20, 200) }),
      displayedAttributes: () => (random.chance(0.7) ? ['*'] : ['id', 'title', 'generation']),
      // Settings that rebuild the index, or parts of it.
      filterableAttributes: () => random.some(['bucket', 'price', 'tags'], random.int(1, 4)),
      sortableAttributes: () => random.some(['price', 'bucket'], random.int(0, 3)).sort(),
      searchableAttributes: () =>
        random.chance(0.4) ? ['*'] : random.some(TEXT_FIELDS, random.int(1, 4)),
      stopWords: () => random.some(STOP_WORDS, random.int(0, 3)).sort(),
      separatorTokens: () => (random.chance(0.5) ? ['|'] : []),
      proximityPrecision: () => random.pick(['byWord', 'byAttribute']),
      prefixSearch: () => random.pick(['indexingTime', 'disabled']),
    };
    for (const name of random.some(Object.keys(choices), random.int(0, 4))) {
      patch[name] = random.chance(0.1) ? null : choices[name]!();
    }
    return patch;
  }
}

/**
 * A search engine in plain loops: it reads every word of every document for every query. It exists
 * to be obviously right; the real engine is compared with it.
 */
import { Analyzer, type AnalyzerSettings } from './analyzer.ts';
import {
  CorpusBuilder,
  coveredBy,
  isReserved,
  type Document,
  type Json,
  type Occurrences,
} from './corpus.ts';
import {
  distribution,
  fieldNames,
  matchesPattern,
  searchFacet,
  type FacetSettings,
} from './facets.ts';
import { formatDocument, Matcher, matchesPosition } from './format.ts';
import { distance, expiresBy, parseFilter, pointOf, type Predicate } from './filter.ts';
import { distinctKeys, sortByDistance, sortByField, type SortedPart } from './sort.ts';
import {
  buildSynonyms,
  Expander,
  INSIDE,
  isNgram,
  Lexicon,
  type Alternative,
  type Node,
  type Synonyms,
  type TypoSettings,
} from './expand.ts';
import type { FilterableRule } from '../../src/contract/settings/filterable-attributes.ts';
import { parseQuery, type ParsedQuery } from './query.ts';
import {
  matches,
  matchPhrase,
  sequences,
  singleNodes,
  type Bucket,
  type Candidate,
  type Path,
  type State,
} from './match.ts';
import { splitByAttribute, type AskedPairs, type Taken } from './attribute-pairs.ts';
import * as rules from './rank.ts';

/** The language of attributes: the first rule with a matching pattern counts. */
export interface LocalizedRule {
  attributePatterns: readonly string[];
  /** Three-letter codes. */
  locales: readonly string[];
}

export interface Settings extends AnalyzerSettings {
  rankingRules?: readonly string[];
  searchableAttributes?: readonly string[];
  filterableAttributes?: readonly unknown[];
  sortableAttributes?: readonly string[];
  displayedAttributes?: readonly string[];
  distinctAttribute?: string | null;
  substringAttributes?: readonly string[];
  expiresAtAttribute?: string | null;
  synonyms?: Readonly<Record<string, readonly string[]>>;
  proximityPrecision?: 'byWord' | 'byAttribute';
  prefixSearch?: 'indexingTime' | 'disabled';
  typoTolerance?: {
    enabled?: boolean;
    minWordSizeForTypos?: { oneTypo?: number; twoTypos?: number };
    disableOnWords?: readonly string[];
    disableOnAttributes?: readonly string[];
    disableOnNumbers?: boolean;
  };
  localizedAttributes?: readonly LocalizedRule[];
  pagination?: { maxTotalHits?: number };
  faceting?: { maxValuesPerFacet?: number; sortFacetValuesBy?: Record<string, 'alpha' | 'count'> };
}

export interface SearchParams {
  q?: string | null;
  offset?: number;
  limit?: number;
  page?: number | null;
  hitsPerPage?: number | null;
  filter?: unknown;
  sort?: readonly string[] | null;
  distinct?: string | null;
  groupBy?: { attribute: string; hits?: number; limit?: number; page?: number } | null;
  facetsPer?: 'document' | 'group';
  facets?: readonly string[] | null;
  attributesToRetrieve?: readonly string[] | null;
  attributesToSearchOn?: readonly string[] | null;
  attributesToHighlight?: readonly string[] | null;
  attributesToCrop?: readonly string[] | null;
  cropLength?: number;
  cropMarker?: string;
  highlightPreTag?: string;
  highlightPostTag?: string;
  showMatchesPosition?: boolean;
  matchingStrategy?: 'last' | 'all' | 'frequency';
  showRankingScore?: boolean;
  showRankingScoreDetails?: boolean;
  rankingScoreThreshold?: number | null;
  locales?: readonly string[] | null;
}

export interface Body {
  hits: Document[];
  [key: string]: unknown;
}

/** One applied rule: its part of the score, and its entry among the details. */
interface Detail {
  rule: string;
  rank: number;
  max: number;
  extra?: Record<string, unknown>;
}

interface Ranked {
  document: number;
  details: Detail[];
}

/** One search in progress. */
interface Run {
  plan: Plan;
  params: SearchParams;
  hits: Ranked[];
  /** The hits to return, [offset, end). */
  offset: number;
  end: number;
  /** How many hits to look for before stopping. */
  wanted: number;
  distinct: string | null;
  threshold: number | null;
  /** 1 for documents removed by distinct or by the threshold. */
  excluded: Uint8Array;
  universe: number[];
  total: number;
  /** Whether any rule runs. */
  ruled: boolean;
  /** For the rule `proximity` by attribute: how many buckets it has split. */
  asked: AskedPairs;
  buckets: number;
}

interface Plan {
  parsed: ParsedQuery;
  nodes: Node[];
  inField: boolean[];
  /** What a document may match when 0, 1, 2 ... terms are dropped. */
  stages: Node[][][];
  maxMatchingWords: number;
}

const DEFAULT_RULES = ['words', 'typo', 'proximity', 'attribute', 'sort', 'exactness'];
const RELEVANCY = new Set([
  'typo',
  'proximity',
  'attribute',
  'attributeRank',
  'wordPosition',
  'exactness',
]);

/** Dates of random documents are long before it, or long after the present. */
const NOW = Date.UTC(2026, 0, 1) / 1000;

const GEO = /^_geoPoint\(([^,]*),([^,]*)\)/;

/** A name in `attributesToSearchOn` that is not searchable. */
export class SearchOnError extends Error {}

export class Oracle {
  readonly settings: Settings;
  readonly documents: Document[] = [];
  #builder: CorpusBuilder;
  #occurrences: Occurrences | null = null;
  #lexicon!: Lexicon;
  get lex(): Lexicon {
    return this.#lexicon;
  }
  #analyzer: Analyzer;
  #synonyms: Synonyms;
  #typo: TypoSettings;
  #searchable: readonly string[] | null;
  #names: Set<string> | null = null;
  readonly #namesOfDeleted = new Set<string>();

  constructor(settings: Settings) {
    this.settings = settings;
    const listed = settings.searchableAttributes;
    this.#searchable = listed === undefined || listed.includes('*') ? null : listed;
    this.#builder = new CorpusBuilder(this.#searchable, settings, (field) =>
      this.#localesOf(field),
    );
    this.#analyzer = new Analyzer(settings);
    this.#synonyms = buildSynonyms(settings.synonyms ?? {}, this.#analyzer);
    const typo = settings.typoTolerance ?? {};
    const plain = new Analyzer();
    this.#typo = {
      enabled: typo.enabled ?? true,
      oneTypo: typo.minWordSizeForTypos?.oneTypo ?? 5,
      twoTypos: typo.minWordSizeForTypos?.twoTypos ?? 9,
      disableOnWords: new Set(
        (typo.disableOnWords ?? []).map((word) => plain.words(word).join('')),
      ),
    };
  }

  /** @param deleted documents that existed once: the names of their fields stay known */
  addDocuments(documents: Iterable<Document>, deleted: Iterable<Document> = []): void {
    for (const name of fieldNames([...deleted])) this.#namesOfDeleted.add(name);
    const expiry = this.settings.expiresAtAttribute ?? null;
    for (const document of documents) {
      if (expiry !== null && expiresBy(document, expiry, NOW)) continue;
      this.documents.push(document);
      this.#builder.add(document);
    }
    this.#occurrences = this.#builder.finish();
    const exact = this.settings.typoTolerance?.disableOnAttributes ?? [];
    this.#lexicon = new Lexicon(
      this.#occurrences,
      (field) => coveredBy(field, exact) >= 0,
      (field) => this.#isParted(field),
      this.settings.typoTolerance?.disableOnNumbers ?? false,
    );
  }

  /** @param among a condition like the filter */
  search(params: SearchParams, among: Predicate = () => true): Body {
    this.#checkSearchOn(params);
    const run = this.rank(params, among);
    const { offset, end } = run;
    const matcher = new Matcher(
      run.plan.nodes,
      this.#lexicon.texts,
      new Analyzer({ ...this.settings, stopWords: [] }),
      (path) => this.#localesOf(path),
      (path) => this.#isParted(path),
    );
    const hits = run.hits.slice(offset, end).map((hit) => this.#hit(hit, params, matcher));
    const max = this.settings.pagination?.maxTotalHits ?? 1000;
    const total = Math.min(run.total, max);
    const body: Body = { hits, query: params.q ?? '' };
    if (isPaged(params)) {
      const hitsPerPage = params.hitsPerPage ?? 20;
      Object.assign(body, {
        hitsPerPage,
        page: params.page ?? 1,
        totalPages: hitsPerPage === 0 ? 0 : Math.ceil(total / hitsPerPage),
        totalHits: total,
      });
    } else {
      Object.assign(body, {
        limit: params.limit ?? 20,
        offset: params.offset ?? 0,
        estimatedTotalHits: total,
      });
    }
    if (params.facets !== undefined && params.facets !== null && params.facets.length > 0) {
      const counted = run.universe.map((id) => this.documents[id]!);
      Object.assign(
        body,
        distribution(counted, this.#facetFields(params.facets), this.#facetSettings),
      );
    }
    return body;
  }

  facetSearch(
    params: SearchParams & { facetName: string; facetQuery?: string | null },
  ): Record<string, unknown> {
    const { universe } = this.rank({ ...params, limit: 0 });
    const candidates = universe.map((id) => this.documents[id]!);
    const query = params.facetQuery ?? null;
    return {
      facetHits: searchFacet(
        this.documents,
        candidates,
        params.facetName,
        query,
        this.#typo,
        this.#facetSettings,
      ),
      facetQuery: query,
    };
  }

  get #facetSettings(): FacetSettings {
    const { maxValuesPerFacet = 100, sortFacetValuesBy: by = {} } = this.settings.faceting ?? {};
    return { maxValuesPerFacet, order: (field) => by[field] ?? by['*'] ?? 'alpha' };
  }

  #isFilterable(field: string): boolean {
    return (this.settings.filterableAttributes ?? []).some((rule) =>
      typeof rule === 'string'
        ? coveredBy(field, [rule]) >= 0
        : (rule as { attributePatterns: string[] }).attributePatterns.some((p) =>
            matchesPattern(field, p),
          ),
    );
  }

  /** The features of the first rule for the field. */
  #filterOf(field: string): FilterableRule['features']['filter'] | undefined {
    const rule = (this.settings.filterableAttributes ?? []).find((entry) =>
      typeof entry === 'string'
        ? coveredBy(field, [entry]) >= 0
        : (entry as FilterableRule).attributePatterns.some((p) => matchesPattern(field, p)),
    );
    return (rule as FilterableRule | undefined)?.features?.filter;
  }

  #testsElements(field: string): boolean {
    const names = field.split('.').map((_, i, parts) => parts.slice(0, i + 1).join('.'));
    return names.some((name) => this.#filterOf(name)?.elements === true);
  }

  get #knownNames(): Set<string> {
    return (this.#names ??= new Set([...fieldNames(this.documents), ...this.#namesOfDeleted]));
  }

  #facetFields(facets: readonly string[]): string[] {
    return [...this.#knownNames].filter(
      (name) =>
        this.#isFilterable(name) &&
        facets.some((facet) => coveredBy(name, [facet]) >= 0 || matchesPattern(name, facet)),
    );
  }

  /** Hits in order, as many as the request needs, and the documents that count for the total. */
  rank(params: SearchParams, among: Predicate = () => true): Run {
    const plan = this.plan(params);
    const allowed = this.#allowed(plan.parsed, params, among);
    const max = this.settings.pagination?.maxTotalHits ?? 1000;
    const paged = isPaged(params);
    const perPage = params.hitsPerPage ?? 20;
    const offset = Math.min(
      paged ? perPage * Math.max((params.page ?? 1) - 1, 0) : (params.offset ?? 0),
      max,
    );
    const length = paged ? (params.page === 0 ? 0 : perPage) : (params.limit ?? 20);
    const end = Math.min(offset + length, max);
    const distinct = params.distinct ?? this.settings.distinctAttribute ?? null;
    const isThresholded = (params.rankingScoreThreshold ?? null) !== null;
    const run: Run = {
      plan,
      params,
      hits: [],
      offset,
      end,
      // Pages are counted exactly: removals after a page depend on the order as well.
      wanted: paged && (isThresholded || distinct !== null) ? Infinity : end,
      distinct,
      threshold: params.rankingScoreThreshold ?? null,
      excluded: new Uint8Array(this.documents.length),
      universe: [],
      total: 0,
      ruled: false,
      asked: new Map(),
      buckets: 0,
    };
    const searched = plan.parsed.terms.length > 0;
    const { buckets, universe } = searched
      ? this.#buckets(plan, allowed)
      : this.#everything(allowed);
    const applied = this.#rules(params, searched);
    run.ruled = applied.length > 0;
    if (applied.includes('words')) {
      // The rule is always the first: nothing that ranks may come before it.
      this.#wordsRule(buckets, applied, run);
    } else if (buckets.length > 0) {
      const candidates = buckets.flatMap(([, bucket]) => bucket.candidates);
      candidates.sort((a, b) => a.document - b.document);
      this.#refine({ candidates, paths: buckets[0]![1].paths }, applied, [], run);
    }
    run.universe = universe.filter((id) => run.excluded[id] === 0);
    run.total = run.universe.length;
    return run;
  }

  #wordsRule(buckets: [number, Bucket][], applied: readonly string[], run: Run): void {
    const at = applied.indexOf('words');
    // Sort criteria before it split the universe first.
    const before = applied.slice(0, at);
    const after = applied.slice(at + 1);
    const max = run.plan.maxMatchingWords;
    const inner = (details: Detail[], keep: (document: number) => boolean): void => {
      const before = run.excluded.slice();
      let dropping = false;
      for (const [k, bucket] of buckets) {
        if (isFull(run)) return;
        const detail: Detail = { rule: 'words', rank: max - k, max };
        const here = bucket.candidates.filter(
          ({ document }) => keep(document) && before[document] === 0,
        );
        if (here.length === 0) continue;
        // A path that is the first choice of no document is dropped.
        const first = (candidate: Candidate): Path =>
          bucket.paths.find((path) => matches(candidate, path))!;
        const used = new Set(here.map(first));
        const paths = bucket.paths.filter((path) => used.has(path));
        dropping ||= isBelow([...details, detail], run);
        if (dropping) exclude(here, run);
        else this.#refine({ candidates: here, paths }, [...after], [...details, detail], run);
      }
    };
    if (before.length === 0) return inner([], () => true);
    const all = buckets
      .flatMap(([, { candidates }]) => candidates)
      .sort((a, b) => a.document - b.document);
    const split = (items: Candidate[], left: readonly string[], details: Detail[]): void => {
      if (isFull(run)) return;
      const rule = left[0];
      if (rule === undefined) {
        const ids = new Set(items.map(({ document }) => document));
        return inner(details, (document) => ids.has(document));
      }
      for (const part of this.#sorted(items, rule)) {
        split(part.items, left.slice(1), [
          ...details,
          { rule, rank: 1, max: 0, extra: part.detail },
        ]);
      }
    };
    split(all, before, []);
  }

  /** Documents that pass the filter and no negative. */
  #allowed(parsed: ParsedQuery, params: SearchParams, among: Predicate): Uint8Array {
    const { starts, word, field, position } = this.#occurrences!;
    const passes = parseFilter(params.filter, {
      filterable: (name) => this.#isFilterable(name),
      dated: (name) => this.#filterOf(name)?.date === true,
      elements: (name) => this.#testsElements(name),
      known: (name) => this.#knownNames.has(name),
    });
    const out = Uint8Array.from(this.documents, (document) =>
      (passes === null || passes(document)) && among(document) ? 1 : 0,
    );
    const words = new Set(parsed.negativeWords.map((text) => this.#lexicon.id(text)));
    const phrases = parsed.negativePhrases
      .map((list) => ({
        words: list.map((text) => (text === null ? null : this.#lexicon.id(text))),
      }))
      .filter((phrase) => !phrase.words.includes(-1));
    if (words.size === 0 && phrases.length === 0) return out;
    const inField = this.#fieldsOf(params);
    const { byAttribute } = this.context;
    const ofPhrases = new Set(phrases.flatMap((phrase) => phrase.words));
    for (let d = 0; d < out.length; d++) {
      const byWord = new Map<number, number[]>();
      for (let i = starts[d]!; i < starts[d + 1]!; i++) {
        if (words.has(word[i]!) && inField[field[i]!]) out[d] = 0;
        if (!ofPhrases.has(word[i]!)) continue;
        const occurrence = field[i]! * 65536 + position[i]!;
        byWord.set(word[i]!, [...(byWord.get(word[i]!) ?? []), occurrence]);
      }
      if (phrases.some((phrase) => matchPhrase(phrase, byWord, inField, byAttribute))) out[d] = 0;
    }
    return out;
  }

  /** By field id: whether words may be looked up there. */
  #fieldsOf(params: SearchParams): boolean[] {
    return this.#occurrences!.fields.map((field) => this.#isSearched(field, params));
  }

  #isSearched(field: string, { attributesToSearchOn: on }: SearchParams): boolean {
    if (on === undefined || on === null || on.includes('*')) return true;
    // A parent stands for what is below it only where the settings list it.
    const listed = on.filter((name) => this.#searchable?.includes(name));
    return coveredBy(field, listed) >= 0 || on.some((pattern) => matchesPattern(field, pattern));
  }

  #checkSearchOn({ attributesToSearchOn: on }: SearchParams): void {
    const searchable = this.#searchable;
    if (searchable === null || on === undefined || on === null) return;
    const fields = [...this.#knownNames].filter((name) => coveredBy(name, searchable) >= 0);
    const known = (name: string): boolean =>
      name === '*' ||
      coveredBy(name, searchable) >= 0 ||
      [...searchable, ...fields].some((entry) => matchesPattern(entry, name));
    if (!on.every(known)) throw new SearchOnError();
  }

  /** Whether the words of the field are found by their parts. */
  #isParted(field: string): boolean {
    return coveredBy(field, this.settings.substringAttributes ?? []) >= 0;
  }

  #localesOf(field: string): readonly string[] {
    const rule = (this.settings.localizedAttributes ?? []).find(({ attributePatterns }) =>
      attributePatterns.some((pattern) => matchesPattern(field, pattern)),
    );
    return rule?.locales ?? [];
  }

  /** Those of the request, or of all attributes that are searched. */
  #queryLocales(params: SearchParams): readonly string[] {
    const searched = [...this.#knownNames].filter(
      (name) =>
        !isReserved(name) &&
        (this.#searchable === null || coveredBy(name, this.#searchable) >= 0) &&
        this.#isSearched(name, params),
    );
    const locales = searched.map((name) => this.#localesOf(name));
    const read = [...new Set(locales.flat())];
    // The query and the document must share a language.
    const named = read.filter((locale) => params.locales?.includes(locale));
    if (named.length > 0) return named;
    // A query without any of them matches text read in no language.
    return params.locales?.length && locales.some((list) => list.length === 0) ? [] : read;
  }

  #everything(allowed: Uint8Array): { buckets: [number, Bucket][]; universe: number[] } {
    const universe = [...this.documents.keys()].filter((id) => allowed[id] === 1);
    const candidates = universe.map((document): Candidate => ({
      document,
      byWord: new Map(),
      states: new Map(),
      anywhere: new Map(),
      inField: [],
    }));
    return { buckets: [[0, { candidates, paths: [] }]], universe };
  }

  plan(params: SearchParams): Plan {
    const prefixSearch = this.settings.prefixSearch !== 'disabled';
    const locales = this.#queryLocales(params);
    const parsed = parseQuery(params.q ?? '', this.#analyzer, locales, prefixSearch);
    const expander = new Expander(
      this.#lexicon,
      this.#typo,
      this.#synonyms,
      this.context.byAttribute,
      (this.settings.substringAttributes ?? []).length > 0,
    );
    const nodes = expander.graph(parsed.terms);
    return {
      parsed,
      nodes,
      inField: this.#fieldsOf(params),
      ...this.#stages(parsed, nodes, params),
    };
  }

  #stages(
    parsed: ParsedQuery,
    nodes: Node[],
    params: SearchParams,
  ): Pick<Plan, 'stages' | 'maxMatchingWords'> {
    const strategy = params.matchingStrategy ?? 'last';
    const all = parsed.terms.map((_, slot) => slot);
    const plain = all.filter((slot) => !parsed.terms[slot]!.mandatory);
    let groups = plain.map((slot) => [slot]).reverse();
    if (strategy === 'frequency') groups = this.#byFrequency(plain, nodes, params);
    if (plain.length === all.length) groups.pop();
    if (strategy === 'all') groups = [];
    const removal = new Map(groups.flatMap((group, i) => group.map((slot) => [slot, i] as const)));
    const stages = sequences(nodes, all.length, removal);
    const phraseWords = parsed.terms.reduce((n, term) => n + term.counted, 0);
    return { stages, maxMatchingWords: 1 + removal.size + Math.max(phraseWords - 1, 0) };
  }

  /**
   * Slots from the most frequent in the searched fields to the least; a slot without documents
   * first; equals together.
   */
  #byFrequency(slots: number[], nodes: Node[], params: SearchParams): number[][] {
    const counts = new Map(slots.map((slot) => [slot, 0]));
    const everything = new Uint8Array(this.documents.length).fill(1);
    for (const { states } of this.#candidates(nodes, everything, this.#fieldsOf(params))) {
      for (const slot of slots) {
        const covering = [...states.keys()].some(
          (node) => node.firstSlot <= slot && slot <= node.lastSlot,
        );
        if (covering) counts.set(slot, counts.get(slot)! + 1);
      }
    }
    const groups = new Map<number, number[]>();
    for (const [slot, n] of counts) {
      const frequency = n === 0 ? Infinity : n;
      groups.set(frequency, [...(groups.get(frequency) ?? []), slot]);
    }
    const out = [...groups].sort((a, b) => b[0] - a[0]).map(([, group]) => group);
    return out;
  }

  *#candidates(
    nodes: readonly Node[],
    allowed: Uint8Array,
    inField: boolean[],
  ): Generator<Candidate> {
    const { starts, word, field, position, fields } = this.#occurrences!;
    const { byAttribute } = this.context;
    const exactNames = this.settings.typoTolerance?.disableOnAttributes ?? [];
    const tolerantField = fields.map((name, id) => inField[id]! && coveredBy(name, exactNames) < 0);
    const partedField = fields.map((name, id) => inField[id]! && this.#isParted(name));
    const lists: number[][] = [[]];
    const role = new Uint32Array(this.#lexicon.texts.length);
    const roleOf = (id: number): number[] => {
      if (role[id] === 0) role[id] = lists.push([]) - 1;
      return lists[role[id]!]!;
    };
    const flat: { node: Node; alternative: Alternative }[] = [];
    for (const node of nodes) {
      for (const alternative of node.alternatives) {
        flat.push({ node, alternative });
        for (const id of alternative.words) roleOf(id).push(flat.length - 1);
        for (const { words } of alternative.phrases)
          for (const id of words) if (id !== null) roleOf(id);
      }
    }
    const everyField = inField.every(Boolean) && exactNames.length === 0;
    for (let d = 0; d + 1 < starts.length; d++) {
      if (allowed[d] === 0) continue;
      let byWord: Map<number, number[]> | null = null;
      for (let i = starts[d]!; i < starts[d + 1]!; i++) {
        if (role[word[i]!] === 0) continue;
        byWord ??= new Map();
        const occurrence = field[i]! * 65536 + position[i]!;
        const occurrences = byWord.get(word[i]!);
        if (occurrences === undefined) byWord.set(word[i]!, [occurrence]);
        else occurrences.push(occurrence);
      }
      if (byWord === null) continue;
      const states = new Map<Node, (State | undefined)[]>();
      const offered = (index: number): State => {
        const { node, alternative } = flat[index]!;
        let list = states.get(node);
        if (list === undefined) states.set(node, (list = []));
        return (list[alternative.typos] ??= { occurrences: [], anywhere: [], phrases: [] });
      };
      for (const [id, occurrences] of byWord) {
        const usable = everyField
          ? occurrences
          : occurrences.filter((occurrence) => inField[occurrence >> 16]);
        if (usable.length === 0) continue;
        const tolerant =
          this.#lexicon.tolerant[id] === 1 &&
          (everyField || occurrences.some((occurrence) => tolerantField[occurrence >> 16]));
        for (const index of lists[role[id]!]!) {
          const { node, alternative } = flat[index]!;
          if (alternative.typos === INSIDE) {
            if (!occurrences.some((occurrence) => partedField[occurrence >> 16])) continue;
          } else if (!tolerant && (alternative.typos > 0 || isNgram(node))) continue;
          for (const occurrence of usable) offered(index).occurrences.push(occurrence);
        }
      }
      for (const [index, { alternative }] of flat.entries()) {
        for (const phrase of alternative.phrases) {
          if (!matchPhrase(phrase, byWord, inField, byAttribute)) continue;
          const first = phrase.words[0] ?? null;
          offered(index).phrases.push({
            phrase,
            first: first === null ? null : byWord.get(first)!,
          });
        }
      }
      const anywhere = new Map<Node, number[]>();
      for (const [id, occurrences] of byWord) {
        for (const index of lists[role[id]!]!) {
          const { node, alternative } = flat[index]!;
          const known = anywhere.get(node);
          if (known === undefined) anywhere.set(node, [...occurrences]);
          else known.push(...occurrences);
          const state = states.get(node)?.[alternative.typos];
          if (state !== undefined)
            for (const occurrence of occurrences) state.anywhere.push(occurrence);
        }
      }
      if (states.size > 0) yield { document: d, byWord, states, anywhere, inField };
    }
  }

  /** The documents that match, by the number of groups of terms that had to be dropped. */
  #buckets(plan: Plan, allowed: Uint8Array): { buckets: [number, Bucket][]; universe: number[] } {
    const paths = plan.stages.map((ways) =>
      ways.map((nodes): Path => nodes.map((node) => ({ node, typos: null, verbatim: false }))),
    );
    const buckets = plan.stages.map((): Candidate[] => []);
    const universe: number[] = [];
    for (const candidate of this.#candidates(plan.nodes, allowed, plan.inField)) {
      const k = paths.findIndex((list) => list.some((path) => matches(candidate, path)));
      if (k < 0) continue;
      universe.push(candidate.document);
      buckets[k]!.push(candidate);
    }
    const out = buckets.map((candidates, k): [number, Bucket] => [
      k,
      { candidates, paths: paths[k]! },
    ]);
    return { buckets: out.filter(([, { candidates }]) => candidates.length > 0), universe };
  }

  /**
   * The rules that run, in order (docs/behaviour/ranking.md). Sort criteria keep their direction:
   * `name:asc`.
   */
  #rules(params: SearchParams, searched: boolean): string[] {
    const out: string[] = [];
    const fields = new Set<string>();
    const words = params.matchingStrategy !== 'all';
    const sort = (criterion: string): void => {
      const name = criterion.slice(0, criterion.lastIndexOf(':'));
      if (!fields.has(name)) out.push(criterion);
      fields.add(name);
    };
    for (const rule of this.settings.rankingRules ?? DEFAULT_RULES) {
      if (rule === 'sort') for (const criterion of params.sort ?? []) sort(criterion);
      else if (/:(asc|desc)$/.test(rule)) sort(rule);
      else if (searched) {
        if (RELEVANCY.has(rule) && words && !out.includes('words')) out.push('words');
        if (rule === 'words' && !words) continue;
        if (!out.includes(rule)) out.push(rule);
      }
    }
    return out;
  }

  #sorted(items: readonly Candidate[], criterion: string): SortedPart<Candidate>[] {
    const at = criterion.lastIndexOf(':');
    const descending = criterion.slice(at + 1) === 'desc';
    const name = criterion.slice(0, at);
    const documentOf = ({ document }: Candidate): Document => this.documents[document]!;
    const geo = GEO.exec(name);
    if (geo === null) return sortByField(items, documentOf, name, descending);
    return sortByDistance(
      items,
      documentOf,
      { lat: Number(geo[1]), lng: Number(geo[2]) },
      descending,
    );
  }

  get context(): rules.RankContext {
    const { fields, starts, field } = this.#occurrences!;
    const searchable = this.#searchable;
    return {
      weight: (id) => (searchable === null ? 0 : coveredBy(fields[id]!, searchable)),
      maxWeight: searchable === null ? 0 : searchable.length - 1,
      byAttribute: this.settings.proximityPrecision === 'byAttribute',
      wordCount: (document, id) => {
        let n = 0;
        for (let i = starts[document]!; i < starts[document + 1]!; i++) if (field[i] === id) n++;
        return n;
      },
    };
  }

  #refine(given: Bucket, left: string[], details: Detail[], run: Run): void {
    if (isFull(run)) return;
    const bucket = {
      ...given,
      candidates: given.candidates.filter((c) => run.excluded[c.document] === 0),
    };
    if (bucket.candidates.length === 0) return;
    const rule = left[0];
    if (rule === undefined) return this.#emit(bucket.candidates, details, run);
    const rest = left.slice(1);
    const context = this.context;
    const graph = (
      graphRule: rules.GraphRule,
      after: string[],
      more: (cost: number, max: number) => Detail,
    ): void => {
      const max = Math.max(...bucket.paths.map((path) => graphRule.max(path)));
      let dropping = false;
      const parts =
        graphRule.kind === 'proximity' && context.byAttribute
          ? this.#byAttribute(bucket, run)
          : partition(bucket, graphRule);
      for (const { cost, open } of parts) {
        const next = [...details, more(cost, max)];
        const inner = open(run.excluded);
        dropping ||= isBelow(next, run);
        if (dropping) exclude(inner.candidates, run);
        else this.#refine(inner, after, next, run);
        if (isFull(run)) return;
      }
    };
    const plain =
      (name: string) =>
      (cost: number, max: number): Detail => ({ rule: name, rank: max + 1 - cost, max: max + 1 });
    switch (rule) {
      case 'typo':
        return graph(rules.typoRule, rest, plain('typo'));
      case 'proximity':
        return graph(rules.proximityRule(), rest, plain('proximity'));
      case 'attribute':
        return graph(
          rules.attributeRankRule(context),
          ['attribute2', ...rest],
          plain('attribute1'),
        );
      case 'attributeRank':
        return graph(rules.attributeRankRule(context), rest, plain('attributeRank'));
      case 'attribute2':
        return graph(rules.wordPositionRule, rest, plain('attribute2'));
      case 'wordPosition':
        return graph(rules.wordPositionRule, rest, plain('wordPosition'));
      case 'exactWords':
        return graph(rules.exactWordsRule, rest, plain('exactWords'));
      case 'exactness': {
        const nodes = singleNodes(bucket.paths);
        const types: rules.MatchType[] = ['exactMatch', 'matchesStart', 'noExactMatch'];
        const parts: Candidate[][] = [[], [], []];
        for (const candidate of bucket.candidates) {
          parts[types.indexOf(rules.matchType(candidate, nodes, context))]!.push(candidate);
        }
        let dropping = false;
        for (const [i, candidates] of parts.entries()) {
          if (candidates.length === 0) continue;
          const detail = {
            rule: 'exactAttribute',
            rank: 3 - i,
            max: 3,
            extra: { matchType: types[i] },
          };
          const next = [...details, detail];
          dropping ||= isBelow(next, run);
          if (dropping) exclude(candidates, run);
          else
            this.#refine({ candidates, paths: bucket.paths }, ['exactWords', ...rest], next, run);
          if (isFull(run)) return;
        }
        return;
      }
      default:
        for (const part of this.#sorted(bucket.candidates, rule)) {
          const detail = { rule, rank: 1, max: 0, extra: part.detail };
          this.#refine(
            { candidates: part.items, paths: bucket.paths },
            rest,
            [...details, detail],
            run,
          );
          if (isFull(run)) return;
        }
    }
  }

  *#byAttribute(bucket: Bucket, run: Run): Generator<Part> {
    const { nodes } = run.plan;
    const number = run.buckets++;
    const parts = splitByAttribute(bucket, nodes, this.#lexicon, run.asked, number, run.excluded);
    for (const members of parts) yield partOf(members[0]!.cost, members);
  }

  #emit(candidates: readonly Candidate[], details: Detail[], run: Run): void {
    if (run.distinct === null) {
      for (const { document } of candidates) run.hits.push({ document, details });
      return;
    }
    for (const { document } of candidates) {
      // A bucket made by rules is made distinct as a whole, also after the end of the page.
      if (isFull(run) && !run.ruled) return;
      if (run.excluded[document] === 1) continue;
      if (!isFull(run)) run.hits.push({ document, details });
      const keys = new Set(distinctKeys(this.documents[document]!, run.distinct));
      if (keys.size === 0) continue;
      for (const [id, other] of this.documents.entries()) {
        if (id !== document && distinctKeys(other, run.distinct).some((key) => keys.has(key)))
          run.excluded[id] = 1;
      }
    }
  }

  #hit(hit: Ranked, params: SearchParams, matcher: Matcher): Document {
    const document = this.documents[hit.document]!;
    const { attributesToRetrieve: retrieved, attributesToHighlight: highlight } = params;
    const out = selected(document, this.#shown(retrieved ?? ['*']));
    const crop = params.attributesToCrop ?? null;
    const named = [...(highlight ?? []), ...(crop ?? []).map(cropName)];
    if (this.#shown(named).length > 0) {
      out._formatted = formatDocument(
        selected(document, this.#shown([...(retrieved ?? ['*']), ...named])),
        matcher,
        {
          highlight: this.#shown(highlight ?? []),
          crop: crop?.filter((item) => this.#shown([cropName(item)]).length > 0) ?? null,
          cropLength: params.cropLength ?? 10,
          cropMarker: params.cropMarker ?? '…',
          preTag: params.highlightPreTag ?? '<em>',
          postTag: params.highlightPostTag ?? '</em>',
        },
      );
    }
    if (params.showMatchesPosition) {
      const whole = selected(document, this.#shown(['*']));
      out._matchesPosition = matchesPosition(whole, matcher) as unknown as Document;
    }
    const geo = (params.sort ?? [])
      .map((criterion) => GEO.exec(criterion))
      .find((match) => match !== null);
    const point = pointOf(out);
    if (geo && point !== null) {
      out._geoDistance = Math.round(distance(point, { lat: Number(geo[1]), lng: Number(geo[2]) }));
    }
    if (params.showRankingScore) out._rankingScore = score(hit.details);
    if (params.showRankingScoreDetails)
      out._rankingScoreDetails = describe(hit.details, (name) =>
        this.#isDisplayed(name),
      ) as Document;
    return out;
  }

  /**
   * The requested names that may be shown: displayed literally, and known. `*` means all displayed
   * ones.
   */
  #shown(names: readonly string[]): string[] {
    const displayed = this.settings.displayedAttributes ?? ['*'];
    return [...this.#knownNames].filter((name) =>
      names.includes('*')
        ? this.#isDisplayed(name)
        : names.includes(name) && (displayed.includes('*') || displayed.includes(name)),
    );
  }

  #isDisplayed(name: string): boolean {
    const displayed = this.settings.displayedAttributes ?? ['*'];
    return displayed.includes('*') || coveredBy(name, displayed) >= 0;
  }
}

/** The document reduced to these dotted names. */
function selected(document: Document, names: readonly string[]): Document {
  const walk = (value: Json, path: string): Json | undefined => {
    if (names.includes(path)) return value;
    if (!names.some((name) => name.startsWith(`${path}.`))) return undefined;
    if (Array.isArray(value)) {
      return value.map((item) => walk(item, path)).filter((item) => item !== undefined);
    }
    if (value === null || typeof value !== 'object') return undefined;
    return members(value, `${path}.`);
  };
  const members = (object: Document, prefix: string): Document => {
    const out: Document = {};
    for (const [key, value] of Object.entries(object)) {
      const part = walk(value, prefix + key);
      if (part !== undefined) out[key] = part;
    }
    return out;
  };
  return members(document, '');
}

const isPaged = ({ page, hitsPerPage }: SearchParams): boolean =>
  (page ?? null) !== null || (hitsPerPage ?? null) !== null;
const isFull = (run: Run): boolean => run.hits.length >= run.wanted;
const isBelow = (details: readonly Detail[], run: Run): boolean =>
  run.threshold !== null && score(details) < run.threshold;

function exclude(candidates: readonly Candidate[], run: Run): void {
  for (const { document } of candidates) run.excluded[document] = 1;
}

interface Part {
  cost: number;
  /** The documents that are still wanted, and the paths they take. */
  open: (excluded: Uint8Array) => Bucket;
}

/**
 * Splits a bucket by cost. Paths are visited in order and take their documents with them: a path
 * stays in play only when it is the first of the cheapest for some document.
 */
function partition(bucket: Bucket, rule: rules.GraphRule): Part[] {
  const byCost = new Map<number, Taken[]>();
  for (const candidate of bucket.candidates) {
    let best: { cost: number; path: Path; order: number } | null = null;
    for (const [order, path] of bucket.paths.entries()) {
      const taken = rule.take(candidate, path);
      if (taken !== null && taken.cost < (best?.cost ?? Infinity)) best = { ...taken, order };
    }
    if (best === null) throw new Error('a document without a path');
    const part = byCost.get(best.cost);
    if (part === undefined) byCost.set(best.cost, [{ candidate, ...best }]);
    else part.push({ candidate, ...best });
  }
  return [...byCost].sort((a, b) => a[0] - b[0]).map(([cost, members]) => partOf(cost, members));
}

function partOf(cost: number, members: readonly Taken[]): Part {
  return {
    cost,
    open(excluded) {
      const here = members.filter(({ candidate }) => excluded[candidate.document] === 0);
      const paths = new Map<string, { order: number; path: Path }>();
      // Documents removed by distinct meanwhile still count for the paths.
      for (const { path, order } of members) {
        paths.set(
          `${order}:${path.map((step) => `${step.typos}${step.verbatim ? 'v' : ''}`).join()}`,
          { path, order },
        );
      }
      return {
        candidates: here.map(({ candidate }) => candidate),
        paths: [...paths.values()].sort((a, b) => a.order - b.order).map(({ path }) => path),
      };
    },
  };
}

export function score(details: readonly Detail[]): number {
  let rank = 1;
  let max = 1;
  for (const detail of details) {
    if (detail.max === 0) continue; // a sort criterion
    rank = (rank - 1) * detail.max + detail.rank;
    max *= detail.max;
  }
  return rank / max;
}

/** `_geoPoint(48.85, 2):asc`, with numbers in their shortest form. */
function label(rule: string): string {
  return rule.replace(
    /^_geoPoint\((.*),(.*)\)/,
    (_, lat, lng) => `_geoPoint(${Number(lat)}, ${Number(lng)})`,
  );
}

const cropName = (item: string): string => item.replace(/:[^:]*$/, '');

function describe(
  details: readonly Detail[],
  displayed: (name: string) => boolean,
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  let order = 0;
  for (const [i, { rule, rank, max, extra }] of details.entries()) {
    const part = rank / max;
    const next = details[i + 1];
    switch (rule) {
      case 'words':
        out.words = { order: order++, matchingWords: rank, maxMatchingWords: max, score: part };
        break;
      case 'typo':
        out.typo = { order: order++, typoCount: max - rank, maxTypoCount: max - 1, score: part };
        break;
      case 'attribute1':
        out.attribute = {
          order: order++,
          attributeRankingOrderScore: part,
          queryWordDistanceScore: next!.rank / next!.max,
          score: score([details[i]!, next!]),
        };
        break;
      case 'exactAttribute':
        out.exactness = {
          order: order++,
          ...extra,
          ...(rank === 1 ? { matchingWords: next!.rank - 1, maxMatchingWords: next!.max - 1 } : {}),
          score: rank === 1 ? score([details[i]!, next!]) : part,
        };
        break;
      case 'attribute2':
      case 'exactWords':
        break;
      default: {
        const field = rule.slice(0, rule.lastIndexOf(':'));
        if (max === 0 && !GEO.test(rule) && !displayed(field)) {
          out[`<hidden-rule-${order}>`] = { order: order++, value: '<hidden>' };
          break;
        }
        out[label(rule)] = { order: order++, ...extra, ...(max > 0 ? { score: part } : {}) };
      }
    }
  }
  return out;
}

/**
 * A search engine in plain loops: it reads every word of every document for every query. It exists to be
 * obviously right; the real engine is compared with it.
 */
import { Analyzer, type AnalyzerSettings } from './analyzer.ts';
import { CorpusBuilder, coveredBy, type Document, type Occurrences } from './corpus.ts';
import { buildSynonyms, Expander, Lexicon, type Node, type Synonyms, type TypoSettings } from './expand.ts';
import { parseQuery, type ParsedQuery } from './query.ts';
import {
  matches,
  matchPhrase,
  sequences,
  singleNodes,
  type Bucket,
  type Candidate,
  type Path,
  type Places,
  type State,
} from './match.ts';
import * as rules from './rank.ts';

export interface Settings extends AnalyzerSettings {
  rankingRules?: readonly string[];
  searchableAttributes?: readonly string[];
  filterableAttributes?: readonly unknown[];
  sortableAttributes?: readonly string[];
  displayedAttributes?: readonly string[];
  distinctAttribute?: string | null;
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

interface Plan {
  parsed: ParsedQuery;
  nodes: Node[];
  /** Slots that stay after 0, 1, 2 ... groups of terms were dropped, and how many were dropped. */
  stages: { kept: number[]; dropped: number }[];
  maxMatchingWords: number;
}

const DEFAULT_RULES = ['words', 'typo', 'proximity', 'attribute', 'sort', 'exactness'];
const RELEVANCY = new Set(['typo', 'proximity', 'attribute', 'attributeRank', 'wordPosition', 'exactness']);

export class Oracle {
  readonly settings: Settings;
  readonly documents: Document[] = [];
  #builder: CorpusBuilder;
  #occurrences: Occurrences | null = null;
  #lexicon!: Lexicon;
  #analyzer: Analyzer;
  #synonyms: Synonyms;
  #typo: TypoSettings;
  #searchable: readonly string[] | null;

  constructor(settings: Settings) {
    this.settings = settings;
    const listed = settings.searchableAttributes;
    this.#searchable = listed === undefined || listed.includes('*') ? null : listed;
    this.#builder = new CorpusBuilder(this.#searchable, settings);
    this.#analyzer = new Analyzer(settings);
    this.#synonyms = buildSynonyms(settings.synonyms ?? {}, this.#analyzer);
    const typo = settings.typoTolerance ?? {};
    const plain = new Analyzer();
    this.#typo = {
      enabled: typo.enabled ?? true,
      oneTypo: typo.minWordSizeForTypos?.oneTypo ?? 5,
      twoTypos: typo.minWordSizeForTypos?.twoTypos ?? 9,
      disableOnWords: new Set((typo.disableOnWords ?? []).map((word) => plain.words(word).join(''))),
    };
  }

  addDocuments(documents: Iterable<Document>): void {
    for (const document of documents) {
      this.documents.push(document);
      this.#builder.add(document);
    }
    this.#occurrences = this.#builder.finish();
    const exact = this.settings.typoTolerance?.disableOnAttributes ?? [];
    this.#lexicon = new Lexicon(
      this.#occurrences,
      (field) => coveredBy(field, exact) >= 0,
      this.settings.typoTolerance?.disableOnNumbers ?? false,
    );
  }

  search(params: SearchParams): Body {
    const ranked = this.rank(params);
    const offset = params.offset ?? 0;
    const limit = params.limit ?? 20;
    const hits = ranked.hits.slice(offset, offset + limit).map((hit) => this.#hit(hit, params));
    return {
      hits,
      query: params.q ?? '',
      limit,
      offset,
      estimatedTotalHits: ranked.total,
    };
  }

  /** Hits in order, as many as the request needs, and the size of the universe. */
  rank(params: SearchParams): { hits: Ranked[]; total: number } {
    const plan = this.plan(params);
    const { buckets, total } = this.#buckets(plan);
    const wanted = (params.offset ?? 0) + (params.limit ?? 20);
    const hits: Ranked[] = [];
    const applied = this.#rules(params);
    const withWords = applied[0] === 'words';
    for (const [k, bucket] of buckets) {
      const details: Detail[] = [];
      if (withWords) {
        const max = plan.maxMatchingWords;
        details.push({ rule: 'words', rank: max - plan.stages[k]!.dropped, max });
      }
      this.#refine(bucket, applied.slice(withWords ? 1 : 0), details, wanted, hits);
      if (hits.length >= wanted) break;
    }
    return { hits, total };
  }

  plan(params: SearchParams): Plan {
    const prefixSearch = this.settings.prefixSearch !== 'disabled';
    const parsed = parseQuery(params.q ?? '', this.#analyzer, prefixSearch);
    const expander = new Expander(this.#lexicon, this.#typo, this.#synonyms);
    const nodes = expander.graph(parsed.terms);
    return { parsed, nodes, ...this.#stages(parsed, params.matchingStrategy ?? 'last') };
  }

  #stages(parsed: ParsedQuery, strategy: string): Pick<Plan, 'stages' | 'maxMatchingWords'> {
    const all = parsed.terms.map((_, slot) => slot);
    const removable = all.filter((slot) => !parsed.terms[slot]!.phrase).reverse();
    if (removable.length === all.length) removable.pop();
    if (strategy === 'all') removable.length = 0;
    const stages = [{ kept: all, dropped: 0 }];
    for (let k = 1; k <= removable.length; k++) {
      const gone = new Set(removable.slice(0, k));
      stages.push({ kept: all.filter((slot) => !gone.has(slot)), dropped: k });
    }
    const phraseWords = parsed.terms
      .filter((term) => term.phrase)
      .reduce((n, term) => n + term.words.filter((word) => word !== null).length, 0);
    return { stages, maxMatchingWords: 1 + removable.length + Math.max(phraseWords - 1, 0) };
  }

  *#candidates(plan: Plan): Generator<Candidate> {
    const { starts, word, field, position } = this.#occurrences!;
    const lists: { node: Node; alternative: number }[][] = [[]];
    const role = new Uint32Array(this.#lexicon.texts.length);
    const roleOf = (id: number): { node: Node; alternative: number }[] => {
      if (role[id] === 0) role[id] = lists.push([]) - 1;
      return lists[role[id]!]!;
    };
    const flat: { node: Node; alternative: number }[] = [];
    for (const node of plan.nodes) {
      for (const [alternative, { words, phrases }] of node.alternatives.entries()) {
        flat.push({ node, alternative });
        for (const id of words) roleOf(id).push({ node, alternative: flat.length - 1 });
        for (const phrase of phrases) for (const id of phrase.words) if (id !== null) roleOf(id);
      }
    }
    for (let d = 0; d + 1 < starts.length; d++) {
      let byWord: Map<number, number[]> | null = null;
      for (let i = starts[d]!; i < starts[d + 1]!; i++) {
        if (role[word[i]!] === 0) continue;
        byWord ??= new Map();
        const place = field[i]! * 65536 + position[i]!;
        const places = byWord.get(word[i]!);
        if (places === undefined) byWord.set(word[i]!, [place]);
        else places.push(place);
      }
      if (byWord === null) continue;
      const states = new Map<Node, (State | undefined)[]>();
      const offered = (index: number): State => {
        const { node, alternative } = flat[index]!;
        let list = states.get(node);
        if (list === undefined) states.set(node, (list = []));
        return (list[node.alternatives[alternative]!.typos] ??= { places: [], phrases: [] });
      };
      for (const [id, places] of byWord) {
        for (const { alternative } of lists[role[id]!]!) offered(alternative).places.push(...places);
      }
      for (const [index, { node, alternative }] of flat.entries()) {
        for (const phrase of node.alternatives[alternative]!.phrases) {
          if (!matchPhrase(phrase, byWord)) continue;
          const end = (id: number | null | undefined): Places | null => (id == null ? null : byWord!.get(id)!);
          offered(index).phrases.push({ phrase, first: end(phrase.words[0]), last: end(phrase.words.at(-1)) });
        }
      }
      if (states.size > 0) yield { document: d, byWord, states };
    }
  }

  /** The documents that match, by the number of groups of terms that had to be dropped. */
  #buckets(plan: Plan): { buckets: [number, Bucket][]; total: number } {
    const paths = plan.stages.map(({ kept }) =>
      sequences(plan.nodes, kept).map((nodes): Path => nodes.map((node) => ({ node, typos: null, verbatim: false }))),
    );
    const used = paths.map((list) => list.map(() => false));
    const buckets = plan.stages.map((): Candidate[] => []);
    let total = 0;
    for (const candidate of this.#candidates(plan)) {
      const k = paths.findIndex((list) => list.some((path) => matches(candidate, path)));
      if (k < 0) continue;
      total++;
      used[k]![paths[k]!.findIndex((path) => matches(candidate, path))] = true;
      buckets[k]!.push(candidate);
    }
    const out = buckets.map((candidates, k): [number, Bucket] => [
      k,
      { candidates, paths: paths[k]!.filter((_, i) => used[k]![i]) },
    ]);
    return { buckets: out.filter(([, { candidates }]) => candidates.length > 0), total };
  }

  #rules(params: SearchParams): string[] {
    const out: string[] = [];
    const words = params.matchingStrategy !== 'all';
    for (const rule of this.settings.rankingRules ?? DEFAULT_RULES) {
      if (RELEVANCY.has(rule) && words && !out.includes('words')) out.push('words');
      if (rule === 'words' && !words) continue;
      if (!out.includes(rule)) out.push(rule);
    }
    return out;
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

  #refine(bucket: Bucket, left: string[], details: Detail[], wanted: number, hits: Ranked[]): void {
    if (hits.length >= wanted) return;
    const rule = left[0];
    if (rule === undefined) {
      for (const { document } of bucket.candidates) hits.push({ document, details });
      return;
    }
    const rest = left.slice(1);
    const context = this.context;
    const graph = (graphRule: rules.GraphRule, after: string[], more: (cost: number, max: number) => Detail): void => {
      const max = Math.max(...bucket.paths.map((path) => graphRule.max(path)));
      for (const [cost, inner] of partition(bucket, graphRule)) {
        this.#refine(inner, after, [...details, more(cost, max)], wanted, hits);
        if (hits.length >= wanted) return;
      }
    };
    const plain = (name: string) => (cost: number, max: number): Detail => ({ rule: name, rank: max + 1 - cost, max: max + 1 });
    switch (rule) {
      case 'typo':
        return graph(rules.typoRule, rest, plain('typo'));
      case 'proximity':
        return graph(rules.proximityRule(context), rest, plain('proximity'));
      case 'attribute':
        return graph(rules.attributeRankRule(context), ['wordPosition', ...rest], plain('attributeRank'));
      case 'attributeRank':
        return graph(rules.attributeRankRule(context), rest, plain('attributeRank'));
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
        for (const [i, candidates] of parts.entries()) {
          if (candidates.length === 0) continue;
          const detail = { rule: 'exactAttribute', rank: 3 - i, max: 3, extra: { matchType: types[i] } };
          this.#refine({ candidates, paths: bucket.paths }, ['exactWords', ...rest], [...details, detail], wanted, hits);
          if (hits.length >= wanted) return;
        }
        return;
      }
      default:
        return this.#refine(bucket, rest, details, wanted, hits);
    }
  }

  #hit(hit: Ranked, params: SearchParams): Document {
    const document = this.documents[hit.document]!;
    const out: Document = {};
    for (const name of params.attributesToRetrieve ?? Object.keys(document)) {
      if (name in document) out[name] = document[name]!;
    }
    if (params.showRankingScore) out._rankingScore = score(hit.details);
    if (params.showRankingScoreDetails) out._rankingScoreDetails = describe(hit.details) as Document;
    return out;
  }
}

/**
 * Splits a bucket by cost. Paths are visited in order and take their documents with them: a path stays in
 * play only when it is the first of the cheapest for some document.
 */
function partition(bucket: Bucket, rule: rules.GraphRule): [cost: number, Bucket][] {
  const byCost = new Map<number, { candidates: Candidate[]; paths: Map<string, { order: number; path: Path }> }>();
  for (const candidate of bucket.candidates) {
    let best: { cost: number; path: Path; order: number } | null = null;
    for (const [order, path] of bucket.paths.entries()) {
      const taken = rule.take(candidate, path);
      if (taken !== null && taken.cost < (best?.cost ?? Infinity)) best = { ...taken, order };
    }
    if (best === null) throw new Error('a document without a path');
    let part = byCost.get(best.cost);
    if (part === undefined) byCost.set(best.cost, (part = { candidates: [], paths: new Map() }));
    part.candidates.push(candidate);
    const key = `${best.order}:${best.path.map((step) => `${step.typos}${step.verbatim ? 'v' : ''}`).join()}`;
    part.paths.set(key, best);
  }
  return [...byCost]
    .sort((a, b) => a[0] - b[0])
    .map(([cost, { candidates, paths }]) => [
      cost,
      { candidates, paths: [...paths.values()].sort((a, b) => a.order - b.order).map(({ path }) => path) },
    ]);
}

export function score(details: readonly Detail[]): number {
  let rank = 1;
  let max = 1;
  for (const detail of details) {
    rank = (rank - 1) * detail.max + detail.rank;
    max *= detail.max;
  }
  return rank / max;
}

function describe(details: readonly Detail[]): Record<string, unknown> {
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
      case 'attributeRank':
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
      case 'wordPosition':
      case 'exactWords':
        break;
      default:
        out[rule] = { order: order++, ...extra, ...(max > 0 ? { score: part } : {}) };
    }
  }
  return out;
}

/** Reads an application of Algolia by its documented REST API. */
import { elementsAt, membersAt } from '../base/json-spans.ts';
import { jsonBody } from '../outbound/api-peer.ts';
import type { Connection } from './connection.ts';
import { DEFAULT_RANKING_RULES } from '../contract/settings/ranking-rules.ts';
import {
  addGroup,
  addSynonyms,
  batched,
  type Connect,
  type ForeignIndex,
  type ForeignSource,
  listOf,
  notUnderstood,
  rawMembers,
  textsOf,
  writtenDocument,
} from './foreign-source.ts';

type Settings = Record<string, unknown>;

/** Maximum records and synonyms per page. */
const PAGE = 1000;
const PAGE_BYTES_MAX = 256 * 2 ** 20;
/** `desc(price)`, `unordered(title)`, `filterOnly(brand)`. */
const WRAPPED = /^(\w+)\((.*)\)$/;
/** Settings with a meaning that the target has no setting for, if they are set. */
const WITHOUT_COUNTERPART = [
  'removeStopWords',
  'ignorePlurals',
  'optionalWords',
  'decompoundedAttributes',
  'camelCaseAttributes',
  'customNormalization',
  'keepDiacriticsOnCharacters',
] as const;

export function algolia(connect: Connect, app: string, key: string): ForeignSource {
  const connection = connect({ 'x-algolia-application-id': app, 'x-algolia-api-key': key });
  return {
    address: connection.address,
    reach: () => connection.reach(),
    close: () => connection.close(),
    async indexes() {
      const all = await listed(connection);
      const isReplica = (item: Settings): boolean => typeof item.primary === 'string';
      const found: ForeignIndex[] = [];
      for (const item of all.filter((one) => !isReplica(one))) {
        const { name, entries } = item;
        if (typeof name !== 'string' || typeof entries !== 'number') {
          throw notUnderstood('an index without name or entries');
        }
        const settings = await connection.get<Settings>(`${pathOf(name)}/settings`);
        // A replica has another order of the same records: here a sort of the search.
        const orders: string[] = [];
        for (const replica of all.filter(({ primary }) => primary === name)) {
          const its = await connection.get<Settings>(`${pathOf(String(replica.name))}/settings`);
          orders.push(...ordersOf(its));
        }
        found.push({
          name,
          documents: entries,
          primaryKey: 'objectID',
          settings: {
            ...settingsOf(settings, orders),
            synonyms: await synonymsOf(connection, name),
          },
          notCopied: await notCopied(connection, name, settings),
        });
      }
      return found;
    },
    documents: ({ name }) => batched(documentsOf(connection, name)),
    aliases: () => Promise.resolve([]),
  };
}

const pathOf = (name: string): string => `/1/indexes/${encodeURIComponent(name)}`;

async function listed(connection: Connection): Promise<Settings[]> {
  const found: Settings[] = [];
  for (let page = 0; ; page++) {
    const path = `/1/indexes?page=${page}&hitsPerPage=100`;
    const { items, nbPages } = await connection.get<Settings>(path);
    found.push(...listOf(items, 'items'));
    if (typeof nbPages !== 'number' || page + 1 >= nbPages) return found;
  }
}

/** The attribute of `filterOnly(brand)` and its like, or of a plain name. */
const plain = (text: string): string => WRAPPED.exec(text)?.[2] ?? text;

/** `desc(price)` as `price:desc`; null: something else. */
function orderOf(text: string): string | null {
  const match = /^(asc|desc)\((.*)\)$/.exec(text);
  return match === null ? null : `${match[2]!}:${match[1]!}`;
}

function ordersOf({ ranking, customRanking, relevancyStrictness }: Settings): string[] {
  const rules = [
    ...textsOf(ranking),
    ...(relevancyStrictness === undefined ? [] : textsOf(customRanking)),
  ];
  return rules
    .map(orderOf)
    .filter((order) => order !== null)
    .map((order) => order.replace(/:\w+$/, ''));
}

/** The attributes of `searchableAttributes`, of which one entry may have several. */
function searchable(settings: Settings): string[] {
  const entries = textsOf(settings.searchableAttributes ?? settings.attributesToIndex);
  const names = entries.flatMap((entry) => entry.split(',').map((part) => plain(part.trim())));
  return names.length === 0 ? ['*'] : [...new Set(names)];
}

function settingsOf(settings: Settings, orders: readonly string[]): Settings {
  const [first, last] = [settings.ranking, settings.customRanking].map((rules) =>
    textsOf(rules)
      .map(orderOf)
      .filter((order) => order !== null),
  );
  const filterable = textsOf(settings.attributesForFaceting).map(plain);
  const number = (name: string): number | null =>
    typeof settings[name] === 'number' ? settings[name] : null;
  const typos: Settings = {};
  if (settings.typoTolerance === false || settings.typoTolerance === 'false') typos.enabled = false;
  const one = number('minWordSizefor1Typo');
  const two = number('minWordSizefor2Typos');
  if (one !== null && two !== null) typos.minWordSizeForTypos = { oneTypo: one, twoTypos: two };
  const notOn = textsOf(settings.disableTypoToleranceOnAttributes);
  if (notOn.length > 0) typos.disableOnAttributes = notOn;
  const words = textsOf(settings.disableTypoToleranceOnWords);
  if (words.length > 0) typos.disableOnWords = words;
  const distinct = settings.attributeForDistinct;
  const total = number('paginationLimitedTo');
  const values = number('maxValuesPerFacet');
  return {
    searchableAttributes: searchable(settings),
    filterableAttributes: [...new Set([...filterable, '_geo'])],
    sortableAttributes: [...new Set([...orders, '_geo'])],
    rankingRules: [...first!, ...DEFAULT_RANKING_RULES, ...last!],
    ...(Object.keys(typos).length > 0 ? { typoTolerance: typos } : {}),
    ...(typeof distinct === 'string' && distinct !== '' ? { distinctAttribute: distinct } : {}),
    ...(total === null ? {} : { pagination: { maxTotalHits: total } }),
    ...(values === null ? {} : { faceting: { maxValuesPerFacet: values } }),
    ...(typeof settings.separatorsToIndex === 'string'
      ? { nonSeparatorTokens: [...settings.separatorsToIndex] }
      : {}),
  };
}

async function notCopied(
  connection: Connection,
  name: string,
  settings: Settings,
): Promise<string[]> {
  const hidden = textsOf(settings.unretrievableAttributes);
  const isSet = (value: unknown): boolean =>
    Array.isArray(value)
      ? value.length > 0
      : value !== undefined && value !== null && value !== false;
  const others = WITHOUT_COUNTERPART.filter((one) => {
    const value = settings[one];
    return isSet(value) && value !== '' && JSON.stringify(value) !== '{}';
  });
  const rules = await connection.sendJson<Settings>('POST', `${pathOf(name)}/rules/search`, {
    query: '',
    hitsPerPage: 1,
  });
  const count = typeof rules.nbHits === 'number' ? rules.nbHits : 0;
  return [
    ...(hidden.length > 0
      ? [
          `unretrievableAttributes (${hidden.join(', ')}): searches show them until displayedAttributes lists the others`,
        ]
      : []),
    ...(others.length > 0 ? [`settings without a counterpart: ${others.join(', ')}`] : []),
    ...(count > 0 ? [`${count} of its rules: write them as search rules`] : []),
  ];
}

async function synonymsOf(connection: Connection, name: string): Promise<Record<string, string[]>> {
  const synonyms: Record<string, string[]> = {};
  for (let page = 0; ; page++) {
    const path = `${pathOf(name)}/synonyms/search`;
    const query = { query: '', page, hitsPerPage: PAGE };
    const hits = listOf((await connection.sendJson<Settings>('POST', path, query)).hits, 'hits');
    for (const { type, input, word, placeholder, ...one } of hits) {
      if (type === 'synonym') addGroup(synonyms, textsOf(one.synonyms));
      else if (type === 'oneWaySynonym')
        addSynonyms(synonyms, String(input), textsOf(one.synonyms));
      else if (placeholder === undefined)
        addSynonyms(synonyms, String(word), textsOf(one.corrections));
      else addSynonyms(synonyms, String(placeholder), textsOf(one.replacements));
    }
    if (hits.length < PAGE) return synonyms;
  }
}

async function* documentsOf(
  connection: Connection,
  name: string,
): AsyncGenerator<string, undefined> {
  let cursor: string | null = null;
  const seen = new Set<string>();
  for (;;) {
    const response = await connection.send({
      method: 'POST',
      path: `${pathOf(name)}/browse`,
      body: jsonBody(cursor === null ? { hitsPerPage: PAGE } : { cursor }),
      responseBytesMax: PAGE_BYTES_MAX,
    });
    // As text, so that numbers stay as they are written.
    const text = response.toString().trim();
    const page = rawMembers(text);
    const hits = page.get('hits');
    if (hits?.startsWith('[') !== true) throw notUnderstood('hits is not a list');
    for (const { begin, end } of elementsAt(hits, 0)) yield documentOf(hits.slice(begin, end));
    const next: unknown = JSON.parse(page.get('cursor') ?? 'null');
    if (typeof next !== 'string') return;
    if (seen.has(next)) throw notUnderstood('the same page comes again');
    seen.add(next);
    cursor = next;
  }
}

/** `_geoloc` becomes `_geo`. A record with several places gets the first. */
function documentOf(text: string): string {
  const members = rawMembers(text);
  let location = members.get('_geoloc');
  if (location?.startsWith('[') === true) {
    const first = elementsAt(location, 0)[0];
    location = first === undefined ? undefined : location.slice(first.begin, first.end);
  }
  if (
    location?.startsWith('{') === true &&
    membersAt(location, 0).some(({ name }) => name === 'lat')
  ) {
    members.set('_geo', location);
  }
  return writtenDocument(members);
}

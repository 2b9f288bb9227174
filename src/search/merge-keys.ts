/**
 * What hits of a federated search tell, so that another server can merge them with its own: score values, and keys that
 * are the same for the same document and for the same value of the distinct attribute wherever it is.
 */
import { JsonScanner } from '../base/json-scanner.ts';
import { covers, listed } from '../contract/fields.ts';
import type { MultiSearchQuery } from '../contract/search.ts';
import type { SettingsObject } from '../contract/settings.ts';
import { documentIdOf } from '../network/document-id.ts';
import { keyOfText } from '../network/document-key.ts';
import { valuesAt, withoutPaths } from '../network/listing.ts';
import { normalized } from '../network/merge-facets.ts';
import type { ScoreValue } from '../network/score-values.ts';

type Details = Record<string, { order: number; score?: number; similarity?: number | null }>;

/** Of `_rankingScoreDetails` of a hit. */
function scoreValues(details: Details, weight: number, global: number): ScoreValue[] {
  const rules = Object.entries(details).sort(([, a], [, b]) => a.order - b.order);
  const values = rules.flatMap(([name, rule]): ScoreValue[] => {
    if (name === 'vectorSort') return [{ vectorSort: Math.max(0, rule.similarity ?? 0) * weight }];
    if (rule.score !== undefined) return [{ weightedScore: rule.score * weight }];
    if (name.startsWith('<hidden')) return [{ sort: { asc: true, value: null } }];
    const asc = name.endsWith(':asc');
    if ('distance' in rule) return [{ geoSort: { asc, distance: rule.distance as number | null } }];
    if (!('value' in rule)) return [];
    return [{ sort: { asc, value: rule.value as string | number | null } }];
  });
  const isOneScore = values.length > 0 && values.every((value) => 'weightedScore' in value);
  return isOneScore ? [{ weightedScore: global }] : values;
}

/** A query that shows what the keys are made of. */
export interface KeyedQuery {
  query: MultiSearchQuery;
  /** Attributes that hold them; null: there is none, or it is not displayed. */
  primaryKey: string | null;
  distinct: string | null;
  weight: number;
  /** Members of hits that only the keys need. */
  cut: ReadonlySet<string>;
}

/** @param distinct of the whole request */
export function keyedQuery(
  query: MultiSearchQuery,
  settings: SettingsObject | undefined,
  primaryKey: string | null,
  distinct: string | null,
): KeyedQuery {
  const displayed = settings?.displayedAttributes ?? null;
  const shows = (attribute: string | null): attribute is string =>
    attribute !== null && listed(displayed, attribute);
  const wanted = query.distinct ?? distinct ?? settings?.distinctAttribute ?? null;
  const keys = {
    primaryKey: shows(primaryKey) ? primaryKey : null,
    distinct: shows(wanted) ? wanted : null,
  };
  const cut = new Set<string>();
  const retrieved = query.attributesToRetrieve ?? null;
  const added: string[] = [];
  const formatted = [...(query.attributesToHighlight ?? []), ...(query.attributesToCrop ?? [])];
  for (const attribute of new Set([keys.primaryKey, keys.distinct])) {
    if (attribute === null || listed(retrieved, attribute)) continue;
    added.push(attribute);
    cut.add(attribute);
    const isFormatted = formatted.some((item) => ['*', attribute].includes(item.split(':')[0]!));
    if (!isFormatted) cut.add(`_formatted.${attribute}`);
  }
  if (query.showRankingScoreDetails !== true) cut.add('_rankingScoreDetails');
  return {
    query: {
      ...query,
      showRankingScoreDetails: true,
      ...(added.length === 0 ? {} : { attributesToRetrieve: [...retrieved!, ...added] }),
    },
    ...keys,
    weight: query.federationOptions?.weight ?? 1,
    cut,
  };
}

/**
 * The answer of a federated search with the keys in `_federation`, without what only they need.
 * @param queries by position
 */
export async function withMergeKeys(
  answer: Buffer,
  queries: ReadonlyMap<number, KeyedQuery>,
): Promise<Buffer> {
  const attributes = [...new Set([...queries.values()].flatMap(({ distinct }) => distinct ?? []))];
  const parts: Buffer[] = [];
  let from = 0;
  const scanner = new JsonScanner(answer);
  await scanner.objectInTurns(async (member) => {
    if (member !== 'hits') return;
    await scanner.arrayInTurns(() => {
      const start = scanner.at;
      scanner.skip();
      parts.push(answer.subarray(from, start));
      from = scanner.at;
      parts.push(keyedHit(answer.subarray(start, from), queries, attributes));
    });
  });
  parts.push(answer.subarray(from));
  return Buffer.concat(parts);
}

/** @param attributes that some query is distinct by */
function keyedHit(
  hit: Buffer,
  queries: ReadonlyMap<number, KeyedQuery>,
  attributes: readonly string[],
): Buffer {
  let details: Details = {};
  let federation: { queriesPosition: number; weightedRankingScore: number } | undefined;
  let place = 0;
  const members: Record<string, unknown> = {};
  const scanner = new JsonScanner(hit);
  scanner.object((name) => {
    if (name === '_rankingScoreDetails') details = scanner.value() as Details;
    else if (name === '_federation') {
      place = scanner.at + 1;
      federation = scanner.value() as typeof federation;
    } else if (attributes.some((one) => covers(name, one))) {
      members[name] = scanner.value();
    }
  });
  const { weight, primaryKey, distinct, cut } = queries.get(federation!.queriesPosition)!;
  const keys = {
    weightedScoreValues: scoreValues(details, weight, federation!.weightedRankingScore),
    ...documentKey(hit, primaryKey),
    ...(distinct === null ? {} : { distinctKeys: distinctKeys(valuesAt(members, distinct)) }),
  };
  const text = Buffer.from(`${JSON.stringify(keys).slice(1, -1)},`);
  return withoutPaths(Buffer.concat([hit.subarray(0, place), text, hit.subarray(place)]), cut);
}

function documentKey(hit: Buffer, primaryKey: string | null): { documentKey?: string } {
  const id = primaryKey === null ? null : documentIdOf(hit, primaryKey);
  return id === null ? {} : { documentKey: keyOfText(id) };
}

/** Texts as filters compare them behind an s, numbers behind an n. */
function distinctKeys(values: readonly unknown[]): string[] {
  return values.flatMap((value) => {
    if (typeof value === 'number') return [keyOfText(`n${value}`)];
    const text = value === null ? '' : normalized(String(value));
    return text === '' ? [] : [keyOfText(`s${text}`)];
  });
}

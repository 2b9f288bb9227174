/** Settings of the formats 1 to 5, turned into those of the newest one. */

/** Settings of an index or of an update; what is not given stays so. */
export function legacySettings(old: Record<string, unknown>): Record<string, unknown> {
  const { attributesForFaceting, rankingRules, ...others } = old;
  const settings: Record<string, unknown> = { ...others };
  if (attributesForFaceting !== undefined) settings.filterableAttributes = attributesForFaceting;
  if (Array.isArray(rankingRules)) settings.rankingRules = legacyRules(rankingRules);
  else if (rankingRules !== undefined) settings.rankingRules = rankingRules;
  return settings;
}

/**
 * Settings of an index of format 1, where attributes for faceting are those for sorting as well.
 */
export function firstIndexSettings(old: Record<string, unknown>): Record<string, unknown> {
  const { attributesForFaceting: attributes } = old;
  const settings = legacySettings(old);
  return attributes === undefined ? settings : { ...settings, sortableAttributes: attributes };
}

/**
 * Settings of an update of format 1, where each one is `Nothing`, `Clear` or `{Update: value}`; the
 * names of ranking rules begin with capitals there.
 */
export function firstSettings(old: Record<string, unknown>): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const [name, change] of Object.entries(old)) {
    const key = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    if (key === 'primaryKey' || change === 'Nothing') continue;
    settings[key] = change === 'Clear' ? null : (change as { Update: unknown }).Update;
  }
  return firstIndexSettings(settings);
}

/**
 * `asc(price)` and `{Asc: price}` become `price:asc`; `wordsPosition` is a part of `attribute` now.
 */
function legacyRules(rules: readonly unknown[]): string[] {
  return rules.flatMap((rule) => {
    if (typeof rule === 'object' && rule !== null) {
      const [order, field] = Object.entries(rule)[0] ?? [];
      return order === undefined ? [] : [`${String(field)}:${order.toLowerCase()}`];
    }
    const text = String(rule);
    const sorted = /^(asc|desc)\((.*)\)$/i.exec(text);
    if (sorted !== null) return [`${sorted[2]}:${sorted[1]!.toLowerCase()}`];
    if (text.includes(':')) return [text];
    const name = text[0]!.toLowerCase() + text.slice(1);
    return name === 'wordsPosition' ? [] : [name];
  });
}

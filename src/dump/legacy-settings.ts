/** Converts settings of the formats 1 to 5 to the newest format. */

/** Converts the settings of an index or of an update. Absent settings stay absent. */
export function legacySettings(old: Record<string, unknown>): Record<string, unknown> {
  const { attributesForFaceting, rankingRules, ...others } = old;
  const settings: Record<string, unknown> = { ...others };
  if (attributesForFaceting !== undefined) settings.filterableAttributes = attributesForFaceting;
  if (Array.isArray(rankingRules)) settings.rankingRules = legacyRules(rankingRules);
  else if (rankingRules !== undefined) settings.rankingRules = rankingRules;
  return settings;
}

/**
 * Converts settings of an index of format 1, where attributes for faceting can also be sorted by.
 */
export function firstIndexSettings(old: Record<string, unknown>): Record<string, unknown> {
  const { attributesForFaceting: attributes } = old;
  const settings = legacySettings(old);
  return attributes === undefined ? settings : { ...settings, sortableAttributes: attributes };
}

/**
 * Converts settings of an update of format 1, where each setting is `Nothing`, `Clear` or
 * `{Update: value}`, and the names of ranking rules are capitalized.
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
 * Converts `asc(price)` and `{Asc: price}` to `price:asc`. Drops `wordsPosition`, which `attribute`
 * now includes.
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

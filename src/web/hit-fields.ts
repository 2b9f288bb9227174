/** Which fields of a hit are shown, and where. Pure functions. */

/** Members that a search adds to the document. */
const ADDED = new Set([
  '_formatted',
  '_rankingScore',
  '_rankingScoreDetails',
  '_matchesPosition',
  '_passages',
  '_geoDistance',
]);
const TITLES = ['title', 'name', 'label', 'headline', 'subject'];
/** Characters of a value that fit on a line with others. */
const SHORT = 45;
/** Short fields on a line. */
const SHORT_MAX = 5;

type Fields = Readonly<Record<string, unknown>>;

/** The names of the fields that are stored. */
export function storedFields(hit: Fields): string[] {
  return Object.keys(hit).filter((name) => !ADDED.has(name));
}

/**
 * The field to show as the title: one named like a title, otherwise the first text that is not the
 * id.
 */
export function titleField(hit: Fields, primaryKey: string | null): string | undefined {
  const texts = Object.keys(hit).filter(
    (name) => typeof hit[name] === 'string' && name !== primaryKey && name !== 'id',
  );
  return TITLES.find((name) => texts.includes(name)) ?? texts[0];
}

export interface Layouted {
  readonly title: string | undefined;
  /** Fields with short values, for one line. */
  readonly line: readonly string[];
  /** A field with a long text. */
  readonly text: string | undefined;
}

/** @param chosen fields to show; null: those that suit the hit */
export function arranged(
  hit: Fields,
  primaryKey: string | null,
  chosen: readonly string[] | null,
): Layouted {
  const title = titleField(hit, primaryKey);
  const others = (chosen ?? storedFields(hit)).filter((name) => name !== title && name in hit);
  const isLong = (name: string): boolean => {
    const value = hit[name];
    return typeof value === 'string' && value.length > SHORT && !isAddress(value);
  };
  const text = others.find(isLong);
  const line = others.filter((name) => name !== text && (chosen !== null || isShort(hit[name])));
  const shown = chosen === null ? line.filter((name) => name !== primaryKey) : line;
  return { title, text, line: chosen === null ? shown.slice(0, SHORT_MAX) : shown };
}

function isShort(value: unknown): boolean {
  if (Array.isArray(value)) {
    const members: readonly unknown[] = value;
    return members.length > 0 && members.length <= 8 && members.every(isScalarAndShort);
  }
  return isScalarAndShort(value);
}

function isScalarAndShort(value: unknown): boolean {
  if (typeof value === 'string') return value !== '' && value.length <= SHORT && !isAddress(value);
  return typeof value === 'number' || typeof value === 'boolean';
}

export function isAddress(value: unknown): value is string {
  return typeof value === 'string' && /^https?:\/\/\S+$/.test(value);
}

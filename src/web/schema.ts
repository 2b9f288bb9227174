/** JSON schemas that the server publishes, and changes of the values that they describe. */

/** The members of a schema that the page reads. */
export interface Schema {
  readonly type?: string | readonly string[];
  /** Absent: the name in words. Empty: the members stand among those around the object. */
  readonly title?: string;
  readonly description?: string;
  /** What the text is, such as `index-uid` or `moment`. */
  readonly 'x-format'?: string;
  /** Allowed values. If null is among them, the value may be null. */
  readonly enum?: readonly (string | null)[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly required?: readonly string[];
  /** The member cannot be changed. */
  readonly not?: object;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  /** For a setting: where the form shows it. For the object of settings: all groups, in order. */
  readonly 'x-group'?: string;
  readonly 'x-groups'?: readonly string[];
  /** For a setting that `GET /settings` shows only where it differs: its default. */
  readonly 'x-initial'?: unknown;
  /** For a list of names, or for true and false: what each does, in words. */
  readonly 'x-words'?: Readonly<Record<string, string>>;
  /** For a setting: the parts of the index that a change rebuilds for all documents. */
  readonly 'x-makes-anew'?: readonly string[];
}

/** The texts to choose from; undefined: any text is allowed. */
export function choices(schema: Schema | undefined): string[] | undefined {
  return schema?.enum?.filter((one) => one !== null);
}

export function takes(schema: Schema | undefined, type: string): boolean {
  const types = schema?.type;
  return typeof types === 'string' ? types === type : (types?.includes(type) ?? false);
}

/**
 * The value to send so that a setting changes from `before` to `after`. Where members can be null,
 * only changed members are sent, and null for removed ones: a secret that the server shows
 * shortened is not sent back.
 */
export function settingChange(
  schema: Schema | undefined,
  before: unknown,
  after: unknown,
): unknown {
  if (!isObject(before) || !isObject(after)) return after;
  const change: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (JSON.stringify(before[name]) === JSON.stringify(after[name])) continue;
    const member = schema?.properties?.[name] ?? schema?.additionalProperties;
    // Members that cannot be null are not merged: the object is replaced as a whole.
    if (typeof member !== 'object' || !takes(member, 'null')) return after;
    change[name] = name in after ? settingChange(member, before[name], after[name]) : null;
  }
  return change;
}

export type Values = Readonly<Record<string, unknown>>;

/** The members that differ, as {@link settingChange} sends them. */
export function changedMembers(schema: Schema | undefined, before: Values, after: Values): Values {
  const changed = Object.keys(after).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  return Object.fromEntries(
    changed.map((name) => [
      name,
      settingChange(schema?.properties?.[name], before[name], after[name]),
    ]),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

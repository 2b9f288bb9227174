/** Schemas as the server publishes them, and changes of what they describe. */

/** Of the schemas published, what the page reads. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  /** null among them: the value may be null. */
  readonly enum?: readonly (string | null)[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  /** Of a setting: what a change makes anew of all documents. */
  readonly 'x-makes-anew'?: readonly string[];
}

/** The texts that may be chosen from; undefined: any text. */
export function choices(schema: Schema | undefined): string[] | undefined {
  return schema?.enum?.filter((one) => one !== null);
}

export function takes(schema: Schema | undefined, type: string): boolean {
  const types = schema?.type;
  return typeof types === 'string' ? types === type : (types?.includes(type) ?? false);
}

/**
 * What to send so that a setting that was `before` becomes `after`: where members can be null,
 * those that changed alone, and null for those that are gone. So a secret that the server has shown
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
    // Such an object is replaced as a whole.
    if (typeof member !== 'object' || !takes(member, 'null')) return after;
    change[name] = name in after ? settingChange(member, before[name], after[name]) : null;
  }
  return change;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

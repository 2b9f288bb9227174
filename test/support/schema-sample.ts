/** Values that satisfy a JSON Schema, for the keywords that the published description uses. */

export interface JsonSchema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  oneOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  not?: object;
}

/** Texts for forms too narrow to match by chance: the first one that matches the pattern. */
const TEXTS = [
  ...['a', 'movies', 'word', ';', '2123-04-05T06:07:08Z', '2123-04-05', 'size:asc', '20 MiB'],
  ...['http://127.0.0.1:9/x', 'auto', 'X-Header', '*', 'été', '', 'two words'],
];

export class Sampler {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)]!;
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  value(schema: JsonSchema, depth = 0): unknown {
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return this.pick(schema.enum);
    const branches = schema.oneOf ?? schema.anyOf;
    if (branches !== undefined) {
      const { oneOf: _, anyOf: __, ...rest } = schema;
      return this.value({ ...rest, ...this.pick(branches) }, depth);
    }
    switch (this.pick([schema.type ?? ANY_TYPES].flat())) {
      case 'null':
        return null;
      case 'boolean':
        return this.chance(0.5);
      case 'integer':
        return this.#number(schema, Math.floor);
      case 'number':
        return this.#number(schema, (number) => number);
      case 'array':
        return this.#list(schema, depth);
      case 'object':
        return this.#object(schema, depth);
      default:
        return this.#text(schema);
    }
  }

  // Numbers beyond these have no exact double.
  #number({ minimum = -1e9, maximum = 1e9 }: JsonSchema, shape: (x: number) => number): number {
    if (this.chance(0.2)) return Math.max(minimum, Number.MIN_SAFE_INTEGER);
    if (this.chance(0.1)) return Math.min(maximum, Number.MAX_SAFE_INTEGER);
    const min = Math.max(minimum, -1e9);
    return shape(min + this.#random() * (Math.min(maximum, min + 20) - min));
  }

  #text({ pattern, format, minLength = 0 }: JsonSchema): string {
    if (format === 'uuid') return crypto.randomUUID();
    const form = new RegExp(pattern ?? '', 'u');
    const fit = TEXTS.filter((text) => form.test(text) && text.length >= minLength);
    if (fit.length === 0) throw new Error(`no text for ${pattern}`);
    return this.pick(fit);
  }

  #list({ items = {}, minItems = 0, maxItems = 3 }: JsonSchema, depth: number): unknown[] {
    const max = Math.max(minItems, Math.min(maxItems, depth > 4 ? 0 : 3));
    const length = minItems + Math.floor(this.#random() * (max - minItems + 1));
    return Array.from({ length }, () => this.value(items, depth + 1));
  }

  #object(schema: JsonSchema, depth: number): Record<string, unknown> {
    const { properties = {}, required = [], additionalProperties = true, propertyNames } = schema;
    const share = depth > 3 ? 0 : 4 / (4 + Object.keys(properties).length);
    const named = Object.entries(properties).filter(
      ([name, { not }]) => not === undefined && (required.includes(name) || this.chance(share)),
    );
    const object = Object.fromEntries(
      named.map(([name, member]) => [name, this.value(member, depth + 1)]),
    );
    if (additionalProperties === false || this.chance(0.5) || depth > 4) return object;
    const name = this.#text(propertyNames ?? {});
    const member = additionalProperties === true ? {} : additionalProperties;
    if (!Object.hasOwn(properties, name)) object[name] = this.value(member, depth + 1);
    return object;
  }
}

const ANY_TYPES = ['null', 'boolean', 'integer', 'string', 'array', 'object'];

/** Random requests, valid and invalid, over all routes of the OpenAPI description. */
import type { Schema } from '../../../src/contract/schema.ts';

export interface FuzzRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | null;
}

interface Parameter {
  name: string;
  in: 'path' | 'query';
  required: boolean;
  schema?: Schema;
  /** Instead of `schema`: the value is JSON. */
  content?: { 'application/json': { schema: Schema } };
}

interface Operation {
  parameters: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

export interface Description {
  paths: Record<string, Record<string, Operation>>;
}

/** Excluded routes, which would connect to other servers or fill the disk. */
const LEFT_OUT = [
  /^\/export$/,
  /^\/chats/,
  /^\/webhooks/,
  /^\/dumps$/,
  /^\/snapshots$/,
  /^\/(?:logs|tasks|batches)\/stream$/,
  /^\/network/,
];

const UIDS = [
  'books',
  'books',
  'books',
  'cities',
  'cities',
  'empty',
  'nowhere',
  'bad uid',
  'new-1',
];
const FIELDS = ['id', 'title', 'genres', 'year', 'n.deep', '_geo', '*', 'nope', '', 'n'];
const TEXTS = [
  ...[
    'dune',
    'the',
    '',
    ' ',
    '"a phrase',
    '-not',
    '進撃の巨人',
    'ภาษาไทย',
    '❤️',
    'e\u0301',
    '\u0000',
    '𝔘',
  ],
  ...['a'.repeat(2000), '漢字'.repeat(3000), 'x '.repeat(5000), '\\', '%', 'ＡＢＣ', 'İ', '*'],
];
const FILTERS = [
  ...[
    'year > 1900',
    'title = dune',
    'genres IN [a, b]',
    'NOT year EXISTS',
    'id 1 TO 5',
    'year IS NULL',
  ],
  ...[
    '_geoRadius(45, 9, 100000)',
    '_geoBoundingBox([50, 10], [40, 5])',
    'n.deep = 1',
    'title CONTAINS a',
  ],
  ...[
    'year >',
    '((((',
    'AND',
    "title = 'x",
    '_geoRadius(1)',
    'nope = 1',
    '',
    'title STARTS WITH d',
  ],
];
const SORTS = [
  'year:asc',
  'title:desc',
  '_geoPoint(1, 2):asc',
  'year',
  'nope:asc',
  'n.deep:desc',
  ':asc',
];
const ODD: unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e300, 2 ** 53, -(2 ** 63), 4294967296, 1e-300, '', 'x', [], {}],
  ...[[[]], [null], { a: 1 }, [1, 'a', {}], 'null', '0', '*', [[['deep']]]],
];

/** The server accepts heads of at most 64 KiB. */
const PATH_UNITS_MAX = 60_000;

export class Requests {
  readonly #random: () => number;
  readonly #operations: { method: string; path: string; operation: Operation }[];

  constructor(description: Description, random: () => number) {
    this.#random = random;
    this.#operations = Object.entries(description.paths)
      .filter(([path]) => !LEFT_OUT.some((pattern) => pattern.test(path)))
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
      );
  }

  next(): FuzzRequest {
    for (;;) {
      const request = this.#any();
      if (request.path.length < PATH_UNITS_MAX) return request;
    }
  }

  #any(): FuzzRequest {
    const { method, path, operation } = this.#pick(this.#operations);
    const query = operation.parameters
      .filter((parameter) => parameter.in === 'query')
      .filter(({ required }) => this.#chance(required ? 0.9 : 0.25))
      .map((parameter) => `${parameter.name}=${encodeURIComponent(this.#parameter(parameter))}`);
    if (this.#chance(0.03)) query.push(`odd=${encodeURIComponent(this.#pick(TEXTS))}`);
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(this.#pathParameter(name)),
    );
    const { body, type } = this.#body(operation);
    return {
      method: method.toUpperCase(),
      path: query.length === 0 ? filled : `${filled}?${query.join('&')}`,
      headers: {
        ...(body !== null && { 'content-type': type }),
        ...(this.#chance(0.3) && { 'accept-encoding': this.#pick(['gzip', 'br', 'deflate', '*']) }),
        ...(this.#chance(0.1) && { 'meili-include-metadata': 'true' }),
      },
      body,
    };
  }

  #pathParameter(name: string): string {
    if (name === 'index_uid') return this.#pick(UIDS);
    return this.#pick([
      '0',
      '1',
      '7',
      '999',
      'x',
      '-1',
      '4294967296',
      '18446744073709551615',
      'a b',
      '..',
    ]);
  }

  #parameter({ name, schema, content }: Parameter): string {
    if (content !== undefined) {
      const value = this.#value(name, content['application/json'].schema, 0);
      return JSON.stringify(value) ?? 'null';
    }
    const value = this.#value(name, schema!, 0);
    if (Array.isArray(value)) return value.map(String).join(',');
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  }

  #body({ requestBody }: Operation): { body: string | null; type: string } {
    const json = 'application/json';
    if (requestBody === undefined || this.#chance(0.02)) return { body: null, type: json };
    const types = Object.keys(requestBody.content);
    if (types.length > 1) return this.#documents();
    const type = this.#chance(0.02) ? this.#pick(['text/plain', 'application/x-ndjson']) : json;
    const { schema } = requestBody.content[json]!;
    let body = JSON.stringify(this.#value('', schema, 0)) ?? 'null';
    if (this.#chance(0.04)) body = this.#broken(body);
    if (this.#chance(0.01)) body = this.#huge(body);
    return { body, type };
  }

  #documents(): { body: string; type: string } {
    const document = (): object => ({
      ...(this.#chance(0.95) && { id: Math.floor(this.#random() * 200) }),
      title: this.#pick(TEXTS),
      year: this.#chance(0.8) ? Math.floor(this.#random() * 2000) : this.#pick(ODD),
      genres: this.#chance(0.8)
        ? ['a', 'b'].slice(Math.floor(this.#random() * 3))
        : this.#pick(ODD),
      ...(this.#chance(0.1) && { _geo: { lat: this.#random() * 180 - 90, lng: 3 } }),
      ...(this.#chance(0.1) && { n: this.#pick(ODD) }),
    });
    const list = Array.from({ length: Math.floor(this.#random() * 20) }, document);
    const kind = Math.floor(this.#random() * 3);
    const texts = [
      JSON.stringify(list),
      list.map((one) => JSON.stringify(one)).join('\n'),
      `id,title,year:number\n${list.map((_, i) => `${i},"${this.#pick(TEXTS)}",${i}`).join('\n')}`,
    ];
    const body = this.#chance(0.1) ? this.#broken(texts[kind]!) : texts[kind]!;
    return { body, type: ['application/json', 'application/x-ndjson', 'text/csv'][kind]! };
  }

  #broken(text: string): string {
    const at = Math.floor(this.#random() * text.length);
    return (
      text.slice(0, at) +
      this.#pick(['', ',', '}', '"', '\\', '1.0', '[', '\u0007']) +
      text.slice(at + 1)
    );
  }

  /** Replaces the first value by something long. */
  #huge(text: string): string {
    const size = 10 ** (3 + Math.floor(this.#random() * 4));
    const long = this.#pick([
      () => '[],'.repeat(size / 4).concat('[]'),
      () => `"${'x'.repeat(size)}"`,
      () => '\n'.repeat(size).concat('1'),
      () => '1.0,'.repeat(size / 4).concat('1'),
      () => '['.repeat(1000).concat(']'.repeat(1000)),
      () => `"${'漢字'.repeat(size / 4)}"`,
    ])();
    return text.replace(/:[^,}]*/, () => `:[${long}]`);
  }

  #value(name: string, schema: Schema, depth: number): unknown {
    if (this.#chance(0.04)) return this.#pick(ODD);
    if (name === 'filter') return this.#filter();
    if (name === 'sort') return this.#list(() => this.#pick(SORTS));
    if (name === 'indexUid') return this.#pick(UIDS);
    const option = schema.oneOf === undefined ? schema : this.#pick(schema.oneOf);
    const types = [option.type ?? this.#pick(['string', 'integer', 'object'] as const)].flat();
    switch (this.#pick(types)) {
      case 'null':
        return null;
      case 'boolean':
        return this.#chance(0.5);
      case 'integer':
        return this.#pick([0, 1, 2, 5, 20, 1000, 1_000_000, 2 ** 32, 2 ** 53]);
      case 'number':
        return this.#pick([0, 1, 0.5, 0.99, -1, 1e9, 3]);
      case 'array':
        if (/^(?:vector|ids)$/.test(name)) return this.#list(() => Math.floor(this.#random() * 9));
        if (/attributes|facets|fields/i.test(name)) return this.#list(() => this.#pick(FIELDS));
        return this.#list(() => this.#value('', option.items ?? {}, depth + 1));
      case 'object':
        return this.#object(option, depth);
      default:
        return option.enum === undefined ? this.#text(name) : this.#pick(option.enum);
    }
  }

  #text(name: string): string {
    if (/attribute|facetName|distinct|primaryKey/i.test(name)) return this.#pick(FIELDS);
    return this.#chance(0.2) ? this.#pick(FIELDS) : this.#pick(TEXTS);
  }

  #object(schema: Schema, depth: number): object {
    const entries = Object.entries(schema.properties ?? {})
      .filter(([name]) =>
        this.#chance(schema.required?.includes(name) === true ? 0.95 : depth === 0 ? 0.2 : 0.4),
      )
      .map(([name, property]) => [name, this.#value(name, property, depth + 1)] as const);
    const { additionalProperties: more } = schema;
    if (typeof more === 'object' && this.#chance(0.7)) {
      entries.push([this.#pick([...FIELDS, ...UIDS]), this.#value('', more, depth + 1)]);
    }
    if (this.#chance(0.03)) entries.push(['odd', this.#pick(ODD)]);
    return Object.fromEntries(entries);
  }

  #filter(): unknown {
    const one = (): string => this.#pick(FILTERS);
    switch (Math.floor(this.#random() * 4)) {
      case 0:
        return this.#list(() => (this.#chance(0.5) ? one() : this.#list(one)));
      case 1:
        return Array.from({ length: 1 + Math.floor(this.#random() * 5) }, one).join(
          this.#pick([' AND ', ' OR ', ' ', ' AND NOT ']),
        );
      default:
        return one();
    }
  }

  #list<T>(make: () => T): T[] {
    const length = this.#chance(0.02) ? 3000 : Math.floor(this.#random() * 4);
    return Array.from({ length }, make);
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!;
  }
}

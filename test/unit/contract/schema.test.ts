import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { JsonNumber } from '../../../src/base/json.ts';
import { EDIT_DOCUMENTS, FETCH_DOCUMENTS } from '../../../src/contract/documents.ts';
import { FORMATS, type FormatName } from '../../../src/contract/formats.ts';
import { PATCH_CHAT_SETTINGS } from '../../../src/contract/chats.ts';
import { EXPORT } from '../../../src/contract/export.ts';
import { PATCH_NETWORK } from '../../../src/contract/network.ts';
import { CREATE_INDEX, SWAP_INDEXES, UPDATE_INDEX } from '../../../src/contract/indexes.ts';
import { CREATE_KEY, PATCH_KEY } from '../../../src/contract/keys.ts';
import type { Schema } from '../../../src/contract/schema.ts';
import { validator } from '../../../src/contract/validator.ts';
import { FACET_SEARCH, MULTI_SEARCH, SEARCH, SIMILAR } from '../../../src/contract/search.ts';
import { SETTINGS_SCHEMA } from '../../../src/contract/settings.ts';
import { mulberry } from '../../support/random.ts';

const SCHEMAS: Record<string, Schema> = {
  SEARCH,
  MULTI_SEARCH,
  FACET_SEARCH,
  SIMILAR,
  SETTINGS_SCHEMA,
  CREATE_INDEX,
  UPDATE_INDEX,
  CREATE_KEY,
  PATCH_KEY,
  FETCH_DOCUMENTS,
  EDIT_DOCUMENTS,
  PATCH_NETWORK,
  PATCH_CHAT_SETTINGS,
  EXPORT,
  SWAP_INDEXES,
};

const PERSON: Schema = {
  type: 'object',
  properties: {
    name: {
      type: 'string',
      'x-code': 'invalid_api_key_name',
      'x-missing-code': 'missing_index_uid',
    },
    age: { type: ['integer', 'null'], minimum: 1, maximum: 130, 'x-code': 'invalid_index_limit' },
    tags: { type: 'array', items: { type: 'string' }, 'x-code': 'invalid_search_facets' },
    born: { not: {}, 'x-immutable-code': 'immutable_index_created_at' },
    home: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
      'x-code': 'invalid_index_uid',
      'x-key-code': 'invalid_index_offset',
    },
  },
  required: ['name'],
  additionalProperties: false,
};

type Faults = (value: unknown) => { code: string; message: string } | null;

function faults(schema: Schema): Faults {
  const { validate } = validator(schema);
  return (value) => {
    const outcome = validate(value);
    return outcome.ok ? null : { code: outcome.error.code, message: outcome.error.message };
  };
}

function fault(schema: Schema, value: unknown): ReturnType<Faults> {
  return faults(schema)(value);
}

function seeded(): () => number {
  const seed = Number(process.env.GANNET_SEED ?? Date.now() % 2 ** 31);
  console.log(`      seed ${seed}`);
  return mulberry(seed);
}

function shuffled<T>(list: T[], random: () => number): T[] {
  return list
    .map((one) => ({ one, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ one }) => one);
}

describe('A schema', () => {
  it('finds the first fault in the order of the payload', () => {
    assert.equal(fault(PERSON, { age: 0, tags: 3, name: 1 })!.code, 'invalid_index_limit');
    assert.equal(fault(PERSON, { tags: 3, age: 0, name: 1 })!.code, 'invalid_search_facets');
    assert.equal(fault(PERSON, { nope: 1, tags: 3 })!.code, 'bad_request');
    assert.equal(fault(PERSON, { tags: 3, nope: 1 })!.code, 'invalid_search_facets');
  });

  it('looks for missing keys only when all given ones are right', () => {
    assert.equal(fault(PERSON, { age: 'x' })!.code, 'invalid_index_limit');
    assert.equal(fault(PERSON, { age: 3 })!.code, 'missing_index_uid');
  });

  it('gives unknown and missing keys inside an object the code of that object', () => {
    assert.equal(fault(PERSON, { name: 'a', home: { town: 'x' } })!.code, 'invalid_index_offset');
    assert.equal(fault(PERSON, { name: 'a', home: {} })!.code, 'invalid_index_offset');
    assert.equal(fault(PERSON, { name: 'a', home: { city: 4 } })!.code, 'invalid_index_uid');
  });

  it('reports a key that exists but cannot be given', () => {
    const { code, message } = fault(PERSON, { born: 1 })!;
    assert.equal(code, 'immutable_index_created_at');
    assert.match(message, /`born`.*cannot be changed.*`name`/);
    assert.doesNotMatch(fault(PERSON, { nope: 1 })!.message, /`born`/);
  });

  it('says where a fault is, what was expected and what was found', () => {
    assert.equal(
      fault(PERSON, { name: 'a', tags: ['x', 3] })!.message,
      'Invalid value type at `.tags[1]`: expected a string, but found a positive integer: `3`.',
    );
    assert.equal(
      fault(PERSON, { name: 'a', home: { city: null } })!.message,
      'Invalid value type at `.home.city`: expected a string, but found null: `null`.',
    );
    assert.equal(
      fault(PERSON, [])!.message,
      'Invalid value type: expected an object, but found an array: `[]`.',
    );
    assert.match(fault(PERSON, { nmae: 'a' })!.message, /did you mean `name`/);
    assert.match(fault(PERSON, { name: 'a', home: { citi: 1 } })!.message, /inside `.home`/);
  });

  it('takes a marked number as a number but not as an integer', () => {
    const schema: Schema = {
      type: 'object',
      properties: { n: { type: 'number' }, i: { type: 'integer' } },
    };
    assert.equal(fault(schema, { n: new JsonNumber('2.0') }), null);
    assert.match(
      fault(schema, { i: new JsonNumber('2.0') })!.message,
      /expected an integer, but found a number/,
    );
  });

  it('reads a number that is no integer of 64 bits as a number within its limits', () => {
    const schema: Schema = {
      type: 'object',
      properties: { n: { type: 'number', minimum: 0, maximum: 1 }, o: { type: 'object' } },
    };
    assert.equal(fault(schema, { n: new JsonNumber('1.0') }), null);
    assert.match(fault(schema, { n: new JsonNumber('1e1') })!.message, /at `.n`: 10 is too large/);
    assert.match(fault(schema, { o: new JsonNumber('1e1') })!.message, /found a number/);
  });

  it('says where a fault is below names that a JSON pointer escapes', () => {
    const schema: Schema = {
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
    };
    assert.match(
      fault(schema, { 'a/b~c': { '0': 1 } })!.message,
      /at `.a\/b~c.0`: expected a string/,
    );
    assert.equal(fault(schema, JSON.parse('{"__proto__":{"x":1}}'))!.code, 'bad_request');
  });

  it('reports the fault of the first member that has one, whatever follows', () => {
    const random = seeded();
    let count = 0;
    for (const [name, schema] of Object.entries(SCHEMAS)) {
      const faultOf = faults(schema);
      // Missing keys are reported after all faults of present ones.
      const memberFault = faults({ ...schema, required: [] });
      for (let i = 0; i < 200; i++) {
        const value = sample(schema, random, 0);
        if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
        const members = shuffled(Object.entries(value), random);
        const first = members.map((one) => memberFault(Object.fromEntries([one]))).find(Boolean);
        if (first === undefined) continue;
        count++;
        const actual = faultOf(Object.fromEntries(members));
        assert.deepEqual(actual, first, `${name} ${JSON.stringify(members)}`);
      }
    }
    assert.ok(count > 100, `${count} faults`);
  });

  it('agrees with the keywords of ajv on what is valid', () => {
    const random = seeded();
    const ajv = new Ajv2020({ strict: false, validateFormats: true });
    for (const [name, check] of Object.entries(FORMATS)) {
      ajv.addFormat(name, (text: string) => check(text) === null);
    }
    ajv.addKeyword({
      keyword: 'x-ascending',
      type: 'object',
      validate: ([lower, upper]: [string, string], value: Record<string, unknown>) =>
        [value[lower], value[upper]].some((size) => typeof size !== 'number') ||
        Number(value[lower]) <= Number(value[upper]),
    });
    let valid = 0;
    let invalid = 0;
    for (const [name, schema] of Object.entries(SCHEMAS)) {
      const general = ajv.compile(comparable(schema));
      const { validate } = validator(schema);
      for (let i = 0; i < 400; i++) {
        const value = sample(schema, random, 0);
        const expected = general(value);
        const actual = validate(value).ok;
        assert.equal(
          actual,
          expected,
          `${name} ${JSON.stringify(value)} ${ajv.errorsText(general.errors)}`,
        );
        if (expected) valid++;
        else invalid++;
      }
    }
    assert.ok(valid > 500 && invalid > 500, `${valid} valid, ${invalid} invalid`);
  });
});

/** Parts that are checked elsewhere accept anything, even for the plain keywords. */
function comparable(schema: Schema): object {
  if (schema['x-checked-later'] === true) return {};
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties') {
      copy.properties = Object.fromEntries(
        Object.entries(value as Record<string, Schema>).map(([name, one]) => [
          name,
          comparable(one),
        ]),
      );
    } else if (key === 'oneOf') copy.oneOf = (value as Schema[]).map(comparable);
    else if (key === 'enum') {
      const types = Array.isArray(schema.type) ? schema.type : [schema.type];
      copy.enum = types.includes('null') ? [...(value as string[]), null] : value;
    } else if (
      ['items', 'additionalProperties', 'propertyNames'].includes(key) &&
      typeof value === 'object'
    ) {
      copy[key] = comparable(value as Schema);
    } else if (key === 'x-ascending' || !key.startsWith('x-')) copy[key] = value;
  }
  return copy;
}

const EXAMPLES: Record<FormatName, string> = {
  'index-uid': 'movies',
  'index-pattern': 'mov*',
  uuid: '4bc0887a-0e41-4f3b-935d-0c451dcee9c8',
  'key-date': '2123-04-05',
  'http-url': 'http://example.com/',
  'document-id': 'a-1',
  'ranking-rule': 'price:desc',
  'csv-delimiter': ';',
  size: '20 MiB',
  'sort-criterion': 'price:asc',
  moment: '2123-04-05T00:00:00Z',
  'rule-uid': 'rule',
  'header-name': 'X-Name',
  'header-value': 'value',
  auto: 'auto',
};

/** A value that often fits the schema and sometimes does not. */
function sample(schema: Schema, random: () => number, depth: number): unknown {
  if (random() < 0.03) return [null, true, 3, -1, 1.5, 'x y', [], {}][Math.floor(random() * 8)];
  const option = schema.oneOf?.[Math.floor(random() * schema.oneOf.length)];
  if (option !== undefined) return sample(option, random, depth);
  const types = Array.isArray(schema.type)
    ? schema.type
    : schema.type === undefined
      ? ['string']
      : [schema.type];
  switch (types[Math.floor(random() * types.length)]) {
    case 'null':
      return null;
    case 'boolean':
      return random() < 0.5;
    case 'integer':
      return Math.floor(random() * 12) - (random() < 0.05 ? 12 : 0);
    case 'number':
      return Math.round(random() * 110) / 100;
    case 'array':
      return Array.from({ length: Math.floor(random() * 3) }, () =>
        sample(schema.items ?? {}, random, depth + 1),
      );
    case 'object': {
      const object: Record<string, unknown> = {};
      for (const [name, property] of Object.entries(schema.properties ?? {})) {
        const wanted = schema.required?.includes(name) === true ? 0.95 : depth === 0 ? 0.1 : 0.4;
        if (property.not === undefined ? random() < wanted : random() < 0.02) {
          object[name] = sample(property, random, depth + 1);
        }
      }
      if (typeof schema.additionalProperties === 'object' && random() < 0.7) {
        object.movies = sample(schema.additionalProperties, random, depth + 1);
      }
      if (random() < 0.03) object['un known'] = 1;
      return object;
    }
    default:
      if (schema.enum !== undefined) return schema.enum[Math.floor(random() * schema.enum.length)];
      return schema.format === undefined ? 'text' : EXAMPLES[schema.format];
  }
}

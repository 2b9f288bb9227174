/** The OpenAPI 3.1 description, built from the routes and schemas that serve the requests. */
import { RawJson } from '../base/json.ts';
import { DATE_PATTERN, PUBLISHED_FORMS } from '../contract/formats.ts';
import { ERROR_CATALOGUE } from '../contract/errors.ts';
import { PATH_PARAMETERS } from '../contract/paths.ts';
import type { JsonType, Schema } from '../contract/schema.ts';
import type { Route } from './route.ts';

type Json = Record<string, unknown>;

const ERROR_SCHEMA = {
  type: 'object',
  properties: {
    message: { type: 'string' },
    code: { type: 'string' },
    type: { type: 'string', enum: ['invalid_request', 'internal', 'auth', 'system'] },
    link: { type: 'string' },
  },
  required: ['message', 'code', 'type', 'link'],
};

/** The description as JSON for `jsonString`. */
export function openApi(routes: readonly Route[], version: string): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    if (route.forNodes === true) continue;
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Gannet', version, license: { name: 'MIT', identifier: 'MIT' } },
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: ERROR_SCHEMA },
      responses: {
        Error: {
          description: 'Error',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
    },
  };
}

function operation(route: Route): Json {
  const words = route.path.split('/').filter((segment) => segment !== '');
  const name = [route.method.toLowerCase(), ...words.map((word) => word.replace(/\W+/g, '_'))];
  return {
    operationId: name.join('_'),
    summary: route.summary,
    ...(route.action === null
      ? { security: [] }
      : { security: [{ bearer: [] }], 'x-action': route.action }),
    parameters: [...pathParameters(route.path), ...queryParameters(route.query?.schema)],
    ...requestBody(route),
    responses: {
      [route.success]: success(route),
      ...Object.fromEntries(errorsOf(route).map((status) => [status, ERROR])),
      default: ERROR,
    },
  };
}

const ERROR = { $ref: '#/components/responses/Error' };

function success({
  response,
  responseType = 'application/json',
  otherResponseTypes = [],
}: Route): Json {
  if (response === undefined) return { description: 'Success' };
  const text = { schema: { type: 'string' } };
  return {
    description: 'Success',
    content: {
      [responseType]: response === 'text' ? text : { schema: published(response) },
      ...Object.fromEntries(otherResponseTypes.map((type) => [type, text])),
    },
  };
}

/** The statuses other than success that follow from the declaration of a route. */
function errorsOf({ path, action, query, body, errors = [] }: Route): number[] {
  const hasPathParameter = path.includes(':');
  return [
    ...(query !== undefined || body !== undefined || hasPathParameter ? [400] : []),
    ...(action === null ? [] : [401, 403]),
    ...(hasPathParameter ? [404] : []),
    ...(body === undefined ? [] : [413, 415]),
    ...(action === null ? [] : [429]),
    431,
    503,
    ...errors.map((code) => ERROR_CATALOGUE.get(code)!.status),
  ];
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: published(PATH_PARAMETERS[name!]!),
  }));
}

function queryParameters(schema: Schema | undefined): Json[] {
  const required = schema?.required ?? [];
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...parameterForm(property),
  }));
}

function parameterForm(property: Schema): Json {
  const { items } = property;
  switch (property['x-query']) {
    case 'json-or-text':
      return { content: { 'application/json': { schema: published(property) } } };
    case 'date-after':
    case 'date-before':
      return { schema: { ...published(property), anyOf: [{ pattern: DATE_PATTERN }, ANY] } };
    case 'sort-list':
      return listForm(property, { ...published(items!), pattern: SORT_ELEMENT });
    case 'star-list':
      return listForm(property, { anyOf: [listItem(items!), ANY] });
    case 'comma-list':
      return listForm(property, listItem(items!));
    default:
      return { schema: published(property) };
  }
}

const ANY = { const: '*' };

/**
 * An element of a sort in a query string: commas separate elements unless they are in parentheses.
 */
const SORT_ELEMENT =
  '^(?:[^,()\\s][^,()]*|_geoPoint\\(-?[1-8]?\\d(?:\\.\\d+)?,\\s*-?(?:1[0-7]|[1-9])?\\d(?:\\.\\d+)?\\)):(?:asc|desc)$';

function listForm(property: Schema, items: Json): Json {
  return { style: 'form', explode: false, schema: { ...published(property), items } };
}

/** A text element must not be cut at a comma. */
function listItem(items: Schema): Json {
  const isFree = items.type === 'string' && items.format === undefined && items.enum === undefined;
  return isFree ? { ...published(items), pattern: '^[^,]+$' } : published(items);
}

function requestBody(route: Route): Json {
  if (route.body === undefined) return {};
  if (route.body === 'upload') {
    return {
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { type: ['array', 'object'], items: { type: 'object' } },
          },
          'application/x-ndjson': { schema: { type: 'string', minLength: 1 } },
          'text/csv': { schema: { type: 'string', minLength: 1 } },
        },
      },
    };
  }
  return {
    requestBody: {
      required: route.body.optional !== true,
      content: { 'application/json': { schema: published(route.body.schema) } },
    },
  };
}

/** Bounds of 64-bit integers, which JavaScript numbers cannot represent. */
const INTEGER_MAX = new RawJson('18446744073709551615');
const INTEGER_MIN = new RawJson('-9223372036854775808');

/**
 * The schema with what only its validator knows otherwise: formats as patterns, null among the
 * values of an enum, the bounds of integers.
 */
export function published(schema: Schema): Json {
  const {
    format,
    enum: names,
    properties,
    items,
    additionalProperties,
    propertyNames,
    oneOf,
  } = schema;
  const types: JsonType[] = schema.type === undefined ? [] : [schema.type].flat();
  return {
    ...schema,
    ...(format === undefined
      ? {}
      : { format: undefined, ...PUBLISHED_FORMS[format], 'x-format': format }),
    // A query parameter is absent rather than null.
    ...(schema.default === null && types.length > 0 && !types.includes('null')
      ? { default: undefined }
      : {}),
    ...(names !== undefined && types.includes('null') ? { enum: [...names, null] } : {}),
    ...(types.includes('integer')
      ? { minimum: schema.minimum ?? INTEGER_MIN, maximum: schema.maximum ?? INTEGER_MAX }
      : {}),
    ...(properties === undefined ? {} : { properties: publishedMembers(properties) }),
    ...(items === undefined ? {} : { items: published(items) }),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: published(additionalProperties) }
      : {}),
    ...(propertyNames === undefined ? {} : { propertyNames: published(propertyNames) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(published) }),
  };
}

function publishedMembers(properties: Readonly<Record<string, Schema>>): Json {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, published(property)]),
  );
}

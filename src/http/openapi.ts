/** The OpenAPI 3.1 description, made of the same routes and schemas that serve the requests. */
import type { Schema } from '../contract/schema.ts';
import type { Route } from './route.ts';

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

export function openApi(routes: readonly Route[], version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
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
    },
  };
}

function operation(route: Route): Record<string, unknown> {
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
      [route.success]: { description: 'Success' },
      default: {
        description: 'Error',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  };
}

function pathParameters(path: string): object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters(schema: Schema | undefined): object[] {
  const required = schema?.required ?? [];
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(property.type === 'array' ? { style: 'form', explode: false } : {}),
    schema: property,
  }));
}

function requestBody(route: Route): object {
  if (route.body === undefined) return {};
  if (route.body === 'upload') {
    return {
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { type: ['array', 'object'], items: { type: 'object' } },
          },
          'application/x-ndjson': { schema: { type: 'string' } },
          'text/csv': { schema: { type: 'string' } },
        },
      },
    };
  }
  return {
    requestBody: {
      required: route.body.optional !== true,
      content: { 'application/json': { schema: route.body.schema } },
    },
  };
}

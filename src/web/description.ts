/**
 * What the server publishes of its interface (`/openapi.json`): lists and explanations that the
 * page shows come from there.
 */
import type { Client } from './client.ts';
import { choices, type Schema } from './schema.ts';

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly schema: Schema }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
}

export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

let asked: Promise<Description> | null = null;

/** Asked for once. */
export function description(client: Client): Promise<Description> {
  asked ??= client.send<Description>('GET', '/openapi.json').catch((error: unknown) => {
    asked = null;
    throw error;
  });
  return asked;
}

/** Settings by name, in the order of GET. */
export function settingSchemas({ paths }: Description): Readonly<Record<string, Schema>> {
  return bodySchema(paths, '/indexes/{index_uid}/settings', 'patch').properties ?? {};
}

export function workspaceSchema({ paths }: Description): Schema {
  return bodySchema(paths, '/chats/{workspace}/settings', 'patch');
}

export function keyActions({ paths }: Description): readonly string[] {
  return choices(bodySchema(paths, '/keys', 'post').properties?.actions?.items) ?? [];
}

/** Values that the query parameter `name` of the list of tasks takes. */
export function taskFilterValues({ paths }: Description, name: string): readonly string[] {
  const parameter = paths['/tasks']?.get?.parameters.find((one) => one.name === name);
  const { items } = parameter?.schema ?? {};
  // An element of a list, or `*`.
  return choices(items?.anyOf?.[0] ?? items) ?? choices(parameter?.schema) ?? [];
}

function bodySchema(paths: Description['paths'], path: string, method: string): Schema {
  return paths[path]?.[method]?.requestBody?.content['application/json']?.schema ?? {};
}

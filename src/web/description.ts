/**
 * The interface description that the server publishes (`/openapi.json`). Lists and explanations on
 * the page come from it.
 */
import type { Client } from './client.ts';
import { useLoaded } from './hooks.ts';
import { choices, type Schema } from './schema.ts';
import { useSession } from './session.ts';

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly schema: Schema }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
}

export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

let pending: Promise<Description> | null = null;

/** Requested once per page load. */
export function description(client: Client): Promise<Description> {
  pending ??= client.send<Description>('GET', '/openapi.json').catch((error: unknown) => {
    pending = null;
    throw error;
  });
  return pending;
}

/** The schemas of settings by name, in the order in which GET returns the settings. */
export function settingSchemas({ paths }: Description): Readonly<Record<string, Schema>> {
  return bodySchema(paths, '/indexes/{index_uid}/settings', 'patch').properties ?? {};
}

/** The names of the groups of settings, in order. */
export function settingGroups({ paths }: Description): readonly string[] {
  return bodySchema(paths, '/indexes/{index_uid}/settings', 'patch')['x-groups'] ?? [];
}

export function keyActions({ paths }: Description): readonly string[] {
  return choices(bodySchema(paths, '/keys', 'post').properties?.actions?.items) ?? [];
}

/** The values that the query parameter `name` of `GET /tasks` accepts. */
export function taskFilterValues(known: Description, name: string): readonly string[] {
  return choices(taskFilter(known, name)) ?? [];
}

/** What tasks do, by their type. */
export function taskTypeWords(known: Description): Readonly<Record<string, string>> {
  return taskFilter(known, 'types')?.['x-words'] ?? {};
}

function taskFilter({ paths }: Description, name: string): Schema | undefined {
  const parameter = paths['/tasks']?.get?.parameters.find((one) => one.name === name);
  const { items } = parameter?.schema ?? {};
  // The schema of a list element is `*` or one of the values.
  return items?.anyOf?.[0] ?? items ?? parameter?.schema;
}

/** The schema of the body of a request; undefined while the description is loading. */
export function useBodySchema(path: string, method: string): Schema | undefined {
  const { client } = useSession();
  const known = useLoaded(() => description(client), [client]).value;
  return known === undefined ? undefined : bodySchema(known.paths, path, method);
}

function bodySchema(paths: Description['paths'], path: string, method: string): Schema {
  return paths[path]?.[method]?.requestBody?.content['application/json']?.schema ?? {};
}

/** All settings of an index, with what is known about each. */
import type { Client } from './client.ts';
import { description, settingGroups, settingSchemas } from './description.ts';
import { settingsOf } from './indexes.ts';
import { complete, type Schemas, type Values } from './settings-draft.ts';

export interface LoadedSettings {
  readonly values: Values;
  readonly schemas: Schemas;
  readonly groups: readonly string[];
}

export async function allSettings(
  client: Client,
  uid: string,
  signal?: AbortSignal,
): Promise<LoadedSettings> {
  const shown = await settingsOf(client, uid, signal);
  const known = await description(client);
  const schemas = settingSchemas(known);
  return { values: complete(shown, schemas), schemas, groups: settingGroups(known) };
}

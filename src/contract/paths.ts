/** Schemas of path parameters. */
import { INDEX_UID_SCHEMA, type Schema } from './schema.ts';
import { TASK_UID_MAX } from './tasks.ts';

const UID: Schema = { type: 'integer', minimum: 0, maximum: TASK_UID_MAX };

export const PATH_PARAMETERS: Readonly<Record<string, Schema>> = {
  index_uid: INDEX_UID_SCHEMA,
  alias: INDEX_UID_SCHEMA,
  document_id: { type: 'string', format: 'document-id' },
  task_uid: UID,
  batch_uid: UID,
  dump_uid: { type: 'string', minLength: 1 },
  key_or_uid: { type: 'string', minLength: 1 },
  /** Uuid of a webhook. */
  uuid: { type: 'string', format: 'uuid' },
  /** Uid of a dynamic search rule. */
  uid: { type: 'string', format: 'rule-uid' },
  /** Name of an embedder. */
  embedder: { type: 'string', minLength: 1 },
  workspace: INDEX_UID_SCHEMA,
};

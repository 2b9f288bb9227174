/** Schemas of path parameters. */
import { indexUid, integer, string } from './declare.ts';
import type { Schema } from './schema.ts';
import { TASK_UID_MAX } from './tasks.ts';

const UID = integer({ minimum: 0, maximum: TASK_UID_MAX });

export const PATH_PARAMETERS: Readonly<Record<string, Schema>> = {
  index_uid: indexUid(),
  alias: indexUid(),
  document_id: string({ format: 'document-id' }),
  task_uid: UID,
  batch_uid: UID,
  dump_uid: string({ minLength: 1 }),
  key_or_uid: string({ minLength: 1 }),
  /** Uuid of a webhook. */
  uuid: string({ format: 'uuid' }),
  /** Uid of a dynamic search rule. */
  uid: string({ format: 'rule-uid' }),
  /** Name of an embedder. */
  embedder: string({ minLength: 1 }),
  workspace: indexUid(),
  /** Id of a running search. */
  search_id: string({ minLength: 1 }),
};

/** Every type of task, in the order in which messages list them. */
import { aliasDeletion, aliasUpdate } from './aliases.ts';
import { documentAdditionOrUpdate, documentDeletion, documentEdition } from './documents.ts';
import {
  indexBranch,
  indexCompaction,
  indexCreation,
  indexDeletion,
  indexSwap,
  indexUpdate,
} from './indexes.ts';
import { taskCancelation, taskDeletion } from './on-tasks.ts';
import { dsrClear, dsrUpdate } from './search-rules.ts';
import { dumpCreation, exportType, networkTopologyChange, snapshotCreation } from './server.ts';
import { settingsUpdate } from './settings.ts';
import { reservedType } from './task-type.ts';

export const TASK_TYPE_ENTRIES = [
  documentAdditionOrUpdate,
  documentEdition,
  documentDeletion,
  settingsUpdate,
  indexCreation,
  indexDeletion,
  indexUpdate,
  indexSwap,
  taskCancelation,
  taskDeletion,
  dumpCreation,
  snapshotCreation,
  exportType,
  reservedType('databaseUpgrade', 'Upgrade the database', 14, { priority: 1, take: 'all' }),
  indexCompaction,
  networkTopologyChange,
  dsrUpdate,
  dsrClear,
  aliasUpdate,
  aliasDeletion,
  indexBranch,
] as const;

/** The functions that run batches, by kind. */
import type { TaskType } from '../contract/task-types.ts';
import type { BatchOutcome } from '../engine/native.ts';
import type { IndexEntry } from '../engine/registry.ts';
import type { BatchKind } from './batcher.ts';
import { runCompaction } from './run/compact.ts';
import { runCancelation } from './run/cancel.ts';
import { runDeletion } from './run/delete.ts';
import { runDocuments } from './run/documents.ts';
import { recoverEdition } from './run/edit.ts';
import {
  recoverIndexUpdate,
  runIndexCreation,
  runIndexDeletion,
  runIndexUpdate,
} from './run/indexes.ts';
import type { BatchTask, Runner, RunResult } from './run/run.ts';
import { runSettings } from './run/settings.ts';
import { runSwap } from './run/swap.ts';

/** Tasks of a kind that is missing here fail with `internal`. */
export const RUNNERS: Partial<Record<BatchKind, Runner>> = {
  taskCancelation: runCancelation,
  taskDeletion: runDeletion,
  indexSwap: runSwap,
  indexCreation: runIndexCreation,
  indexUpdate: runIndexUpdate,
  indexDeletion: runIndexDeletion,
  documents: runDocuments,
  indexCompaction: runCompaction,
  clear: runDocuments,
  settings: runSettings,
  clearAndSettings: runSettings,
};

/**
 * Reconstructs the ends of a batch that the engine has committed and the store has not recorded.
 */
export type Recovery = (
  tasks: readonly BatchTask[],
  outcome: BatchOutcome,
  indexUid: string,
  entry: IndexEntry,
) => RunResult;

/** By the type of the first task. Other types use `recoverDocuments`. */
export const RECOVERIES: Partial<Record<TaskType, Recovery>> = {
  indexUpdate: recoverIndexUpdate,
  documentEdition: recoverEdition,
};

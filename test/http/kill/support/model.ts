import { isDeepStrictEqual } from 'node:util';
import {
  type Doc,
  filterOf,
  indexesOf,
  type Operation,
  selectionOf,
  type Settings,
  short,
  tagOf,
  TASK_TYPE,
} from './operations.ts';

/**
 * The reference model of the server: Maps and loops. It is given the batches that the server has
 * run, in order, and computes the expected result. It does not model time, disks or crashes.
 */

/** The relevant part of a task as GET /tasks shows it. */
export interface SeenTask {
  uid: number;
  batchUid: number | null;
  indexUid: string | null;
  status: string;
  type: string;
  details: Record<string, unknown> | null;
  error: { code: string; message: string } | null;
  canceledBy: number | null;
  customMetadata?: string;
}

export interface ModelIndex {
  primaryKey: string | null;
  documents: Map<string, Doc>;
  settings: Settings;
}

interface Known {
  operation: Operation;
  /** Uids of indexes as shown now: swaps rename those of past tasks. */
  shownIndexes: string[];
}

interface End {
  status: 'succeeded' | 'failed' | 'canceled';
  /** Error code of a failure. */
  code?: string;
  /** The counter of the details. */
  result: number;
}

const NESTED_SETTINGS: ReadonlySet<string> = new Set(['typoTolerance', 'faceting', 'pagination']);

const succeeded = (result = 0): End => ({ status: 'succeeded', result });
const failed = (code: string): End => ({ status: 'failed', code, result: 0 });
const canceled: End = { status: 'canceled', result: 0 };

const ENDED: ReadonlySet<string> = new Set<string>(['succeeded', 'failed', 'canceled']);

export class Model {
  readonly indexes = new Map<string, ModelIndex>();
  readonly tasks = new Map<number, Known>();
  /** Requests without a response. */
  #unacknowledged = new Set<Operation>();
  readonly #acknowledged = new Map<number, Operation>();
  readonly #defaults: Settings;
  /** All batches below are applied. */
  nextBatchUid = 0;
  /** All tasks below have ended and are applied; those above are checked again. */
  nextUid = 0;
  /** Tasks above `nextUid` that have ended. */
  readonly #appliedBatchOf = new Map<number, number>();

  /** @param defaults settings of a new index */
  constructor(defaults: Settings) {
    this.#defaults = defaults;
  }

  /** Acknowledged: the server must run it. */
  acknowledge(uid: number, operation: Operation): void {
    const other = this.#acknowledged.get(uid) ?? this.tasks.get(uid)?.operation;
    if (other !== undefined) {
      throw new Error(
        `uid ${uid} was given to two requests: ${short(other)} and ${short(operation)}`,
      );
    }
    this.#acknowledged.set(uid, operation);
  }

  /** Sent, possibly accepted. */
  doubt(operation: Operation): void {
    this.#unacknowledged.add(operation);
  }

  get acknowledgedCount(): number {
    return this.#acknowledged.size;
  }

  /**
   * Compares the list of tasks with the requests: every acknowledged task once, every other one
   * from a request without a response.
   * @param seen all tasks from `nextUid` on, ascending, while no request is running
   */
  identify(seen: readonly SeenTask[]): void {
    let expected = this.nextUid;
    for (const task of seen) {
      if (task.uid !== expected) throw new Error(`task ${expected} is missing before ${task.uid}`);
      expected++;
      const known = this.#acknowledged.get(task.uid) ?? this.tasks.get(task.uid)?.operation;
      if (known !== undefined) {
        if (!isTaskOf(known, task)) {
          throw new Error(`task ${task.uid} is ${text(task)}, acknowledged was ${short(known)}`);
        }
        this.#know(task.uid, known);
        continue;
      }
      const origins = [...this.#unacknowledged].filter((operation) => isTaskOf(operation, task));
      // Some kinds differ only by their index; it identifies them unless a swap has renamed it.
      const origin =
        origins.find((operation) => indexesOf(operation)[0] === task.indexUid) ?? origins[0];
      if (origin === undefined) {
        throw new Error(`task ${task.uid} was never asked for, or is there twice: ${text(task)}`);
      }
      this.#unacknowledged.delete(origin);
      this.#know(task.uid, origin);
    }
    const lost = [...this.#acknowledged.keys()].filter((uid) => !this.tasks.has(uid));
    if (lost.length > 0) throw new Error(`acknowledged tasks are lost: ${lost.join(', ')}`);
    this.#acknowledged.clear();
    // The server is a new process: it will not accept earlier requests any more.
    this.#unacknowledged.clear();
  }

  #know(uid: number, operation: Operation): void {
    if (!this.tasks.has(uid)) {
      this.tasks.set(uid, { operation, shownIndexes: indexesOf(operation) });
    }
  }

  /**
   * Applies the batches that have ended since the last call, and compares the result of every task.
   * @param seen all tasks from `nextUid` on, identified
   */
  advance(seen: readonly SeenTask[]): void {
    const batches = new Map<number, SeenTask[]>();
    for (const task of seen) {
      if (!ENDED.has(task.status)) continue;
      if (task.batchUid === null) throw new Error(`an ended task has no batch: ${text(task)}`);
      if (task.batchUid < this.nextBatchUid) {
        // A batch that was applied before, kept in the list by older unfinished tasks.
        if (this.#appliedBatchOf.get(task.uid) === task.batchUid) continue;
        throw new Error(`task ${task.uid} joined batch ${task.batchUid} afterwards`);
      }
      const batch = batches.get(task.batchUid) ?? [];
      batches.set(task.batchUid, batch);
      batch.push(task);
    }
    const ascending = [...batches].sort(([a], [b]) => a - b);
    for (const [batchUid, tasks] of ascending) {
      if (batchUid === this.nextBatchUid + 1 && this.#ranConcurrently(tasks)) this.nextBatchUid++;
      if (batchUid !== this.nextBatchUid) {
        throw new Error(`batch ${this.nextBatchUid} is missing before ${batchUid}`);
      }
      const operations = tasks.map(({ uid }) => this.tasks.get(uid)!.operation);
      const ends = operations.some(({ kind }) => kind === 'cancel')
        ? cancel(tasks, operations)
        : this.#run(seen, tasks, operations);
      tasks.forEach((task, n) => checkEnd(task, operations[n]!, ends[n]!));
      for (const { uid } of tasks) this.#appliedBatchOf.set(uid, batchUid);
      this.nextBatchUid++;
    }
    for (const task of seen) this.#checkShown(task);
    while (this.#appliedBatchOf.delete(this.nextUid)) {
      const { operation } = this.tasks.get(this.nextUid)!;
      // A long run would keep every document that was ever sent.
      if (operation.kind === 'add') operation.documents = [];
      this.nextUid++;
    }
  }

  /**
   * Whether a batch may have run concurrently with a change of settings. If that change was
   * interrupted, its uid is not used again, because it would come before batches that had already
   * ended.
   */
  #ranConcurrently(tasks: readonly SeenTask[]): boolean {
    return tasks.every(({ uid }) => DOCUMENT_KINDS.has(this.tasks.get(uid)!.operation.kind));
  }

  /** Tasks applied long ago still exist, under the names that swaps have given their indexes. */
  review(all: readonly SeenTask[]): void {
    if (all.length !== this.tasks.size) {
      throw new Error(`${all.length} tasks are listed, not ${this.tasks.size}`);
    }
    for (const task of all) {
      if (!isTaskOf(this.tasks.get(task.uid)!.operation, task)) {
        throw new Error(`task ${task.uid} has become ${text(task)}`);
      }
      this.#checkShown(task);
    }
  }

  /** Tasks of one index run in the order of their uids. */
  #checkOrder(seen: readonly SeenTask[], batch: readonly SeenTask[]): void {
    const inBatch = new Set(batch.map(({ uid }) => uid));
    for (const { uid } of batch) {
      const indexes = indexesOf(this.tasks.get(uid)!.operation);
      for (const earlier of seen) {
        if (earlier.uid >= uid) break;
        if (inBatch.has(earlier.uid) || this.#appliedBatchOf.has(earlier.uid)) continue;
        const other = indexesOf(this.tasks.get(earlier.uid)!.operation);
        if (other.some((index) => indexes.includes(index))) {
          const { operation } = this.tasks.get(earlier.uid)!;
          throw new Error(
            `task ${uid} ran before task ${earlier.uid} of the same index: ` +
              `${text(earlier)}, from ${short(operation)}`,
          );
        }
      }
    }
  }

  #checkShown(task: SeenTask): void {
    const { operation, shownIndexes } = this.tasks.get(task.uid)!;
    const isOfOneIndex = operation.kind !== 'swap' && operation.kind !== 'cancel';
    const expected = isOfOneIndex ? shownIndexes[0] : null;
    if (task.indexUid !== expected) {
      throw new Error(`task ${task.uid} is shown with index ${task.indexUid}, not ${expected}`);
    }
    if (operation.kind !== 'swap') return;
    const swaps = [{ indexes: shownIndexes, rename: operation.rename }];
    if (!isDeepStrictEqual(task.details, { swaps })) {
      throw new Error(`task ${task.uid} is shown with ${text(task)}, not ${JSON.stringify(swaps)}`);
    }
  }

  #run(
    seen: readonly SeenTask[],
    tasks: readonly SeenTask[],
    operations: readonly Operation[],
  ): End[] {
    this.#checkOrder(seen, tasks);
    return this.#apply(
      operations,
      tasks.map(({ uid }) => uid),
    );
  }

  #apply(batch: readonly Operation[], uids: readonly number[]): End[] {
    const first = batch[0]!;
    switch (first.kind) {
      case 'create':
        return [this.#create(first)];
      case 'swap':
        return [this.#swap(first, uids[0]!)];
      case 'branch':
        return [this.#branch(first)];
      case 'cancel':
        throw new Error('a cancelation is no change');
      default:
        break;
    }
    const name = first.index;
    if (batch.some((operation) => operation.kind === 'deleteIndex')) {
      return this.#deleteIndex(name, batch);
    }
    const mayCreate = batch.some(
      (operation) =>
        operation.kind === 'add' || (operation.kind === 'settings' && operation.patch !== null),
    );
    let index = this.indexes.get(name);
    if (index === undefined) {
      if (!mayCreate) return batch.map(() => failed('index_not_found'));
      index = this.#newIndex(null);
      this.indexes.set(name, index);
    }
    if (batch.some(({ kind }) => kind === 'clear')) return clear(index, batch, this.#defaults);
    return batch.map((operation) => this.#change(index, operation));
  }

  #newIndex(primaryKey: string | null): ModelIndex {
    return { primaryKey, documents: new Map(), settings: structuredClone(this.#defaults) };
  }

  #create({ index, primaryKey }: Operation & { kind: 'create' }): End {
    if (this.indexes.has(index)) return failed('index_already_exists');
    this.indexes.set(index, this.#newIndex(primaryKey));
    return succeeded();
  }

  #branch({ index, branch }: Operation & { kind: 'branch' }): End {
    const origin = this.indexes.get(index);
    if (origin === undefined) return failed('index_not_found');
    if (this.indexes.has(branch)) return failed('index_already_exists');
    this.indexes.set(branch, structuredClone(origin));
    return succeeded();
  }

  #deleteIndex(name: string, batch: readonly Operation[]): End[] {
    const index = this.indexes.get(name);
    const couldCreate = batch.some(
      (operation) =>
        operation.kind === 'add' || (operation.kind === 'settings' && operation.patch !== null),
    );
    if (index === undefined && !couldCreate) return batch.map(() => failed('index_not_found'));
    this.indexes.delete(name);
    const documents = index?.documents.size ?? 0;
    return batch.map(({ kind }) => succeeded(kind === 'deleteIndex' ? documents : 0));
  }

  #swap({ pair, rename }: Operation & { kind: 'swap' }, uid: number): End {
    const [a, b] = pair;
    const [first, second] = [this.indexes.get(a), this.indexes.get(b)];
    if (first === undefined || (second === undefined && !rename)) return failed('index_not_found');
    if (rename && second !== undefined) return failed('index_already_exists');
    this.indexes.set(b, first);
    if (second === undefined) this.indexes.delete(a);
    else this.indexes.set(a, second);
    for (const [earlier, task] of this.tasks) {
      if (earlier >= uid) continue;
      task.shownIndexes = task.shownIndexes.map((name) => (name === a ? b : name === b ? a : name));
    }
    return succeeded();
  }

  #change(index: ModelIndex, operation: Operation): End {
    const { documents } = index;
    switch (operation.kind) {
      case 'add':
        return add(index, operation);
      case 'deleteIds':
        return succeeded(operation.ids.filter((id) => documents.delete(id)).length);
      case 'deleteFilter': {
        const { attribute, values } = operation;
        const filterable = index.settings['filterableAttributes'] as string[];
        if (!filterable.includes(attribute)) return failed('invalid_document_filter');
        let deleted = 0;
        for (const [id, document] of documents) {
          if (!values.includes(document[attribute] as number)) continue;
          documents.delete(id);
          deleted++;
        }
        return succeeded(deleted);
      }
      case 'settings':
        return changeSettings(index, operation.patch, this.#defaults);
      default:
        throw new Error(`${operation.kind} is not batched`);
    }
  }
}

/** Anything before the deletion of all documents has no effect; anything after it finds none. */
const DOCUMENT_KINDS: ReadonlySet<Operation['kind']> = new Set<Operation['kind']>([
  'add',
  'deleteIds',
  'deleteFilter',
  'clear',
]);

function clear(index: ModelIndex, batch: readonly Operation[], defaults: Settings): End[] {
  let documents = index.documents.size;
  index.documents.clear();
  return batch.map((operation) => {
    if (operation.kind === 'settings') return changeSettings(index, operation.patch, defaults);
    if (operation.kind !== 'clear') return succeeded(0);
    const deleted = documents;
    documents = 0;
    return succeeded(deleted);
  });
}

/**
 * A cancelation and the tasks that it has canceled are one batch, and these tasks have no effect.
 * Which of those that it names still wait when it runs, only the server knows.
 */
function cancel(batch: readonly SeenTask[], operations: readonly Operation[]): End[] {
  const ran = batch.filter(({ status }) => status !== 'canceled');
  const [first] = ran;
  if (ran.length !== 1 || first!.type !== TASK_TYPE.cancel) {
    throw new Error(`not one cancelation in a batch with one: ${ran.map(text).join(', ')}`);
  }
  return batch.map((task) => {
    if (task === first) return succeeded(batch.length - 1);
    if (task.canceledBy !== first!.uid || !isSelected(operations[batch.indexOf(first!)]!, task)) {
      throw new Error(`task ${task.uid} is none that ${first!.uid} cancels: ${text(task)}`);
    }
    return canceled;
  });
}

/** Whether a cancelation may cancel the task. */
function isSelected(operation: Operation, { uid, type }: SeenTask): boolean {
  if (operation.kind !== 'cancel') return false;
  const { selected } = operation;
  if (selected === 'everything') return true;
  return selected === 'additions' ? type === TASK_TYPE.add : selected.includes(uid);
}

function add(index: ModelIndex, operation: Operation & { kind: 'add' }): End {
  const { method, documents, skipCreation } = operation;
  if (documents.some((document) => document['id'] === undefined)) {
    return failed('missing_document_id');
  }
  // The only attribute whose name ends with `id`.
  if (documents.length > 0) index.primaryKey ??= 'id';
  else index.primaryKey ??= operation.primaryKey;
  for (const document of documents as Doc[]) {
    const stored = index.documents.get(document.id);
    if (stored === undefined && skipCreation) continue;
    index.documents.set(
      document.id,
      structuredClone(method === 'replace' ? document : { ...stored, ...document }),
    );
  }
  return succeeded(new Set((documents as Doc[]).map(({ id }) => id)).size);
}

function changeSettings(index: ModelIndex, patch: Settings | null, defaults: Settings): End {
  if (patch === null) index.settings = structuredClone(defaults);
  for (const [name, value] of Object.entries(patch ?? {})) {
    const stored = index.settings[name] as Settings;
    if (value === null) index.settings[name] = structuredClone(defaults[name]);
    else if (NESTED_SETTINGS.has(name)) {
      index.settings[name] = { ...stored, ...(value as Settings) };
    } else index.settings[name] = structuredClone(value);
  }
  return succeeded();
}

/** Whether the task can result from the request; uids of indexes may have been swapped since. */
function isTaskOf(operation: Operation, task: SeenTask): boolean {
  if (task.type !== TASK_TYPE[operation.kind]) return false;
  switch (operation.kind) {
    case 'add':
    case 'deleteIds':
    case 'deleteFilter':
    case 'clear':
      return task.customMetadata === tagOf(operation.serial);
    case 'settings':
      return isDeepStrictEqual(
        task.details,
        shownPatch(operation.patch ?? allNull(task.details ?? {})),
      );
    case 'create':
      return task.details?.['primaryKey'] === operation.primaryKey;
    case 'branch':
      return task.details?.['branchUid'] === operation.branch;
    case 'deleteIndex':
    case 'swap':
      return true;
    case 'cancel':
      return task.details?.['originalFilter'] === selectionOf(operation);
  }
}

function allNull(settings: Settings): Settings {
  return Object.fromEntries(Object.keys(settings).map((name) => [name, null]));
}

/** Two settings show a reset as their default. */
function shownPatch(patch: Settings): Settings {
  const shown = { ...patch };
  for (const name of ['displayedAttributes', 'searchableAttributes']) {
    if (shown[name] === null) shown[name] = ['*'];
  }
  return shown;
}

function checkEnd(task: SeenTask, operation: Operation, end: End): void {
  const expected = { status: end.status, code: end.code ?? null };
  const got = { status: task.status, code: task.error?.code ?? null };
  if (!isDeepStrictEqual(got, expected)) {
    throw new Error(
      `task ${task.uid} should have ended with ${JSON.stringify(expected)}: ` +
        `${text(task)}, from ${short(operation)}`,
    );
  }
  const details = detailsOf(task, operation, end);
  if (details !== null && !isDeepStrictEqual(task.details, details)) {
    throw new Error(
      `task ${task.uid} should have the details ${JSON.stringify(details)}: ` +
        `${text(task)}, from ${short(operation)}`,
    );
  }
}

/** null: compared elsewhere. */
function detailsOf(
  task: SeenTask,
  operation: Operation,
  { result }: End,
): Record<string, unknown> | null {
  switch (operation.kind) {
    case 'add':
      return { receivedDocuments: operation.documents.length, indexedDocuments: result };
    case 'deleteIds':
      return {
        providedIds: operation.ids.length,
        deletedDocuments: result,
        originalFilter: null,
      };
    case 'deleteFilter':
      return {
        providedIds: 0,
        deletedDocuments: result,
        originalFilter: JSON.stringify(filterOf(operation)),
      };
    case 'clear':
    case 'deleteIndex':
      return { deletedDocuments: result };
    case 'settings':
      return operation.patch === null ? null : shownPatch(operation.patch);
    case 'create':
      return { primaryKey: operation.primaryKey };
    case 'branch':
      return { branchUid: operation.branch, follow: false };
    case 'swap':
      return null;
    case 'cancel':
      // How many tasks it has matched, only the server knows.
      return { ...task.details, canceledTasks: result, originalFilter: selectionOf(operation) };
  }
}

function text(task: SeenTask): string {
  return JSON.stringify(task).slice(0, 1000);
}

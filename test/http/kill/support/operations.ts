/** Operations of the workload, as data: the model applies the same values that are sent. */

export type Doc = { id: string } & Record<string, unknown>;

export type Settings = Record<string, unknown>;

export type Operation = { serial: number } & (
  | {
      kind: 'add';
      index: string;
      method: 'replace' | 'update';
      /** One without `id` makes the task fail. */
      documents: Record<string, unknown>[];
      format: 'json' | 'ndjson';
      primaryKey: string | null;
      skipCreation: boolean;
    }
  | { kind: 'deleteIds'; index: string; ids: string[]; single: boolean }
  /** The documents whose `attribute` is one of the numbers. */
  | { kind: 'deleteFilter'; index: string; attribute: string; values: number[] }
  | { kind: 'clear'; index: string }
  /** null: every setting back to its default. */
  | { kind: 'settings'; index: string; patch: Settings | null }
  | { kind: 'create'; index: string; primaryKey: string | null }
  | { kind: 'deleteIndex'; index: string }
  | { kind: 'swap'; pair: [string, string]; rename: boolean }
  | { kind: 'branch'; index: string; branch: string }
  /** Cancels the tasks with these uids, or all tasks of these kinds. */
  | { kind: 'cancel'; selected: readonly number[] | 'everything' | 'additions' }
);

export interface Request {
  method: string;
  path: string;
  bytes?: Buffer;
  type?: string;
}

/**
 * The request of an operation. Document routes carry the serial number, which identifies the task.
 */
export function requestOf(operation: Operation): Request {
  const { serial } = operation;
  const json = (method: string, path: string, body: unknown): Request => ({
    method,
    path,
    bytes: Buffer.from(JSON.stringify(body)),
    type: 'application/json',
  });
  const documents = (index: string): string => `/indexes/${index}/documents`;
  const tag = `customMetadata=${tagOf(serial)}`;
  switch (operation.kind) {
    case 'add': {
      const { index, method, format, primaryKey, skipCreation } = operation;
      const query =
        tag +
        (primaryKey === null ? '' : `&primaryKey=${primaryKey}`) +
        (skipCreation ? '&skipCreation=true' : '');
      const text =
        format === 'json'
          ? JSON.stringify(operation.documents)
          : operation.documents.map((document) => `${JSON.stringify(document)}\n`).join('');
      return {
        method: method === 'replace' ? 'POST' : 'PUT',
        path: `${documents(index)}?${query}`,
        // An NDJSON body of no documents must not be empty.
        bytes: Buffer.from(text === '' ? '\n' : text),
        type: format === 'json' ? 'application/json' : 'application/x-ndjson',
      };
    }
    case 'deleteIds':
      return operation.single
        ? { method: 'DELETE', path: `${documents(operation.index)}/${operation.ids[0]}?${tag}` }
        : json('POST', `${documents(operation.index)}/delete-batch?${tag}`, operation.ids);
    case 'deleteFilter':
      return json('POST', `${documents(operation.index)}/delete?${tag}`, {
        filter: filterOf(operation),
      });
    case 'clear':
      return { method: 'DELETE', path: `${documents(operation.index)}?${tag}` };
    case 'settings':
      return operation.patch === null
        ? { method: 'DELETE', path: `/indexes/${operation.index}/settings` }
        : json('PATCH', `/indexes/${operation.index}/settings`, operation.patch);
    case 'create':
      return json('POST', '/indexes', {
        uid: operation.index,
        ...(operation.primaryKey === null ? {} : { primaryKey: operation.primaryKey }),
      });
    case 'deleteIndex':
      return { method: 'DELETE', path: `/indexes/${operation.index}` };
    case 'swap':
      return json('POST', '/swap-indexes', [
        { indexes: operation.pair, ...(operation.rename ? { rename: true } : {}) },
      ]);
    case 'branch':
      return json('POST', `/indexes/${operation.index}/branch`, { uid: operation.branch });
    case 'cancel':
      return { method: 'POST', path: `/tasks/cancel${selectionOf(operation)}` };
  }
}

/** The status of a response that accepts the request. */
export function acceptedStatus({ kind }: Operation): number {
  return kind === 'cancel' ? 200 : 202;
}

/** The query of a cancelation. The date selects nothing; it identifies the task, which shows it. */
export function selectionOf({ serial, selected }: Operation & { kind: 'cancel' }): string {
  const kinds = {
    everything: 'statuses=enqueued,processing',
    additions: 'types=documentAdditionOrUpdate',
  };
  const chosen = typeof selected === 'string' ? kinds[selected] : `uids=${selected.join(',')}`;
  return `?${chosen}&afterEnqueuedAt=2000-01-01T00:00:00.${String(serial).padStart(9, '0')}Z`;
}

export function tagOf(serial: number): string {
  return `op-${serial}`;
}

export function filterOf({ attribute, values }: { attribute: string; values: number[] }): string {
  return values.length === 1
    ? `${attribute} = ${values[0]}`
    : `${attribute} IN [${values.join(', ')}]`;
}

export const TASK_TYPE: Readonly<Record<Operation['kind'], string>> = {
  add: 'documentAdditionOrUpdate',
  deleteIds: 'documentDeletion',
  deleteFilter: 'documentDeletion',
  clear: 'documentDeletion',
  settings: 'settingsUpdate',
  create: 'indexCreation',
  deleteIndex: 'indexDeletion',
  swap: 'indexSwap',
  branch: 'indexBranch',
  cancel: 'taskCancelation',
};

/** The indexes an operation belongs to. */
export function indexesOf(operation: Operation): string[] {
  if (operation.kind === 'cancel') return [];
  if (operation.kind === 'branch') return [operation.index, operation.branch];
  return operation.kind === 'swap' ? operation.pair : [operation.index];
}

/** For messages. */
export function short(operation: Operation): string {
  if (operation.kind !== 'add') return JSON.stringify(operation);
  const { documents, ...rest } = operation;
  const ids = documents.slice(0, 5).map(({ id }) => id);
  return JSON.stringify({ ...rest, documents: documents.length, ids });
}

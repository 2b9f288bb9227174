import { isDeepStrictEqual } from 'node:util';
import type {
  FinalNode,
  FinalTask,
  HistoryEvent,
  KeysRead,
  KeyWrite,
  MarkRead,
  Outcome,
  TasksRead,
  TaskWrite,
} from './history.ts';

/** Statuses that a task keeps. */
const ENDED: ReadonlySet<string> = new Set(['succeeded', 'failed', 'canceled']);

/** The type of the tasks that cancel others. */
const CANCELATION = 'taskCancelation';

type Accepted<Write> = Write & { readonly outcome: Outcome & { readonly kind: 'accepted' } };

/**
 * What is wrong with a history, as sentences; none: nothing.
 *
 * - Acceptance is linearizable: a write that was sent after the response to another has a greater
 *   uid and a greater commit.
 * - Nothing accepted is lost, nothing refused is done, and nothing is done twice.
 * - A cancelation that succeeded has decided about everything that was accepted before it was sent:
 *   such a task has ended before, or is canceled and never runs. Nodes show both at once.
 * - A read that waits for a commit sees all writes up to it. What a node shows never goes back.
 * - In the end all nodes show the same.
 */
export function faultsOf(events: readonly HistoryEvent[], nodes: readonly FinalNode[]): string[] {
  const of = <Kind extends HistoryEvent['kind']>(
    kind: Kind,
  ): (HistoryEvent & { readonly kind: Kind })[] =>
    events.filter((event): event is HistoryEvent & { kind: Kind } => event.kind === kind);
  const writes = of('task');
  const keyWrites = of('key');
  const tasks = nodes[0]!.tasks;
  return [
    ...orderFaults([...accepted(writes), ...accepted(keyWrites)]),
    ...taskFaults(writes, tasks),
    ...cancelationFaults(accepted(writes), tasks),
    ...canceledReadFaults(of('tasks'), tasks),
    ...tasksReadFaults(of('tasks'), accepted(writes)),
    ...markFaults(of('mark'), tasks),
    ...keyFaults(keyWrites, of('keys'), nodes[0]!.keys),
    ...equalityFaults(nodes),
  ];
}

function accepted<Write extends TaskWrite | KeyWrite>(writes: readonly Write[]): Accepted<Write>[] {
  return writes.filter((write): write is Accepted<Write> => write.outcome.kind === 'accepted');
}

/**
 * Calls `visit` for each item with the greatest `value` of the earlier ones that had ended before
 * the item began.
 */
function withForerunners<Item extends { readonly begin: number }, Earlier>(
  items: readonly Item[],
  earlier: readonly (Earlier & { readonly end: number })[],
  value: (earlier: Earlier) => number,
  visit: (item: Item, greatest: number) => void,
): void {
  const byEnd = earlier.toSorted((a, b) => a.end - b.end);
  let next = 0;
  let greatest = -1;
  for (const item of items.toSorted((a, b) => a.begin - b.begin)) {
    while (next < byEnd.length && byEnd[next]!.end < item.begin) {
      greatest = Math.max(greatest, value(byEnd[next++]!));
    }
    visit(item, greatest);
  }
}

function orderFaults(writes: readonly Accepted<TaskWrite | KeyWrite>[]): string[] {
  const faults: string[] = [];
  withForerunners(
    writes,
    writes,
    ({ outcome }) => outcome.commit,
    ({ begin, outcome: { commit } }, before) => {
      if (commit > before) return;
      faults.push(`a write sent at ${begin} is commit ${commit}, after the response to ${before}`);
    },
  );
  const ofTasks = writes.filter((write): write is Accepted<TaskWrite> => write.kind === 'task');
  withForerunners(
    ofTasks,
    ofTasks,
    ({ outcome }) => outcome.uid,
    ({ begin, outcome: { uid } }, before) => {
      if (uid <= before) {
        faults.push(`a write sent at ${begin} is task ${uid}, after the response to ${before}`);
      }
    },
  );
  return faults;
}

function taskFaults(writes: readonly TaskWrite[], tasks: readonly FinalTask[]): string[] {
  const faults: string[] = [];
  tasks.forEach(({ uid }, n) => {
    if (uid !== n) faults.push(`task ${n} of the list has the uid ${uid}`);
  });
  const byUid = new Map(tasks.map((task) => [task.uid, task]));
  const known = new Map<number, TaskWrite>();
  for (const write of accepted(writes)) {
    const { uid } = write.outcome;
    const task = byUid.get(uid);
    if (known.has(uid)) faults.push(`two writes were accepted as task ${uid}`);
    known.set(uid, write);
    if (task === undefined) faults.push(`task ${uid} was accepted and is lost`);
    else if (task.type !== write.type || task.tag !== write.tag) {
      faults.push(`task ${uid} is ${task.type} ${task.tag}, not ${write.type} ${write.tag}`);
    }
    if (task !== undefined && !ENDED.has(task.status)) {
      faults.push(`task ${uid} has the status ${task.status} in the end`);
    }
  }
  const rest = tasks.filter(({ uid }) => !known.has(uid));
  const keyOf = ({ type, tag }: { type: string; tag: string | null }): string => `${type} ${tag}`;
  /** How many tasks may come of requests whose outcome is not known. */
  const possible = new Map<string, number>();
  for (const write of writes) {
    if (write.outcome.kind !== 'unknown') continue;
    possible.set(keyOf(write), (possible.get(keyOf(write)) ?? 0) + 1);
  }
  for (const task of rest) {
    const left = possible.get(keyOf(task)) ?? 0;
    possible.set(keyOf(task), left - 1);
    if (left <= 0) faults.push(`task ${task.uid} was refused, never sent, or is there twice`);
  }
  return faults;
}

function cancelationFaults(
  writes: readonly Accepted<TaskWrite>[],
  tasks: readonly FinalTask[],
): string[] {
  const faults: string[] = [];
  const byUid = new Map(tasks.map((task) => [task.uid, task]));
  for (const { uid, status, batchUid, canceledBy } of tasks) {
    if (status !== 'canceled' && canceledBy === null) continue;
    const by = canceledBy === null ? undefined : byUid.get(canceledBy);
    const isDone = by?.type === CANCELATION && by.status === 'succeeded';
    if (status !== 'canceled' || !isDone || by.batchUid !== batchUid) {
      faults.push(`task ${uid} is ${status} by ${canceledBy}, which has not canceled it`);
    }
  }
  for (const { begin, selected, outcome } of writes) {
    const cancelation = byUid.get(outcome.uid);
    if (selected === null || cancelation?.status !== 'succeeded') continue;
    for (const { end, type, outcome: earlier } of writes) {
      const task = byUid.get(earlier.uid);
      if (end >= begin || task === undefined || !isSelected(selected, type, task.uid)) continue;
      if (task.batchUid! <= cancelation.batchUid!) continue;
      faults.push(
        `task ${task.uid} ran in batch ${task.batchUid} after ${outcome.uid} canceled it`,
      );
    }
  }
  return faults;
}

function isSelected(
  selected: NonNullable<TaskWrite['selected']>,
  type: string,
  uid: number,
): boolean {
  if (selected === 'everything') return true;
  return selected === 'additions' ? type === 'documentAdditionOrUpdate' : selected.includes(uid);
}

/** What a cancelation has canceled ends with it. */
function canceledReadFaults(reads: readonly TasksRead[], tasks: readonly FinalTask[]): string[] {
  const faults: string[] = [];
  const cancelers = new Map(tasks.map(({ uid, canceledBy }) => [uid, canceledBy]));
  for (const read of reads) {
    const statuses = new Map(read.tasks.map(({ uid, status }) => [uid, status]));
    for (const [uid, status] of statuses) {
      const by = cancelers.get(uid) ?? null;
      const other = by === null ? undefined : statuses.get(by);
      if (other === undefined || (status === 'canceled') === (other === 'succeeded')) continue;
      faults.push(`${read.node} shows task ${uid} as ${status}, its cancelation as ${other}`);
    }
  }
  return faults;
}

function tasksReadFaults(
  reads: readonly TasksRead[],
  writes: readonly Accepted<TaskWrite>[],
): string[] {
  const faults: string[] = [];
  const newest = ({ tasks }: TasksRead): number => Math.max(-1, ...tasks.map(({ uid }) => uid));
  const byCommit = writes.toSorted((a, b) => a.outcome.commit - b.outcome.commit);
  let next = 0;
  let promised = -1;
  for (const read of reads.toSorted((a, b) => (a.waitedFor ?? -1) - (b.waitedFor ?? -1))) {
    const { waitedFor } = read;
    if (waitedFor === null) continue;
    // The commit of a response is that of the write or a later one.
    while (next < byCommit.length && byCommit[next]!.outcome.commit <= waitedFor) {
      promised = Math.max(promised, byCommit[next++]!.outcome.uid);
    }
    if (newest(read) >= promised) continue;
    faults.push(`${read.node} has waited for commit ${waitedFor} and lacks task ${promised}`);
  }
  for (const ofNode of byNode(reads)) {
    withForerunners(ofNode, ofNode, newest, (read, before) => {
      if (newest(read) >= before) return;
      faults.push(`${read.node} shows task ${newest(read)} as the newest after task ${before}`);
    });
    faults.push(...statusFaults(ofNode));
  }
  return faults;
}

/** @param reads of one node */
function statusFaults(reads: readonly TasksRead[]): string[] {
  const faults: string[] = [];
  /** The first read that showed a task as ended. */
  const ends = new Map<number, { status: string; end: number }>();
  for (const { tasks, end } of reads.toSorted((a, b) => a.end - b.end)) {
    for (const { uid, status } of tasks) {
      if (ENDED.has(status) && !ends.has(uid)) ends.set(uid, { status, end });
    }
  }
  for (const { node, tasks, begin } of reads) {
    for (const { uid, status } of tasks) {
      const ended = ends.get(uid);
      if (ended === undefined || ended.end >= begin || ended.status === status) continue;
      faults.push(`${node} shows task ${uid} as ${status} after ${ended.status}`);
    }
  }
  return faults;
}

function markFaults(reads: readonly MarkRead[], tasks: readonly FinalTask[]): string[] {
  const faults: string[] = [];
  const uids = new Map(tasks.map(({ tag, uid }) => [tag, uid]));
  const known = reads.filter(({ node, tag }) => {
    if (!uids.has(tag)) faults.push(`${node} shows the mark of ${tag}, which is no task`);
    return uids.has(tag);
  });
  const uidOf = ({ tag }: MarkRead): number => uids.get(tag)!;
  for (const ofNode of byNode(known)) {
    withForerunners(ofNode, ofNode, uidOf, (read, before) => {
      if (uidOf(read) >= before) return;
      faults.push(`${read.node} shows the mark of task ${uidOf(read)} after that of ${before}`);
    });
  }
  return faults;
}

function keyFaults(
  writes: readonly KeyWrite[],
  reads: readonly KeysRead[],
  final: readonly string[],
): string[] {
  const faults: string[] = [];
  const creations = new Map(
    writes.filter(({ method }) => method === 'create').map((write) => [write.name, write]),
  );
  const deletions = new Map(
    writes.filter(({ method }) => method === 'delete').map((write) => [write.name, write]),
  );
  const shown = new Set(final);
  if (shown.size !== final.length) faults.push('a key is there twice');
  for (const [name, { outcome }] of creations) {
    const deletion = deletions.get(name);
    const mayBeDeleted = deletion !== undefined && deletion.outcome.kind !== 'refused';
    if (outcome.kind === 'accepted' && !mayBeDeleted && !shown.has(name)) {
      faults.push(`the key ${name} was accepted and is lost`);
    }
    if (outcome.kind === 'refused' && shown.has(name)) {
      faults.push(`the key ${name} was refused and is there`);
    }
  }
  for (const name of shown) {
    if (!creations.has(name)) faults.push(`the key ${name} was never sent`);
    if (deletions.get(name)?.outcome.kind === 'accepted') {
      faults.push(`the key ${name} was deleted and is there`);
    }
  }
  for (const { node, waitedFor, names } of reads) {
    if (waitedFor === null) continue;
    for (const { name, outcome } of accepted([...creations.values()])) {
      if (outcome.commit > waitedFor || names.includes(name) || deletions.has(name)) continue;
      faults.push(`${node} has waited for commit ${waitedFor} and does not show the key ${name}`);
    }
    for (const { name, outcome } of accepted([...deletions.values()])) {
      if (outcome.commit > waitedFor || !names.includes(name)) continue;
      faults.push(`${node} has waited for commit ${waitedFor} and shows the deleted key ${name}`);
    }
  }
  return faults;
}

function equalityFaults(nodes: readonly FinalNode[]): string[] {
  const parts = ({ tasks, keys, digests }: FinalNode): Record<string, unknown> => ({
    ...{ tasks, keys },
    ...digests,
  });
  const [first, ...others] = nodes;
  const expected = parts(first!);
  return others.flatMap((other) => {
    const shown = parts(other);
    return [...new Set([...Object.keys(expected), ...Object.keys(shown)])]
      .filter((part) => !isDeepStrictEqual(shown[part], expected[part]))
      .map((part) => `${other.name} and ${first!.name} differ in ${part}`);
  });
}

function byNode<Read extends { readonly node: string }>(reads: readonly Read[]): Read[][] {
  const groups = new Map<string, Read[]>();
  for (const read of reads) {
    const group = groups.get(read.node);
    if (group === undefined) groups.set(read.node, [read]);
    else group.push(read);
  }
  return [...groups.values()];
}

/** `gannet tasks`: lists the tasks of a running server, or shows them as they finish. */
import { setTimeout as delay } from 'node:timers/promises';
import type { GivenOptions, Options } from '../base/options.ts';
import type { TaskView } from '../contract/responses.ts';
import { type Command, command, DONE, FAILED, type Terminal } from './command.ts';
import {
  type Connection,
  CONNECTION_OPTIONS,
  connectTo,
  DEFAULT_URL,
  type FinishedTask,
  resultsOf,
  RETRY_OPTIONS,
  serverUrl,
} from './connection.ts';

const PAGE = 1000;
/** Maximum number of waiting tasks that are polled at a time, oldest first. */
const WATCHED = 1000;
const POLL_MS = 500;
const CLEAR_LINE = '\r\x1b[K';

const OPTIONS = {
  watch: { kind: 'flag', help: 'Show each task when it ends, until interrupted.' },
  'until-idle': {
    kind: 'flag',
    help: 'With --watch: exit when no task waits or runs, with status 1 if a shown task failed.',
  },
  index: { kind: 'text', help: 'Only tasks of these indexes, separated by commas.' },
  status: { kind: 'text', help: 'Only tasks with these statuses; without --watch.' },
  type: { kind: 'text', help: 'Only tasks of these types.' },
  limit: {
    kind: 'count',
    initial: '20',
    min: 1,
    max: PAGE,
    help: 'How many of the newest tasks to show; without --watch.',
  },
  json: { kind: 'flag', help: 'Print tasks as JSON, one per line, as the server returns them.' },
  ...CONNECTION_OPTIONS,
  ...RETRY_OPTIONS,
} as const satisfies Options;

type Task = FinishedTask & Pick<TaskView, 'enqueuedAt' | 'duration'>;

interface Batch {
  progress: { percentage: number; steps: { currentStep: string }[] } | null;
}

export const tasksCommand: Command = command({
  name: 'tasks',
  summary: 'Shows the newest tasks of a server; with --watch each task as it ends.',
  operands: '',
  notes: '',
  examples: ['tasks --status failed --limit 5', 'tasks --watch --index books'],
  options: OPTIONS,
  async run(given, _, terminal) {
    const url = serverUrl('url', given.text('url') ?? DEFAULT_URL);
    const limit = given.values.limit;
    const connection = connectTo(url, given, terminal);
    try {
      await connection.reach();
      const list = new TaskList(connection, given, terminal);
      return given.flag('watch') ? await list.watch() : await list.show(limit);
    } finally {
      await connection.close();
    }
  },
});

class TaskList {
  readonly #connection: Connection;
  readonly #terminal: Terminal;
  readonly #isJson: boolean;
  readonly #untilIdle: boolean;
  readonly #status: string | null;
  /** Query parameters of every request for tasks. */
  readonly #filter: Record<string, string>;
  #failed = 0;

  constructor(connection: Connection, given: GivenOptions<typeof OPTIONS>, terminal: Terminal) {
    this.#connection = connection;
    this.#terminal = terminal;
    this.#isJson = given.flag('json');
    this.#untilIdle = given.flag('until-idle');
    this.#status = given.text('status');
    const [index, type] = [given.text('index'), given.text('type')];
    this.#filter = {
      ...(index === null ? {} : { indexUids: index }),
      ...(type === null ? {} : { types: type }),
    };
  }

  async show(limit: number): Promise<number> {
    const statuses = this.#status === null ? {} : { statuses: this.#status };
    for (const task of (await this.#page({ ...statuses, limit })).toReversed()) this.#print(task);
    return DONE;
  }

  async watch(): Promise<number> {
    const [newest] = await this.#page({ limit: 1 });
    let next = newest === undefined ? 0 : newest.uid + 1;
    const open = new Set(await this.#openUids());
    for (;;) {
      for (;;) {
        const page = await this.#page({ from: next, reverse: true, limit: PAGE });
        for (const { uid } of page) open.add(uid);
        if (page.length > 0) next = page.at(-1)!.uid + 1;
        if (page.length < PAGE) break;
      }
      const oldest = [...open].toSorted((a, b) => a - b).slice(0, WATCHED);
      const tasks = (await this.#connection.tasks(oldest)) as Task[];
      const ended = tasks.filter(({ status }) => status !== 'enqueued' && status !== 'processing');
      if (ended.length > 0) this.#showState('');
      for (const task of ended.toSorted((a, b) => a.uid - b.uid)) this.#print(task);
      const found = new Set(tasks.map(({ uid }) => uid));
      // Deleted tasks are no longer polled.
      for (const uid of oldest) if (!found.has(uid)) open.delete(uid);
      for (const { uid } of ended) open.delete(uid);
      if (this.#untilIdle && open.size === 0) return this.#failed === 0 ? DONE : FAILED;
      if (this.#terminal.complaints.isTTY === true) this.#showState(await this.#state(open.size));
      if (ended.length === 0) {
        await delay(POLL_MS, undefined, { signal: this.#terminal.signal });
      }
    }
  }

  async #openUids(): Promise<number[]> {
    const uids: number[] = [];
    for (let from: number | null = 0; from !== null;) {
      const query = { statuses: 'enqueued,processing', from, reverse: true, limit: PAGE };
      const page: Task[] = await this.#page(query);
      uids.push(...page.map(({ uid }) => uid));
      from = page.length < PAGE ? null : page.at(-1)!.uid + 1;
    }
    return uids;
  }

  async #page(query: Record<string, string | number | boolean>): Promise<Task[]> {
    const parameters = Object.entries({ ...this.#filter, ...query }).map(
      ([name, value]) => [name, String(value)] as [string, string],
    );
    const path = `/tasks?${new URLSearchParams(parameters).toString()}`;
    return resultsOf<Task>(await this.#connection.get(path));
  }

  async #state(waiting: number): Promise<string> {
    const path = '/batches?statuses=processing&limit=1';
    const [batch] = resultsOf<Batch>(await this.#connection.get(path));
    const progress = batch?.progress ?? null;
    const step = progress?.steps.at(-1)?.currentStep ?? '';
    const running = progress === null ? '' : `, ${progress.percentage.toFixed(0)} % ${step}`;
    return `${waiting} open${running}`;
  }

  /** Updates the status line at the bottom of a terminal. */
  #showState(line: string): void {
    if (this.#terminal.complaints.isTTY === true) {
      this.#terminal.complaints.write(`${CLEAR_LINE}${line}`);
    }
  }

  #print(task: Task): void {
    if (task.status === 'failed' || task.status === 'canceled') this.#failed++;
    this.#terminal.output.write(this.#isJson ? `${JSON.stringify(task)}\n` : lineOf(task));
  }
}

function lineOf({ uid, status, type, indexUid, enqueuedAt, duration, error }: Task): string {
  const cells = [
    String(uid).padStart(8),
    status.padEnd(10),
    type.padEnd(24),
    (indexUid ?? '-').padEnd(16),
    enqueuedAt.slice(0, 19),
    secondsOf(duration).padStart(9),
    error === null ? '' : `${error.code}: ${error.message}`,
  ];
  return `${cells.join(' ').trimEnd()}\n`;
}

/** The seconds of an ISO 8601 duration of days, hours, minutes and seconds. */
function secondsOf(duration: string | null): string {
  const match = /^P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?$/.exec(duration ?? '');
  if (match === null) return '-';
  const [, days = 0, hours = 0, minutes = 0, seconds = 0] = match;
  const all = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
  return `${all.toFixed(3)} s`;
}

/**
 * Simulates a server with event loops, engine threads and cores: how many searches per second it
 * serves, and how long they take.
 *
 * A search is received by the event loop of its connection, searched by any engine thread, and sent
 * by the same event loop. Each of these three steps occupies its thread, and a core; it waits for
 * both, loops before engine threads, in order of arrival. The steps are not interrupted. A step of
 * no time is left out.
 */

/** CPU time of the steps of a search, ms. */
export interface Steps {
  receive: number;
  engine: number;
  send: number;
}

export interface Machine {
  cores: number;
  loops: number;
  engineThreads: number;
}

/**
 * `open`: searches arrive at random moments, whatever the server does. `closed`: each client sends
 * its next search after the response to the last.
 */
export type Arrivals = { kind: 'open'; perSecond: number } | { kind: 'closed'; clients: number };

export interface Simulation {
  machine: Machine;
  arrivals: Arrivals;
  /** Returns the steps of the next search. */
  next: () => Steps;
  /** Number of searches; the first tenth is not counted. */
  searches: number;
  /** Uniform in [0, 1). */
  random: () => number;
}

export interface Outcome {
  perSecond: number;
  p50: number;
  p99: number;
  /** Mean time from arrival to response, ms. */
  mean: number;
}

const STEPS = ['receive', 'engine', 'send'] as const;

interface Search {
  arrived: number;
  loop: number;
  steps: Steps;
  /** Index in `STEPS` of the step that runs or waits. */
  step: number;
}

/** A search that arrives, or whose step ends. */
interface Event {
  at: number;
  search: Search;
  arrives: boolean;
}

/** The next of some events: a binary heap. */
class Agenda {
  readonly #heap: Event[] = [];

  get isEmpty(): boolean {
    return this.#heap.length === 0;
  }

  add(event: Event): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.at <= event.at) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  take(): Event {
    const heap = this.#heap;
    const first = heap[0]!;
    const moved = heap.pop()!;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.at < heap[child]!.at) child++;
      if (heap[child]!.at >= moved.at) break;
      heap[at] = heap[child]!;
      at = child;
    }
    if (heap.length > 0) heap[at] = moved;
    return first;
  }
}

/** First in, first out. */
class Line {
  #items: Search[] = [];
  #head = 0;

  get isEmpty(): boolean {
    return this.#head === this.#items.length;
  }

  add(search: Search): void {
    this.#items.push(search);
  }

  take(): Search {
    const search = this.#items[this.#head++]!;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return search;
  }
}

class Server {
  readonly #agenda: Agenda;
  /** What waits for each loop, and for an engine thread. */
  readonly #forLoop: Line[];
  readonly #forEngine = new Line();
  readonly #isBusy: boolean[];
  #cores: number;
  #engineThreads: number;
  /** The loop that is asked first; all get cores equally often. */
  #first = 0;

  constructor({ cores, loops, engineThreads }: Machine, agenda: Agenda) {
    this.#agenda = agenda;
    this.#cores = cores;
    this.#engineThreads = engineThreads;
    this.#forLoop = Array.from({ length: loops }, () => new Line());
    this.#isBusy = this.#forLoop.map(() => false);
  }

  add(search: Search): void {
    (STEPS[search.step] === 'engine' ? this.#forEngine : this.#forLoop[search.loop]!).add(search);
  }

  /** Frees what the step of this search occupied. */
  free({ step, loop }: Search): void {
    this.#cores++;
    if (STEPS[step] === 'engine') this.#engineThreads++;
    else this.#isBusy[loop] = false;
  }

  /** Starts every step that can start. */
  startAll(now: number): void {
    while (this.#cores > 0) {
      const search = this.#takeStartable();
      if (search === null) return;
      this.#cores--;
      const ms = search.steps[STEPS[search.step]!];
      this.#agenda.add({ at: now + ms, search, arrives: false });
    }
  }

  #takeStartable(): Search | null {
    const loops = this.#forLoop.length;
    for (let n = 0; n < loops; n++) {
      const loop = (this.#first + n) % loops;
      if (this.#isBusy[loop]! || this.#forLoop[loop]!.isEmpty) continue;
      this.#isBusy[loop] = true;
      this.#first = loop + 1;
      return this.#forLoop[loop]!.take();
    }
    if (this.#engineThreads === 0 || this.#forEngine.isEmpty) return null;
    this.#engineThreads--;
    return this.#forEngine.take();
  }
}

/** The first step from `step` on that takes time. */
function nextStep(steps: Steps, step: number): number {
  let next = step;
  while (next < STEPS.length && steps[STEPS[next]!] === 0) next++;
  return next;
}

export function simulate({ machine, arrivals, next, searches, random }: Simulation): Outcome {
  const agenda = new Agenda();
  const server = new Server(machine, agenda);
  let sent = 0;
  const send = (at: number, loop: number): void => {
    if (sent === searches) return;
    const steps = next();
    const search: Search = { arrived: at, loop, steps, step: nextStep(steps, 0) };
    agenda.add({ at, search, arrives: true });
    sent++;
  };
  const sendLater = (now: number, perSecond: number): void =>
    send(now - (Math.log(1 - random()) * 1000) / perSecond, Math.floor(random() * machine.loops));
  if (arrivals.kind === 'closed') {
    for (let n = 0; n < arrivals.clients; n++) send(0, n % machine.loops);
  } else sendLater(0, arrivals.perSecond);
  const times: number[] = [];
  const skipped = Math.floor(searches / 10);
  let ended = 0;
  let begin = 0;
  let now = 0;
  while (!agenda.isEmpty) {
    const { at, search, arrives } = agenda.take();
    now = at;
    if (arrives) {
      if (arrivals.kind === 'open') sendLater(now, arrivals.perSecond);
      server.add(search);
    } else {
      server.free(search);
      search.step = nextStep(search.steps, search.step + 1);
      if (search.step < STEPS.length) server.add(search);
      else {
        ended++;
        if (ended === skipped) begin = now;
        if (ended > skipped) times.push(now - search.arrived);
        if (arrivals.kind === 'closed') send(now, search.loop);
      }
    }
    server.startAll(now);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)]!;
  return {
    perSecond: (times.length / (now - begin)) * 1000,
    ...{ p50: at(0.5), p99: at(0.99) },
    mean: times.reduce((sum, ms) => sum + ms, 0) / times.length,
  };
}

/** The most searches per second, and what they use up. */
export function capacity(
  { cores, loops, engineThreads }: Machine,
  { receive, engine, send }: Steps,
): { perSecond: number; limit: 'cores' | 'loops' | 'engine threads' } {
  const loop = receive + send;
  const bounds = [
    { limit: 'cores', perSecond: (1000 * cores) / (loop + engine) },
    { limit: 'loops', perSecond: (1000 * loops) / loop },
    { limit: 'engine threads', perSecond: (1000 * engineThreads) / engine },
  ] as const;
  return bounds.reduce((min, one) => (one.perSecond < min.perSecond ? one : min));
}

/**
 * Traces in the sense of W3C Trace Context: what a request does, as spans that name their parent.
 * The span that is under way is found through the asynchronous context, so only those who begin one
 * and those who send its header on know of it. Without a tracer nothing of this happens.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

export type SpanKind = 'server' | 'client' | 'internal';
export type SpanAttributes = Record<string, string | number | boolean>;

/** A span that has ended. */
export interface SpanRecord {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits; the parent is null at the root. */
  readonly spanId: string;
  readonly parentId: string | null;
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds of Unix time, with fractions. */
  readonly start: number;
  readonly end: number;
  readonly attributes: Readonly<SpanAttributes>;
  readonly failed: boolean;
}

interface Trace {
  readonly id: string;
  /** The header `tracestate`, which is sent on as it is. */
  readonly state: string | undefined;
  /** null: the trace is not recorded; its ids are sent on nevertheless. */
  readonly take: ((record: SpanRecord) => void) | null;
}

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const STATE_LENGTH_MAX = 512;

const under = new AsyncLocalStorage<Span>();

/** The innermost span of the present work that has not ended. */
export function activeSpan(): Span | undefined {
  const span = under.getStore();
  return span === undefined || span.hasEnded ? undefined : span;
}

/** Does work as part of a span, if there is one. */
export function within<T>(span: Span | undefined, work: () => T): T {
  return span === undefined ? work() : under.run(span, work);
}

export class Span {
  readonly #trace: Trace;
  readonly #id = randomBytes(8).toString('hex');
  readonly #parentId: string | null;
  readonly #name: string;
  readonly #kind: SpanKind;
  readonly #start = performance.timeOrigin + performance.now();
  readonly #attributes: SpanAttributes;
  /** Work that goes on after its request has been answered does not belong to it. */
  hasEnded = false;

  constructor(
    trace: Trace,
    parentId: string | null,
    name: string,
    kind: SpanKind,
    attributes: SpanAttributes = {},
  ) {
    this.#trace = trace;
    this.#parentId = parentId;
    this.#name = name;
    this.#kind = kind;
    this.#attributes = attributes;
  }

  get traceId(): string {
    return this.#trace.id;
  }

  get isRecorded(): boolean {
    return this.#trace.take !== null;
  }

  /** Headers of a request that is part of this span. */
  get headers(): Record<string, string> {
    const { id, state, take } = this.#trace;
    return {
      traceparent: `00-${id}-${this.#id}-${take === null ? '00' : '01'}`,
      ...(state !== undefined && { tracestate: state }),
    };
  }

  child(name: string, kind: SpanKind, attributes?: SpanAttributes): Span {
    return new Span(this.#trace, this.#id, name, kind, attributes);
  }

  /** Records a part that is over. Times are milliseconds of Unix time. */
  part(name: string, times: { start: number; end: number }, attributes: SpanAttributes): void {
    this.#trace.take?.({
      traceId: this.#trace.id,
      spanId: randomBytes(8).toString('hex'),
      parentId: this.#id,
      ...{ name, kind: 'internal', ...times, attributes, failed: false },
    });
  }

  /** Further calls do nothing. */
  end(attributes: SpanAttributes, failed = false): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.#trace.take?.({
      traceId: this.#trace.id,
      spanId: this.#id,
      parentId: this.#parentId,
      name: this.#name,
      kind: this.#kind,
      start: this.#start,
      end: performance.timeOrigin + performance.now(),
      attributes: { ...this.#attributes, ...attributes },
      failed,
    });
  }
}

/** Does work that no request asked for, as a root span if there is a tracer. */
export function rooted<T>(
  tracer: Tracer | null,
  name: string,
  attributes: SpanAttributes,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  return tracer === null ? work(undefined) : tracer.root(name, attributes, work);
}

/** Begins traces, and continues those of callers. */
export class Tracer {
  readonly #ratio: number;
  readonly #take: (record: SpanRecord) => void;
  readonly #random: () => number;

  /** @param ratio share of the traces that begin here which are recorded, from 0 to 1 */
  constructor(ratio: number, take: (record: SpanRecord) => void, random = Math.random) {
    this.#ratio = ratio;
    this.#take = take;
    this.#random = random;
  }

  /**
   * The span of a request: part of the span that is under way, or of the caller's, whose choice
   * whether to record it counts, or a root.
   */
  request(
    name: string,
    headers: { traceparent?: string | undefined; tracestate?: string | undefined },
  ): Span {
    const outer = activeSpan();
    if (outer !== undefined) return outer.child(name, 'server');
    const [, version, id, parentId, flags, rest] = PARENT.exec(headers.traceparent ?? '') ?? [];
    const isValid =
      id !== undefined &&
      version !== 'ff' &&
      (version !== '00' || rest === undefined) &&
      !/^0+$/.test(id) &&
      !/^0+$/.test(parentId!);
    if (!isValid) return new Span(this.#root(), null, name, 'server');
    const { tracestate } = headers;
    const isShort = tracestate !== undefined && tracestate.length <= STATE_LENGTH_MAX;
    const take = (Number.parseInt(flags!, 16) & 1) === 1 ? this.#take : null;
    return new Span(
      { id, state: isShort ? tracestate : undefined, take },
      parentId!,
      name,
      'server',
    );
  }

  /** Does work as a root span, which fails if the work does. */
  async root<T>(
    name: string,
    attributes: SpanAttributes,
    work: (span: Span) => Promise<T>,
  ): Promise<T> {
    const span = new Span(this.#root(), null, name, 'internal', attributes);
    try {
      return await within(span, () => work(span));
    } catch (error) {
      span.end({}, true);
      throw error;
    } finally {
      span.end({});
    }
  }

  #root(): Trace {
    const take = this.#random() < this.#ratio ? this.#take : null;
    return { id: randomBytes(16).toString('hex'), state: undefined, take };
  }
}

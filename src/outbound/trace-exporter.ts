/**
 * Sends spans to a collector, as OTLP in JSON over HTTP (opentelemetry-proto, trace/v1). Nothing
 * waits for it: what a slow collector has not taken in time, or one that is down, is dropped and
 * counted.
 */
import type { Logger } from '../base/logger.ts';
import type { SpanAttributes, SpanKind, SpanRecord } from '../base/tracing.ts';
import { OutboundClient } from './outbound-client.ts';

/** Maximum number of spans that wait. */
const WAITING_MAX = 4096;
const SPANS_PER_REQUEST = 512;
/** Spans wait this long for others, ms. */
const SEND_AFTER_MS = 1000;
const TIMEOUT_MS = 10_000;
/** A collector that fails is reported this often at most, ms. */
const REPORT_MS = 60_000;

const KINDS: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3 };
const STATUS_ERROR = 2;

export interface ExporterOptions {
  /** The base URL of the collector; `/v1/traces` is appended. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  /** What describes this server. */
  resource: SpanAttributes;
  log: Pick<Logger, 'warn'>;
  sendAfterMs?: number;
  timeoutMs?: number;
}

export class TraceExporter {
  readonly #options: ExporterOptions;
  // The address comes from the person who starts the server.
  readonly #client = new OutboundClient({ denyPrivate: false, allow: [], isTraced: false });
  readonly #url: string;
  #waiting: SpanRecord[] = [];
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> | null = null;
  #reportedAt = -Infinity;
  /** Spans that were not sent, since the start. */
  dropped = 0;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#url = `${options.endpoint.replace(/\/+$/, '')}/v1/traces`;
  }

  readonly take = (record: SpanRecord): void => {
    if (this.#waiting.length >= WAITING_MAX) {
      this.dropped++;
      return;
    }
    this.#waiting.push(record);
    if (this.#sending !== null) return;
    if (this.#waiting.length >= SPANS_PER_REQUEST) this.#send();
    else {
      const { sendAfterMs = SEND_AFTER_MS } = this.#options;
      this.#timer ??= setTimeout(() => this.#send(), sendAfterMs).unref();
    }
  };

  /** Sends what waits, for `timeoutMs` at most. */
  async close(timeoutMs: number): Promise<void> {
    this.#send();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)));
    await Promise.race([this.#sending, late]);
    clearTimeout(timer);
    await this.#client.close();
  }

  #send(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = null));
  }

  /** Never rejects. */
  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const spans = this.#waiting.splice(0, SPANS_PER_REQUEST);
      const fault = await this.#sendSome(spans);
      if (fault === null) continue;
      this.dropped += spans.length;
      this.#report(fault);
    }
  }

  /** Returns what has gone wrong, or null. */
  async #sendSome(spans: readonly SpanRecord[]): Promise<string | null> {
    const { headers, resource, timeoutMs = TIMEOUT_MS } = this.#options;
    try {
      const { status } = await this.#client.fetch(
        {
          method: 'POST',
          url: this.#url,
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(requestOf(spans, resource)),
          timeoutMs,
        },
        { bytesMax: null },
      );
      return status < 300 ? null : `status ${status}`;
    } catch (error) {
      return (error as Error).message;
    }
  }

  #report(fault: string): void {
    const now = performance.now();
    if (now - this.#reportedAt < REPORT_MS) return;
    this.#reportedAt = now;
    this.#options.log.warn(`spans were not sent (${this.dropped} so far): ${fault}`);
  }
}

function requestOf(spans: readonly SpanRecord[], resource: SpanAttributes): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'gannet' }, spans: spans.map(spanOf) }],
      },
    ],
  };
}

function spanOf(span: SpanRecord): object {
  const { traceId, spanId, parentId, name, kind, start, end, attributes, failed } = span;
  return {
    traceId,
    spanId,
    name,
    kind: KINDS[kind],
    ...(parentId !== null && { parentSpanId: parentId }),
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(Math.max(start, end)),
    attributes: attributesOf(attributes),
    status: failed ? { code: STATUS_ERROR } : {},
  };
}

function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1000)) * 1000n);
}

function attributesOf(attributes: Readonly<SpanAttributes>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value:
      typeof value === 'string'
        ? { stringValue: value }
        : typeof value === 'boolean'
          ? { boolValue: value }
          : Number.isInteger(value)
            ? { intValue: String(value) }
            : { doubleValue: value },
  }));
}

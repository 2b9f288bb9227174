/**
 * The thread that parses large bodies: the sender chooses what they cost, and the event loop must
 * not pay for it.
 */
import { parentPort } from 'node:worker_threads';
import { countValues } from '../base/json-slices.ts';
import { RawJson } from '../base/json.ts';
import type { ErrorCode } from '../contract/errors.ts';
import type { Schema } from '../contract/schema.ts';
import { longChange, type SettingName } from '../contract/settings.ts';
import { checkedBody } from '../contract/validator.ts';

export type BodyRequest =
  | { kind: 'schema'; schema: number; is: Schema }
  | {
      kind: 'check';
      job: number;
      schema: number;
      parts: readonly Uint8Array[];
      settings: SettingName | 'all' | null;
    }
  /** The next piece of a value. */
  | { kind: 'more'; job: number };

export type BodyResult =
  | { job: number; fault: { code: ErrorCode; message: string } }
  | { job: number; steps: Step[]; last: boolean };

/** How to build a value again: see `Assembler`. */
export type Step =
  | { is: 'value'; value: unknown }
  | { is: 'raw'; bytes: Uint8Array<ArrayBuffer> }
  | { is: 'open'; array: boolean }
  | { is: 'name'; name: string }
  | { is: 'close' };

/** Values in one piece: it blocks the receiver for less than a millisecond. */
const PIECE_VALUES_MAX = 2000;

/** Parts shorter than this are sent as values even if they are only passed on, bytes. */
const RAW_BYTES_MIN = 16 * 1024;

const schemas = new Map<number, Schema>();
const jobs = new Map<number, Iterator<Step[], void>>();

parentPort?.on('message', (request: BodyRequest) => {
  switch (request.kind) {
    case 'schema':
      schemas.set(request.schema, request.is);
      return;
    case 'check': {
      const schema = schemas.get(request.schema)!;
      const checked = checkedBody(Buffer.concat(request.parts), schema);
      if (!checked.ok) {
        const { code, message } = checked.error;
        parentPort!.postMessage({
          job: request.job,
          fault: { code, message },
        } satisfies BodyResult);
        return;
      }
      const { settings } = request;
      const value =
        settings === null
          ? withRawParts(checked.value, schema)
          : longChange(settings, checked.value);
      jobs.set(request.job, pieces(value));
      sendPiece(request.job);
      return;
    }
    case 'more':
      sendPiece(request.job);
  }
});

function sendPiece(job: number): void {
  const piece = jobs.get(job)!.next();
  const last = piece.done === true;
  if (last) jobs.delete(job);
  const steps = piece.value ?? [];
  const given = steps.flatMap((step) => (step.is === 'raw' ? [step.bytes.buffer] : []));
  parentPort!.postMessage({ job, steps, last } satisfies BodyResult, given);
}

/** A buffer that owns its memory. */
function ownBuffer(text: string): Buffer<ArrayBuffer> {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** Replaces parts that the schema marks as only passed on by their text, unless they are short. */
function withRawParts(value: unknown, schema: Schema): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items?.properties === undefined) return value;
    for (const element of value) withRawParts(element, items);
    return value;
  }
  const object = value as Record<string, unknown>;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const member = object[name];
    if (member === undefined || member === null) continue;
    if (property['x-passed-on'] === true) {
      const text = JSON.stringify(member);
      if (text.length >= RAW_BYTES_MIN) object[name] = new RawJson(text);
    } else withRawParts(member, property);
  }
  return value;
}

function* pieces(value: unknown): Generator<Step[], void> {
  let piece: Step[] = [];
  let values = 0;
  function* emit(part: unknown): Generator<Step[], void> {
    const count = countValues(part, PIECE_VALUES_MAX);
    if (part instanceof RawJson) piece.push({ is: 'raw', bytes: ownBuffer(part.text) });
    else if (count < PIECE_VALUES_MAX || typeof part !== 'object')
      piece.push({ is: 'value', value: part });
    else {
      const array = Array.isArray(part);
      piece.push({ is: 'open', array });
      for (const [name, member] of Object.entries(part as object)) {
        if (!array) piece.push({ is: 'name', name });
        yield* emit(member);
      }
      piece.push({ is: 'close' });
    }
    values += Math.min(count, PIECE_VALUES_MAX);
    if (values >= PIECE_VALUES_MAX) {
      yield piece;
      piece = [];
      values = 0;
    }
  }
  yield* emit(value);
  if (piece.length > 0) yield piece;
}

/**
 * Chunks of OpenAI's streaming format, from providers and to clients. Chunks of a provider are
 * checked here, so later code can rely on the types of their values.
 */
import { randomUUID } from 'node:crypto';
import { err, ok, type Result } from '../base/result.ts';

export interface ToolCallDelta {
  /** Absent if the provider sends no usable index. */
  index?: number;
  /** Empty if the provider sends none. */
  id: string;
  name: string;
  /** A part of a JSON text. */
  arguments: string;
  /** All other members. They are sent back to the provider. */
  extra: ReadonlyMap<string, unknown>;
  functionExtra: ReadonlyMap<string, unknown>;
}

export interface Usage {
  prompt_tokens?: number;
  completion_tokens?: number;
  total_tokens?: number;
  [field: string]: unknown;
}

type Json = Record<string, unknown>;

/** A chunk sent to a client. */
export interface Chunk {
  id?: string;
  object?: string;
  created?: number;
  model?: string;
  choices?: Json[];
  usage?: Usage | null;
  [field: string]: unknown;
}

/** A chunk of a provider. */
export interface ProviderChunk {
  /** The part that is forwarded to the client. */
  forwarded: Chunk;
  /** The first choice; null: a chunk without choices, such as a report on usage. */
  choice: {
    toolCalls: ToolCallDelta[];
    reasoning: string;
    /** null: the answer continues. */
    finishReason: string | null;
  } | null;
  /** null: absent or invalid. */
  usage: Usage | null;
}

/** An error inside the stream. */
export interface ErrorEvent {
  event_id: string;
  type: 'error';
  error: {
    type: string;
    code: string | null;
    message: string;
    param: string | null;
    event_id: null;
  };
}

/** Members forwarded to a client, with type checks. Members of another type are left out. */
const FORWARDED: Readonly<Record<string, (value: unknown) => boolean>> = {
  id: isText,
  created: (value) => typeof value === 'number' && Number.isFinite(value),
  model: isText,
  service_tier: isText,
  system_fingerprint: isText,
  object: isText,
};

/** @returns the chunk, or why the value is not a chunk */
export function readChunk(value: Json): Result<ProviderChunk, string> {
  const forwarded: Chunk = {};
  const { choices = [], usage: givenUsage } = value;
  for (const [name, isRight] of Object.entries(FORWARDED)) {
    if (isRight(value[name])) forwarded[name] = value[name];
  }
  const list = choices ?? [];
  if (!Array.isArray(list)) return err('`choices` is not a list');
  const usage = usageOf(givenUsage);
  // Only one choice was requested.
  forwarded.choices = list.slice(0, 1) as Json[];
  if (usage !== null) forwarded.usage = usage;
  if (list.length === 0) return ok({ forwarded, choice: null, usage });
  const fault = choiceFault(list[0], 'choices[0]');
  if (fault !== null) return err(fault);
  const first = list[0] as Json;
  const delta = (first.delta ?? {}) as Json;
  const toolCalls: ToolCallDelta[] = [];
  for (const [n, piece] of ((delta.tool_calls ?? []) as unknown[]).entries()) {
    const read = readPiece(piece, `choices[0].delta.tool_calls[${n}]`);
    if (!read.ok) return read;
    toolCalls.push(read.value);
  }
  const { finish_reason: finishReason } = first;
  const reasoning = delta.reasoning_content;
  return ok({
    forwarded,
    choice: {
      toolCalls,
      reasoning: isText(reasoning) ? reasoning : '',
      finishReason: isText(finishReason) && finishReason !== '' ? finishReason : null,
    },
    usage,
  });
}

/** @returns why the value is not a valid choice; null: it is valid */
function choiceFault(choice: unknown, path: string): string | null {
  if (!isObject(choice)) return `\`${path}\` is not an object`;
  const { delta, finish_reason: finishReason } = choice;
  if (!isAbsent(finishReason) && !isText(finishReason))
    return `\`${path}.finish_reason\` is not a text`;
  if (isAbsent(delta)) return null;
  if (!isObject(delta)) return `\`${path}.delta\` is not an object`;
  const { content, tool_calls: pieces } = delta;
  // Some providers stream parts of a content as objects.
  if (!isAbsent(content) && !isText(content) && !Array.isArray(content))
    return `\`${path}.delta.content\` is not a text`;
  if (!isAbsent(pieces) && !Array.isArray(pieces))
    return `\`${path}.delta.tool_calls\` is not a list`;
  return null;
}

function readPiece(piece: unknown, path: string): Result<ToolCallDelta, string> {
  if (!isObject(piece)) return err(`\`${path}\` is not an object`);
  const { index, id, type: _, function: fn, ...extra } = piece;
  if (!isAbsent(id) && !isText(id) && typeof id !== 'number')
    return err(`\`${path}.id\` is not a text`);
  if (!isAbsent(fn) && !isObject(fn)) return err(`\`${path}.function\` is not an object`);
  const { name, arguments: given, ...functionExtra } = (fn ?? {}) as Json;
  if (!isAbsent(name) && !isText(name)) return err(`\`${path}.function.name\` is not a text`);
  if (!isAbsent(given) && !isText(given) && !isObject(given))
    return err(`\`${path}.function.arguments\` is neither a text nor an object`);
  return ok({
    ...(Number.isSafeInteger(index) && (index as number) >= 0 ? { index: index as number } : {}),
    id: isAbsent(id) ? '' : String(id),
    name: name ?? '',
    // Some providers send the object itself.
    arguments: isText(given) ? given : isAbsent(given) ? '' : JSON.stringify(given),
    extra: givenMembers(extra),
    functionExtra: givenMembers(functionExtra),
  } as ToolCallDelta);
}

function givenMembers(members: Json): Map<string, unknown> {
  return new Map(Object.entries(members).filter(([, value]) => !isAbsent(value)));
}

const COUNTS = ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const;

function usageOf(value: unknown): Usage | null {
  if (!isObject(value)) return null;
  for (const name of COUNTS) {
    const count = value[name];
    if (!isAbsent(count) && !(Number.isSafeInteger(count) && (count as number) >= 0)) return null;
  }
  return value;
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// --- Calls ---------------------------------------------------------------------------------------

/**
 * Maximum number of calls in one round, and of their characters together: of arguments and of
 * provider-specific members.
 */
export const CALLS_MAX = 32;
export const CALLS_LENGTH_MAX = 2 ** 20;

/** A tool call, assembled from the chunks of a round. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
  extra: ReadonlyMap<string, unknown>;
  functionExtra: ReadonlyMap<string, unknown>;
  /** Number of characters of its arguments and its other members. */
  length: number;
}

interface OpenCall extends ToolCall {
  /** Whether the id comes from the provider. */
  hasOwnId: boolean;
  index: number | undefined;
  extra: Map<string, unknown>;
  functionExtra: Map<string, unknown>;
}

/**
 * Assembles calls in the order in which they begin. A new id begins a call, whatever its index:
 * some providers give parallel calls the same index, or none. A piece without an id belongs to the
 * last call with its index; a piece without id and index belongs to the last call.
 */
export class CallCollector {
  readonly #calls: OpenCall[] = [];
  #length = 0;

  get empty(): boolean {
    return this.#calls.length === 0;
  }

  /**
   * @param pieces the pieces of one chunk
   * @returns which limit was exceeded; null: none
   */
  add(pieces: readonly ToolCallDelta[]): string | null {
    const before = this.#calls.length;
    for (const piece of pieces) {
      let call = this.#callOf(piece, before);
      if (call === undefined) {
        if (this.#calls.length >= CALLS_MAX) return `more than ${CALLS_MAX} calls`;
        call = newCall(piece);
        this.#calls.push(call);
      }
      if (piece.id !== '' && !call.hasOwnId) Object.assign(call, { id: piece.id, hasOwnId: true });
      call.name ||= piece.name;
      const length =
        piece.arguments.length +
        added(call.extra, piece.extra) +
        added(call.functionExtra, piece.functionExtra);
      call.length += length;
      this.#length += length;
      if (this.#length > CALLS_LENGTH_MAX)
        return `calls of more than ${CALLS_LENGTH_MAX} characters`;
      call.arguments += piece.arguments;
    }
    return null;
  }

  /** @param before number of calls that earlier chunks have begun */
  #callOf({ id, index, name }: ToolCallDelta, before: number): OpenCall | undefined {
    const sameIndex = (call: OpenCall): boolean => index === undefined || call.index === index;
    if (id !== '') {
      const known = this.#calls.findLast((call) => call.hasOwnId && call.id === id);
      if (known !== undefined && (index === undefined || sameIndex(known))) return known;
      const last = this.#calls.findLast(sameIndex);
      // The id of a call may arrive after its name.
      const isNamed = last?.hasOwnId === false && last.arguments === '';
      return isNamed && (name === '' || name === last.name) ? last : undefined;
    }
    const known = index === undefined ? undefined : this.#calls.findLast(sameIndex);
    if (known !== undefined) return known;
    if (index !== undefined && name !== '') return undefined;
    // A chunk has at most one piece of each call, so a piece that names a function begins a call.
    const last = this.#calls.at(-1);
    const isNamedInChunk = name !== '' && this.#calls.length > before;
    return isNamedInChunk && last!.name !== '' ? undefined : last;
  }

  take(): readonly ToolCall[] {
    return this.#calls;
  }
}

function newCall({ id, index }: ToolCallDelta): OpenCall {
  return {
    id: id === '' ? randomUUID() : id,
    hasOwnId: id !== '',
    index,
    name: '',
    arguments: '',
    length: 0,
    extra: new Map(),
    functionExtra: new Map(),
  };
}

/** Adds members; later values replace earlier ones. @returns the number of characters added */
function added(members: Map<string, unknown>, more: ReadonlyMap<string, unknown>): number {
  let length = 0;
  for (const [name, value] of more) {
    length += name.length + JSON.stringify(value).length;
    members.set(name, value);
  }
  return length;
}

/** A call in the form of a message, including the members that only the provider knows. */
export function callMessage(call: ToolCall): Json {
  const { id, name, arguments: text, extra, functionExtra } = call;
  return {
    ...Object.fromEntries(extra),
    id,
    type: 'function',
    function: { ...Object.fromEntries(functionExtra), name, arguments: text },
  };
}

/**
 * Chunks of OpenAI's streaming format, as providers send them and clients get them. What a provider
 * sends is checked here: nothing behind this looks at a value that may be of another type.
 */
import { randomUUID } from 'node:crypto';
import { err, ok, type Result } from '../base/result.ts';

export interface ToolCallDelta {
  /** Absent where the provider tells none that can be used. */
  index?: number;
  /** Empty where the provider tells none. */
  id: string;
  name: string;
  /** A piece of JSON. */
  arguments: string;
  /** Members that are not those above: they go back to the provider. */
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

/** What a client gets. */
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
  /** What of it a client gets. */
  forwarded: Chunk;
  /** The first choice; null: a chunk without choices, such as a report on usage. */
  choice: {
    toolCalls: ToolCallDelta[];
    reasoning: string;
    /** null: the answer goes on. */
    finishReason: string | null;
  } | null;
  /** null: none, or one whose counts are no counts. */
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

/** Members that a client gets, and what they are. Members of another type are left out. */
const FORWARDED: Readonly<Record<string, (value: unknown) => boolean>> = {
  id: isText,
  created: (value) => typeof value === 'number' && Number.isFinite(value),
  model: isText,
  service_tier: isText,
  system_fingerprint: isText,
  object: isText,
};

/** @returns why the value is no chunk */
export function readChunk(value: Json): Result<ProviderChunk, string> {
  const forwarded: Chunk = {};
  const { choices = [], usage: givenUsage } = value;
  for (const [name, isRight] of Object.entries(FORWARDED)) {
    if (isRight(value[name])) forwarded[name] = value[name];
  }
  const list = choices ?? [];
  if (!Array.isArray(list)) return err('`choices` is not a list');
  const usage = usageOf(givenUsage);
  // One choice was asked for.
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

/** null: it is a choice of which everything that is looked at has its type. */
function choiceFault(choice: unknown, place: string): string | null {
  if (!isObject(choice)) return `\`${place}\` is not an object`;
  const { delta, finish_reason: finishReason } = choice;
  if (!isAbsent(finishReason) && !isText(finishReason))
    return `\`${place}.finish_reason\` is not a text`;
  if (isAbsent(delta)) return null;
  if (!isObject(delta)) return `\`${place}.delta\` is not an object`;
  const { content, tool_calls: pieces } = delta;
  // Some providers stream parts of a content as objects.
  if (!isAbsent(content) && !isText(content) && !Array.isArray(content))
    return `\`${place}.delta.content\` is not a text`;
  if (!isAbsent(pieces) && !Array.isArray(pieces))
    return `\`${place}.delta.tool_calls\` is not a list`;
  return null;
}

function readPiece(piece: unknown, place: string): Result<ToolCallDelta, string> {
  if (!isObject(piece)) return err(`\`${place}\` is not an object`);
  const { index, id, type: _, function: fn, ...extra } = piece;
  if (!isAbsent(id) && !isText(id) && typeof id !== 'number')
    return err(`\`${place}.id\` is not a text`);
  if (!isAbsent(fn) && !isObject(fn)) return err(`\`${place}.function\` is not an object`);
  const { name, arguments: given, ...functionExtra } = (fn ?? {}) as Json;
  if (!isAbsent(name) && !isText(name)) return err(`\`${place}.function.name\` is not a text`);
  if (!isAbsent(given) && !isText(given) && !isObject(given))
    return err(`\`${place}.function.arguments\` is neither a text nor an object`);
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
 * Calls in one round, and characters of them together: of arguments, and of members that only the
 * provider knows.
 */
export const CALLS_MAX = 32;
export const CALLS_LENGTH_MAX = 2 ** 20;

/** A call of a tool, put together from the chunks of a round. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
  extra: ReadonlyMap<string, unknown>;
  functionExtra: ReadonlyMap<string, unknown>;
  /** Characters of its arguments and of the other members. */
  length: number;
}

interface OpenCall extends ToolCall {
  /** The id is the provider's. */
  hasOwnId: boolean;
  index: number | undefined;
  extra: Map<string, unknown>;
  functionExtra: Map<string, unknown>;
}

/**
 * Puts calls together, in the order in which they begin. A new id begins a call, whatever its
 * index: some providers number parallel calls alike, or not at all. A piece without id belongs to
 * the last call with its index, and a piece without index too to the last call.
 */
export class CallCollector {
  readonly #calls: OpenCall[] = [];
  #length = 0;

  get empty(): boolean {
    return this.#calls.length === 0;
  }

  /**
   * @param pieces of one chunk
   * @returns what there is too much of; null: there is not
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

  /** @param before calls that other chunks have begun */
  #callOf({ id, index, name }: ToolCallDelta, before: number): OpenCall | undefined {
    const sameIndex = (call: OpenCall): boolean => index === undefined || call.index === index;
    if (id !== '') {
      const known = this.#calls.findLast((call) => call.hasOwnId && call.id === id);
      if (known !== undefined && (index === undefined || sameIndex(known))) return known;
      const last = this.#calls.findLast(sameIndex);
      // The id of a call may come after its name.
      const isNamed = last?.hasOwnId === false && last.arguments === '';
      return isNamed && (name === '' || name === last.name) ? last : undefined;
    }
    const known = index === undefined ? undefined : this.#calls.findLast(sameIndex);
    if (known !== undefined) return known;
    if (index !== undefined && name !== '') return undefined;
    // One chunk has no two pieces of a call: what names a function in it is a call of its own.
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
    ...{ id: id === '' ? randomUUID() : id, hasOwnId: id !== '', index },
    ...{ name: '', arguments: '', length: 0, extra: new Map(), functionExtra: new Map() },
  };
}

/** A later value takes the place of an earlier one. @returns characters of what was added */
function added(members: Map<string, unknown>, more: ReadonlyMap<string, unknown>): number {
  let length = 0;
  for (const [name, value] of more) {
    length += name.length + JSON.stringify(value).length;
    members.set(name, value);
  }
  return length;
}

/** A call as a message holds it: members that only the provider knows go back to it. */
export function callMessage(call: ToolCall): Json {
  const { id, name, arguments: text, extra, functionExtra } = call;
  return {
    ...Object.fromEntries(extra),
    ...{ id, type: 'function' },
    function: { ...Object.fromEntries(functionExtra), name, arguments: text },
  };
}

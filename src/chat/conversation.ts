/**
 * One conversation: in each round the provider answers and may request searches, until an answer
 * requests none.
 *
 * Events for the client go to a {@link ChatSink} one by one. While the client does not accept
 * events, nothing is read from the provider. Search permits are held only while a search runs.
 */
import { randomUUID } from 'node:crypto';
import { ApiError } from '../contract/errors.ts';
import {
  type ChatCompletionRequest,
  type ChatMessage,
  type ChatWorkspace,
  promptsOf,
} from '../contract/chats.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import {
  CallCollector,
  callMessage,
  type Chunk,
  type ErrorEvent,
  type ToolCall,
  type Usage,
} from './chunks.ts';
import {
  completion,
  errorEvent,
  includesUsage,
  ProviderError,
  providerError,
  requestBody,
  systemMessage,
} from './provider.ts';
import {
  type ChatCaller,
  type ChatServices,
  runSearch,
  SEARCH_TOOL,
  searchTool,
  type ToolResult,
} from './search-tool.ts';

/** Maximum rounds of one conversation. */
const ROUNDS_MAX = 20;
/**
 * Maximum characters of a model's reasoning before its calls in a round, which is sent back to it.
 */
const REASONING_LENGTH_MAX = 2 ** 20;
/**
 * Maximum characters that the searches of a conversation add to it: calls, the reasoning before
 * them, and results.
 */
const ADDED_LENGTH_MAX = 4 * 2 ** 20;
/** Maximum characters of the documents that are kept and reported at the end. */
const ANSWER_SOURCES_LENGTH_MAX = 2 ** 20;

/** Tools by which a client enables reports. They are not sent to the model. */
const PROGRESS = '_meiliSearchProgress';
const SOURCES = '_meiliSearchSources';
const APPEND = '_meiliAppendConversationMessage';
/** Our own report: all documents found by searches, once, at the end. */
const ANSWER_SOURCES = '_gannetAnswerSources';
/** Accepted for older front ends; has no effect. */
const REPORT_ERRORS = '_meiliReportErrors';

export interface ChatSink {
  /** Resolves when the client is ready for more. */
  send(event: Chunk | ErrorEvent): Promise<void>;
}

/** The resources that a conversation has used. */
export interface ChatUsage {
  searches: number;
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
}

interface Reports {
  progress: boolean;
  sources: boolean;
  append: boolean;
  answerSources: boolean;
}

/** Throws `ApiError` for unknown tools. */
export function reportsOf({ tools }: ChatCompletionRequest): Reports {
  const reports = { progress: false, sources: false, append: false, answerSources: false };
  for (const { function: fn } of tools ?? []) {
    switch (fn.name) {
      case SEARCH_TOOL:
        throw new ApiError('bad_request', `The name \`${SEARCH_TOOL}\` is reserved.`);
      case PROGRESS:
        reports.progress = true;
        break;
      case SOURCES:
        reports.sources = true;
        break;
      case APPEND:
        reports.append = true;
        break;
      case ANSWER_SOURCES:
        reports.answerSources = true;
        break;
      case REPORT_ERRORS:
        break;
      default:
        throw new ApiError(
          'unimplemented_external_function_calling',
          `The function \`${fn.name}\` cannot be called: functions of the client are not available.`,
        );
    }
  }
  return reports;
}

export class Conversation {
  readonly #outbound: OutboundClient;
  readonly #services: ChatServices;
  readonly #workspace: ChatWorkspace;
  readonly #request: ChatCompletionRequest;
  readonly #reports: Reports;
  readonly #caller: ChatCaller;
  readonly #sink: ChatSink;
  readonly #signal: AbortSignal;
  readonly #messages: ChatMessage[];
  /** The JSON text of each document. */
  readonly #answerSources = new Set<string>();
  #answerSourcesLength = 0;
  #addedLength = 0;
  #lastUsage: Usage | null = null;
  #usageReports = 0;
  #tool: unknown;
  readonly usage: ChatUsage = { searches: 0, promptTokens: 0, completionTokens: 0, totalTokens: 0 };

  /** @param signal ends the conversation at once, because the client disconnected */
  constructor(
    outbound: OutboundClient,
    services: ChatServices,
    workspace: ChatWorkspace,
    request: ChatCompletionRequest,
    caller: ChatCaller,
    sink: ChatSink,
    signal: AbortSignal,
  ) {
    this.#outbound = outbound;
    this.#services = services;
    this.#workspace = workspace;
    this.#request = request;
    this.#reports = reportsOf(request);
    this.#caller = caller;
    this.#sink = sink;
    this.#signal = signal;
    const system = systemMessage(workspace, request.model, promptsOf(workspace).system);
    this.#messages = [system, ...request.messages];
  }

  /** Runs the conversation. Provider failures become events; rejects only for server faults. */
  async run(): Promise<void> {
    try {
      this.#tool = await this.#services.describing.run(
        () => searchTool(this.#services, this.#caller, promptsOf(this.#workspace)),
        this.#signal,
      );
      for (let round = 0; round < ROUNDS_MAX; round++) {
        const ended = await this.#round();
        if (this.#signal.aborted) return;
        if (ended.calls.length === 0) {
          await this.#reportAnswerSources(ended.last);
          await this.#reportUsage(ended.last);
          return;
        }
        await this.#handle(ended);
      }
      const message = `The model asked for searches in more than ${ROUNDS_MAX} rounds`;
      await this.#sink.send(errorEvent('tool_call_limit', message));
    } catch (error) {
      if (this.#signal.aborted) return;
      if (!(error instanceof ProviderError)) throw error;
      await this.#sink.send(error.event);
    }
  }

  #body(): string {
    const { tools: _, n: __, ...rest } = this.#request;
    return requestBody(this.#workspace, { ...rest, messages: this.#messages, tools: [this.#tool] });
  }

  /** Forwards the text of one answer and collects its calls. */
  async #round(): Promise<EndedRound> {
    const calls = new CallCollector();
    let reasoning = '';
    let last: Chunk = {};
    let usage: Usage | null = null;
    let finished = false;
    for await (const chunk of completion(
      this.#outbound,
      this.#workspace,
      this.#body(),
      this.#signal,
    )) {
      // Usage reports are cumulative, so only the last one of an answer counts.
      usage = chunk.usage ?? usage;
      const { choice, forwarded } = chunk;
      // A usage report or content-filter result, for example, never ends a round.
      if (choice === null) continue;
      last = forwarded;
      const { toolCalls: pieces, finishReason } = choice;
      const surplus = calls.add(pieces);
      if (surplus !== null) throw tooMuch(surplus);
      // Only needed again if calls follow. A longer text is refused below if they do.
      if (reasoning.length <= REASONING_LENGTH_MAX) reasoning += choice.reasoning;
      if (finishReason !== null) finished = true;
      const ofCalls =
        pieces.length > 0 ||
        finishReason === 'tool_calls' ||
        (finishReason !== null && !calls.empty);
      if (!ofCalls) await this.#sink.send(forwarded);
    }
    this.#count(usage);
    if (!finished && calls.empty && !this.#signal.aborted) {
      throw providerError('stream_ended', 'The stream of the provider ended too early');
    }
    if (!calls.empty && reasoning.length > REASONING_LENGTH_MAX) {
      throw tooMuch(`more than ${REASONING_LENGTH_MAX} characters of \`reasoning_content\``);
    }
    return { calls: calls.take(), reasoning, last };
  }

  #count(usage: Usage | null): void {
    if (usage === null) return;
    this.#lastUsage = usage;
    this.#usageReports++;
    this.usage.promptTokens += usage.prompt_tokens ?? 0;
    this.usage.completionTokens += usage.completion_tokens ?? 0;
    this.usage.totalTokens += usage.total_tokens ?? 0;
  }

  /** Sends the chunk requested by `stream_options.include_usage`, with the usage of all rounds. */
  async #reportUsage(last: Chunk): Promise<void> {
    if (this.#lastUsage === null || !includesUsage(this.#request.stream_options)) return;
    const { promptTokens, completionTokens, totalTokens } = this.usage;
    const sum: Usage = {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: totalTokens,
    };
    // The details of a single round are wrong for several rounds.
    const usage = this.#usageReports === 1 ? this.#lastUsage : sum;
    await this.#sink.send({ ...this.#frame(last), choices: [], usage });
  }

  async #handle({ calls, reasoning, last }: EndedRound): Promise<void> {
    this.#messages.push(assistantMessage(calls, reasoning));
    this.#addedLength += reasoning.length;
    for (const call of calls) {
      if (this.#signal.aborted) return;
      const content =
        call.name === SEARCH_TOOL
          ? await this.#search(call, reasoning, last)
          : `There is no function \`${call.name}\`; the only one is \`${SEARCH_TOOL}\`.`;
      this.#messages.push(toolMessage(content, call.id));
      this.#addedLength += call.length + content.length;
      if (this.#addedLength > ADDED_LENGTH_MAX) {
        throw providerError(
          'tool_call_limit',
          `The searches of the model came to more than ${ADDED_LENGTH_MAX} characters`,
        );
      }
    }
  }

  /** Runs a search. @returns the text for the model */
  async #search(call: ToolCall, reasoning: string, last: Chunk): Promise<string> {
    const { progress, sources, append } = this.#reports;
    if (progress) {
      const text = { function_arguments: call.arguments, function_parameters: call.arguments };
      await this.#report(last, PROGRESS, { call_id: call.id, function_name: call.name, ...text });
    }
    if (append) {
      await this.#report(last, APPEND, assistantMessage([call], reasoning));
    }
    this.usage.searches++;
    const result = await runSearch(this.#services, this.#caller, call.arguments);
    this.#keep(result);
    if (sources && result.sources !== null) {
      const documents = `[${result.sources.join(',')}]`;
      const id = JSON.stringify(call.id);
      await this.#reportText(
        last,
        SOURCES,
        `{"call_id":${id},"sources":${documents},"documents":${documents}}`,
      );
    }
    if (append) await this.#report(last, APPEND, toolMessage(result.text, call.id));
    if (result.failure !== null) {
      const { status, message } = result.failure;
      await this.#sink.send(errorEvent('response_error', message, String(status)));
    }
    return result.text;
  }

  #keep({ sources, indexUid }: ToolResult): void {
    if (!this.#reports.answerSources || indexUid === null) return;
    const index = JSON.stringify(indexUid);
    for (const document of sources ?? []) {
      const source = `{"index_uid":${index},"document":${document}}`;
      if (this.#answerSources.has(source)) continue;
      this.#answerSourcesLength += source.length;
      if (this.#answerSourcesLength > ANSWER_SOURCES_LENGTH_MAX) return;
      this.#answerSources.add(source);
    }
  }

  async #reportAnswerSources(last: Chunk): Promise<void> {
    if (!this.#reports.answerSources) return;
    const sources = [...this.#answerSources].join(',');
    await this.#reportText(last, ANSWER_SOURCES, `{"sources":[${sources}]}`);
  }

  /** Sends a report as a chunk that looks like a call of the tool `name`. */
  #report(last: Chunk, name: string, value: unknown): Promise<void> {
    return this.#reportText(last, name, JSON.stringify(value));
  }

  /** @param text JSON text */
  async #reportText(last: Chunk, name: string, text: string): Promise<void> {
    const fn = { name, arguments: text };
    const toolCall = { index: 0, id: randomUUID(), type: 'function', function: fn };
    const delta = { role: 'assistant', tool_calls: [toolCall] };
    const choices = [{ index: 0, delta, finish_reason: null }];
    await this.#sink.send({ ...this.#frame(last), choices });
  }

  /** The members that our own chunks copy from the provider's. */
  #frame(last: Chunk): Chunk {
    return {
      id: last.id ?? '',
      created: last.created ?? Math.floor(Date.now() / 1000),
      model: last.model ?? this.#request.model,
      object: 'chat.completion.chunk',
    };
  }
}

/** The outcome of a round. */
interface EndedRound {
  calls: readonly ToolCall[];
  /** The model's reasoning before its calls, for providers that require it back; empty: none. */
  reasoning: string;
  /** The last chunk with a choice. */
  last: Chunk;
}

function tooMuch(what: string): ProviderError {
  return providerError('parser_error', `The provider sent ${what} in one round`);
}

function assistantMessage(calls: readonly ToolCall[], reasoning: string): ChatMessage {
  return {
    role: 'assistant',
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    tool_calls: calls.map(callMessage),
  };
}

function toolMessage(content: string, id: string): ChatMessage {
  return { role: 'tool', content, tool_call_id: id };
}

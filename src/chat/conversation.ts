/**
 * One conversation: rounds of a provider's answer and the searches that it asks for, until the
 * model has answered.
 *
 * What the client sees goes to a {@link ChatSink}, event by event. While the client does not take
 * events nothing more is read from the provider, and nothing is held for a search but while it
 * runs.
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

/** Rounds of one conversation. */
const ROUNDS_MAX = 20;
/** Characters of what a model thinks before its calls of one round, which goes back to it. */
const REASONING_LENGTH_MAX = 2 ** 20;
/**
 * Characters that the searches of one conversation add to it: calls, what was thought before them,
 * and results.
 */
const ADDED_LENGTH_MAX = 4 * 2 ** 20;
/** Characters of the documents that are kept to be told at the end. */
const ANSWER_SOURCES_LENGTH_MAX = 2 ** 20;

/** Tools of a client that switch reports on; the model never sees them. */
const PROGRESS = '_meiliSearchProgress';
const SOURCES = '_meiliSearchSources';
const APPEND = '_meiliAppendConversationMessage';
/** Ours: all documents that searches found, once, at the end. */
const ANSWER_SOURCES = '_gannetAnswerSources';
/** Of older front ends; without effect. */
const REPORT_ERRORS = '_meiliReportErrors';

export interface ChatSink {
  /** Resolves when the client is ready for more. */
  send(event: Chunk | ErrorEvent): Promise<void>;
}

/** What a conversation used. */
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

/** Throws `ApiError` for tools that are not known. */
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
  /** JSON of each. */
  readonly #answerSources = new Set<string>();
  #answerSourcesLength = 0;
  #addedLength = 0;
  #lastUsage: Usage | null = null;
  #usageReports = 0;
  #tool: unknown;
  readonly usage: ChatUsage = { searches: 0, promptTokens: 0, completionTokens: 0, totalTokens: 0 };

  /** @param signal ends the conversation at once: the client has gone */
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

  /**
   * Runs to the end. Failures of the provider are events; rejects for faults of the server only.
   */
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

  /** Passes the text of one answer on and collects its calls. */
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
      // Of several reports of one answer the last one counts: each holds all so far.
      usage = chunk.usage ?? usage;
      const { choice, forwarded } = chunk;
      // Such as a usage report, or the content filter's results: never the end of a round.
      if (choice === null) continue;
      last = forwarded;
      const { toolCalls: pieces, finishReason } = choice;
      const surplus = calls.add(pieces);
      if (surplus !== null) throw tooMuch(surplus);
      // Without calls nobody needs it again, however long it is.
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

  /** The chunk that `stream_options.include_usage` asks for: what all rounds used. */
  async #reportUsage(last: Chunk): Promise<void> {
    if (this.#lastUsage === null || !includesUsage(this.#request.stream_options)) return;
    const { promptTokens, completionTokens, totalTokens } = this.usage;
    const sum: Usage = {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: totalTokens,
    };
    // Details of one round are not those of all.
    const usage = this.#usageReports === 1 ? this.#lastUsage : sum;
    await this.#sink.send({ ...this.#frame(last), choices: [], usage });
  }

  async #handle({ calls, reasoning, last }: EndedRound): Promise<void> {
    this.#messages.push(assistantMessage(calls, reasoning));
    this.#addedLength += reasoning.length;
    for (const call of calls) {
      if (this.#signal.aborted) return;
      const answer =
        call.name === SEARCH_TOOL
          ? await this.#search(call, reasoning, last)
          : `There is no function \`${call.name}\`; the only one is \`${SEARCH_TOOL}\`.`;
      this.#messages.push(toolMessage(answer, call.id));
      this.#addedLength += call.length + answer.length;
      if (this.#addedLength > ADDED_LENGTH_MAX) {
        throw providerError(
          'tool_call_limit',
          `The searches of the model came to more than ${ADDED_LENGTH_MAX} characters`,
        );
      }
    }
  }

  /** @returns the text for the model */
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
    const ended = this.#caller.countSearch();
    const result = await runSearch(this.#services, this.#caller, call.arguments).finally(ended);
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

  /** A chunk that looks like a call of the marker tool. */
  #report(last: Chunk, name: string, value: unknown): Promise<void> {
    return this.#reportText(last, name, JSON.stringify(value));
  }

  /** @param text JSON */
  async #reportText(last: Chunk, name: string, text: string): Promise<void> {
    const fn = { name, arguments: text };
    const toolCall = { index: 0, id: randomUUID(), type: 'function', function: fn };
    const delta = { role: 'assistant', tool_calls: [toolCall] };
    const choices = [{ index: 0, delta, finish_reason: null }];
    await this.#sink.send({ ...this.#frame(last), choices });
  }

  /** What chunks of our own have in common with the provider's. */
  #frame(last: Chunk): Chunk {
    return {
      id: last.id ?? '',
      created: last.created ?? Math.floor(Date.now() / 1000),
      model: last.model ?? this.#request.model,
      object: 'chat.completion.chunk',
    };
  }
}

/** A round of the provider that has ended. */
interface EndedRound {
  calls: readonly ToolCall[];
  /** What the model thought before its calls, for providers that want it back; empty: nothing. */
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

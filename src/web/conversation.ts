/**
 * The state of a conversation in the chat view. Pure functions convert events from the server to
 * turns, and turns to the next request.
 */

export type Message = Readonly<Record<string, unknown>> & { readonly role: string };

/** A search that the model requested. */
export interface ChatSearch {
  readonly callId: string;
  readonly indexUid: string;
  readonly q: string;
  readonly filter: string;
  /** The documents found; null: not reported yet, or the search failed. */
  readonly sources: readonly Readonly<Record<string, unknown>>[] | null;
}

export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'search'; readonly search: ChatSearch };

/** A question and everything received for it so far. */
export interface Turn {
  readonly question: string;
  readonly parts: readonly Part[];
  readonly errors: readonly string[];
  /** Messages about searches, sent to the model again with the next question. */
  readonly messages: readonly Message[];
  /** Text received after the last of `messages`. */
  readonly said: string;
}

/** An event of the stream; only the members that the page reads. */
export interface ChatEvent {
  readonly error?: { readonly message?: string } | null;
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly refusal?: string | null;
      readonly tool_calls?: readonly {
        readonly function?: { readonly name?: string; readonly arguments?: string };
      }[];
    };
  }[];
}

/** The arguments of a tool call, by which the server reports a search. */
type Report = Readonly<Record<string, unknown>>;

const PROGRESS = '_meiliSearchProgress';
const SOURCES = '_meiliSearchSources';
const APPEND = '_meiliAppendConversationMessage';

export function newTurn(question: string): Turn {
  return { question, parts: [], errors: [], messages: [], said: '' };
}

/** The request body that asks the question of the last turn. */
export function completionRequest(model: string, turns: readonly Turn[]): Record<string, unknown> {
  return {
    model,
    stream: true,
    messages: turns.flatMap(messagesOf),
    tools: [PROGRESS, SOURCES, APPEND].map((name) => ({ type: 'function', function: { name } })),
  };
}

function messagesOf({ question, messages, said }: Turn): Message[] {
  // Providers refuse a tool call without a result, which a stopped turn may have.
  const complete = messages.at(-1)?.tool_calls === undefined ? messages : messages.slice(0, -1);
  return [{ role: 'user', content: question }, ...complete, ...spoken(said)];
}

function spoken(said: string): Message[] {
  return said === '' ? [] : [{ role: 'assistant', content: said }];
}

export function withEvent(turn: Turn, { error, choices }: ChatEvent): Turn {
  if (error !== undefined && error !== null) {
    return { ...turn, errors: [...turn.errors, error.message ?? 'The provider failed.'] };
  }
  const { content, refusal, tool_calls: calls = [] } = choices?.[0]?.delta ?? {};
  const begun = withText(turn, `${content ?? ''}${refusal ?? ''}`);
  return calls.reduce((now, { function: tool }) => {
    const report = JSON.parse(tool?.arguments ?? '{}') as Report;
    return withReport(now, tool?.name ?? '', report);
  }, begun);
}

function withText(turn: Turn, text: string): Turn {
  if (text === '') return turn;
  const last = turn.parts.at(-1);
  const parts: readonly Part[] =
    last?.kind === 'text'
      ? [...turn.parts.slice(0, -1), { kind: 'text', text: last.text + text }]
      : [...turn.parts, { kind: 'text', text }];
  return { ...turn, parts, said: turn.said + text };
}

function withReport(turn: Turn, name: string, report: Report): Turn {
  switch (name) {
    case PROGRESS:
      return { ...turn, parts: [...turn.parts, { kind: 'search', search: searchOf(report) }] };
    case SOURCES: {
      const sources = report.sources as ChatSearch['sources'];
      const parts = turn.parts.map((part) =>
        part.kind === 'search' && part.search.callId === report.call_id
          ? { ...part, search: { ...part.search, sources } }
          : part,
      );
      return { ...turn, parts };
    }
    case APPEND: {
      const messages = [...turn.messages, ...spoken(turn.said), report as Message];
      return { ...turn, messages, said: '' };
    }
    default:
      return turn;
  }
}

/** Reads the arguments leniently, because a model may write anything. */
function searchOf({ call_id: callId, function_arguments: text }: Report): ChatSearch {
  let given: Report = {};
  try {
    given = (JSON.parse(String(text)) as Report | null) ?? {};
  } catch {
    // The search is shown without arguments.
  }
  const named = (name: string): string => (typeof given[name] === 'string' ? given[name] : '');
  return {
    callId: String(callId),
    indexUid: named('index_uid'),
    q: named('q'),
    filter: named('filter'),
    sources: null,
  };
}

/**
 * A conversation as the chat view shows it: pure, from the events of the server to turns, and from
 * turns to the next request.
 */

export type Message = Readonly<Record<string, unknown>> & { readonly role: string };

/** A search that the model asked for. */
export interface ChatSearch {
  readonly callId: string;
  readonly indexUid: string;
  readonly q: string;
  readonly filter: string;
  /** The documents found; null: not told yet, or the search failed. */
  readonly sources: readonly Readonly<Record<string, unknown>>[] | null;
}

export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'search'; readonly search: ChatSearch };

/** A question, and what came of it so far. */
export interface Turn {
  readonly question: string;
  readonly parts: readonly Part[];
  readonly errors: readonly string[];
  /** What the model is to remember of its searches. */
  readonly messages: readonly Message[];
  /** Said since the last of `messages`. */
  readonly said: string;
}

/** An event of the stream, as far as the page reads it. */
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

/** What the server tells in a tool call. */
type Report = Readonly<Record<string, unknown>>;

const PROGRESS = '_meiliSearchProgress';
const SOURCES = '_meiliSearchSources';
const APPEND = '_meiliAppendConversationMessage';

export function newTurn(question: string): Turn {
  return { question, parts: [], errors: [], messages: [], said: '' };
}

/** The body of the request that asks the last of `turns`. */
export function completionRequest(model: string, turns: readonly Turn[]): Record<string, unknown> {
  return {
    model,
    stream: true,
    messages: turns.flatMap(messagesOf),
    tools: [PROGRESS, SOURCES, APPEND].map((name) => ({ type: 'function', function: { name } })),
  };
}

function messagesOf({ question, messages, said }: Turn): Message[] {
  // Providers refuse a call that has no answer, such as that of a turn that was stopped.
  const answered = messages.at(-1)?.tool_calls === undefined ? messages : messages.slice(0, -1);
  return [{ role: 'user', content: question }, ...answered, ...spoken(said)];
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
  return calls.reduce((now, { function: told }) => {
    const report = JSON.parse(told?.arguments ?? '{}') as Report;
    return withReport(now, told?.name ?? '', report);
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

/** What a model writes may be anything. */
function searchOf({ call_id: callId, function_arguments: text }: Report): ChatSearch {
  let given: Report = {};
  try {
    given = (JSON.parse(String(text)) as Report | null) ?? {};
  } catch {
    // Shown without its arguments.
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

import { useEffect, useRef, useState } from 'preact/hooks';
import { converse } from '../chat-stream.ts';
import { Fault, pathOf } from '../client.ts';
import {
  completionRequest,
  newTurn,
  withEvent,
  type ChatSearch,
  type Turn,
} from '../conversation.ts';
import { useBodySchema } from '../description.ts';
import { counted } from '../format.ts';
import { type Action, type Loaded, useAction, useLoaded } from '../hooks.ts';
import { Choice } from '../parts/choice.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { JsonValue } from '../parts/json-value.tsx';
import { LinesField } from '../parts/lines-field.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { NEW_UID, SchemaDialog } from '../parts/schema-dialog.tsx';
import { TextField } from '../parts/text-field.tsx';
import { goTo, viewHref, replaceAddress, useArgument, useAddress } from '../address.ts';
import { useSession } from '../session.ts';
import { isOff, SwitchedOff } from './feature.tsx';
import { TypedArgument } from './index-picker.tsx';
import { titleField } from '../hit-fields.ts';

/** Maximum number of workspaces listed. Others can be opened by their address. */
const WORKSPACES_MAX = 1000;

type WorkspaceSettings = Readonly<Record<string, unknown>>;

type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'delete' }
  | { readonly kind: 'edit'; readonly settings: WorkspaceSettings };

function settingsPath(uid: string): string {
  return pathOf(['chats', uid, 'settings']);
}

/** Uids of the workspaces; none for a key that may not list them. */
function useWorkspaces(workspace: string | null, done: string | null): Loaded<string[]> {
  const { client, rights } = useSession();
  return useLoaded(
    async (signal) => {
      if (!rights.has('chats')) return [];
      const path = pathOf(['chats'], { limit: WORKSPACES_MAX });
      const { results } = await client.send<{ results: { uid: string }[] }>('GET', path, {
        signal,
      });
      return results.map(({ uid }) => uid);
    },
    [client, workspace, done],
  );
}

export function ChatView({ workspace }: { workspace: string | null }): JSX.Element {
  const { rights } = useSession();
  const action = useAction();
  const [open, setOpen] = useState<Open | null>(null);
  const listed = rights.has('chats');
  const list = useWorkspaces(workspace, action.done);
  const uids = list.value ?? [];
  useArgument('chat', workspace, uids[0]);
  if (isOff(list.error)) {
    return (
      <SwitchedOff
        feature="chatCompletions"
        purpose="Chat about your documents: a model from your provider searches them and answers from the results."
        onSwitchedOn={list.reload}
      />
    );
  }
  const known = workspace !== null && (!listed || uids.includes(workspace));
  return (
    <>
      <Problem error={list.error} />
      {listed ? (
        <Workspaces
          workspace={workspace}
          known={known}
          uids={list.value}
          action={action}
          onOpen={setOpen}
        />
      ) : (
        <TypedArgument
          view="chat"
          label="Workspace"
          hint="This key may not list the workspaces; type the uid of one."
          argument={workspace}
        />
      )}
      <Outcome action={action} />
      {known ? <Conversation key={workspace} workspace={workspace} /> : null}
      {workspace !== null && !known && list.value !== undefined && !list.loading ? (
        <p class="note">There is no workspace {workspace}.</p>
      ) : null}
      {open === null ? null : (
        <OpenWorkspace
          open={open}
          workspace={workspace}
          action={action}
          onClose={() => setOpen(null)}
        />
      )}
    </>
  );
}

interface WorkspacesProps {
  workspace: string | null;
  /** It is there. */
  known: boolean;
  /** undefined: not known yet. */
  uids: readonly string[] | undefined;
  action: Action;
  onOpen(open: Open): void;
}

/** The choice of a workspace, and what can be done with it. */
function Workspaces({ workspace, known, uids, action, onOpen }: WorkspacesProps): JSX.Element {
  const { client } = useSession();
  const edit = (uid: string): void =>
    action.run(async () => {
      const settings = await client.send<WorkspaceSettings>('GET', settingsPath(uid));
      onOpen({ kind: 'edit', settings });
      return null;
    });
  return (
    <>
      {uids?.length === 0 ? (
        <p class="note">
          There is no workspace yet. A workspace defines the provider of the model and the prompts
          that tell the model how to search.
        </p>
      ) : null}
      {uids === undefined || uids.length === 0 ? null : (
        <Choice
          label="Workspace"
          value={workspace ?? ''}
          options={uids.map((uid) => [uid, uid])}
          onChoose={(uid) => goTo(viewHref('chat', uid))}
        />
      )}
      <p class="buttons">
        <button type="button" onClick={() => onOpen({ kind: 'create' })}>
          Create a workspace
        </button>
        {known ? (
          <>
            <button type="button" onClick={() => edit(workspace!)}>
              Settings of the workspace
            </button>
            <button type="button" class="danger" onClick={() => onOpen({ kind: 'delete' })}>
              Delete the workspace
            </button>
          </>
        ) : null}
      </p>
    </>
  );
}

interface OpenWorkspaceProps {
  open: Open;
  workspace: string | null;
  action: Action;
  onClose(): void;
}

/** The dialog of a workspace that is made, changed or deleted. */
function OpenWorkspace({ open, workspace, action, onClose }: OpenWorkspaceProps): JSX.Element {
  const { client } = useSession();
  const schema = useBodySchema('/chats/{workspace}/settings', 'patch');
  if (open.kind === 'delete') {
    return (
      <Confirm
        title={`Delete the workspace ${workspace!}`}
        warning="Its settings are deleted, including the key of the provider. Your documents are kept."
        name={workspace!}
        verb="Delete permanently"
        onClose={onClose}
        onConfirm={() =>
          action.run(async () => {
            await client.send('DELETE', pathOf(['chats', workspace!]));
            goTo(viewHref('chat'));
            return `Workspace ${workspace!} was deleted.`;
          })
        }
      />
    );
  }
  const isNew = open.kind === 'create';
  return (
    <SchemaDialog
      title={isNew ? 'Create a workspace' : `Settings of ${workspace!}`}
      verb={isNew ? 'Create' : 'Save'}
      schema={schema}
      value={isNew ? {} : open.settings}
      {...(isNew && { naming: NEW_UID })}
      folded={FOLDED}
      onSave={(body, _, name) => {
        const uid = isNew ? name : workspace!;
        action.run(async () => {
          await client.send('PATCH', settingsPath(uid), { body });
          if (uid !== workspace) goTo(viewHref('chat', uid));
          return `Workspace ${uid} was saved.`;
        });
      }}
      onClose={onClose}
    />
  );
}

/** What few providers need, and what few people change. */
const FOLDED = {
  'More of the provider': ['orgId', 'projectId', 'apiVersion', 'deploymentId'],
  Prompts: ['prompts'],
};

interface ConversationState {
  readonly action: Action;
  readonly turns: readonly Turn[];
  ask(model: string, question: string): void;
  stop(): void;
  clear(): void;
}

function useConversation(workspace: string): ConversationState {
  const { client } = useSession();
  const action = useAction();
  const running = useRef<AbortController | null>(null);
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const stop = (): void => running.current?.abort();
  useEffect(() => stop, []);
  const ask = (model: string, question: string): void => {
    const stopping = new AbortController();
    running.current = stopping;
    const all = [...turns, newTurn(question)];
    setTurns(all);
    action.run(async () => {
      try {
        const body = completionRequest(model, all);
        await converse(client, workspace, body, stopping.signal, (event) =>
          setTurns((old) => [...old.slice(0, -1), withEvent(old.at(-1)!, event)]),
        );
      } catch (error) {
        if (!stopping.signal.aborted || error instanceof Fault) throw error;
        return 'Stopped.';
      }
      return null;
    });
  };
  return { action, turns, ask, stop, clear: () => setTurns([]) };
}

function Conversation({ workspace }: { workspace: string }): JSX.Element {
  const { query } = useAddress();
  const { action, turns, ask, stop, clear } = useConversation(workspace);
  const [question, setQuestion] = useState('');
  const model = query.model ?? '';
  const ready = question.trim() !== '' && model !== '' && !action.running;
  return (
    <section aria-label="Conversation">
      <div class="row">
        <TextField
          label="Model"
          hint="The name that the provider uses."
          value={model}
          onInput={(named) => replaceAddress(viewHref('chat', workspace, { model: named }))}
        />
        {turns.length === 0 ? null : (
          <button type="button" disabled={action.running} onClick={clear}>
            New conversation
          </button>
        )}
      </div>
      <div role="log" aria-label="Messages" aria-busy={action.running}>
        {turns.map((turn, position) => (
          <TurnCard key={position} turn={turn} />
        ))}
      </div>
      <Outcome action={action} />
      <QuestionForm
        question={question}
        ready={ready}
        hasModel={model !== ''}
        onInput={setQuestion}
        onAsk={() => {
          if (!ready) return;
          setQuestion('');
          ask(model, question.trim());
        }}
        onStop={action.running ? stop : null}
      />
    </section>
  );
}

interface QuestionProps {
  question: string;
  ready: boolean;
  hasModel: boolean;
  onInput(question: string): void;
  onAsk(): void;
  /** null: nothing is under way. */
  onStop: (() => void) | null;
}

function QuestionForm(props: QuestionProps): JSX.Element {
  const { question, ready, hasModel, onInput, onAsk, onStop } = props;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onAsk();
      }}
    >
      <LinesField
        label="Question"
        hint="Press Enter to ask, Shift+Enter for a new line."
        rows={3}
        value={question}
        onInput={onInput}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          onAsk();
        }}
      />
      <p class="buttons">
        <button type="submit" disabled={!ready}>
          Ask
        </button>
        {onStop === null ? null : (
          <button type="button" onClick={onStop}>
            Stop
          </button>
        )}
      </p>
      {hasModel ? null : <p class="note">Enter the name of a model to begin.</p>}
    </form>
  );
}

function TurnCard({ turn: { question, parts, errors } }: { turn: Turn }): JSX.Element {
  return (
    <article class="panel">
      <h2 class="said">{question}</h2>
      {parts.map((part, position) =>
        part.kind === 'text' ? (
          <p key={position} class="said">
            {part.text.trim()}
          </p>
        ) : (
          <SearchPart key={position} search={part.search} />
        ),
      )}
      {errors.map((error, position) => (
        <p key={position} class="problem" role="alert">
          {error}
        </p>
      ))}
    </article>
  );
}

/** A search by the model, with the documents found. */
function SearchPart({ search }: { search: ChatSearch }): JSX.Element {
  const { indexUid, q, filter, sources } = search;
  const words =
    `Searched ${indexUid === '' ? 'without an index' : indexUid}` +
    (q === '' ? '' : ` for “${q}”`) +
    (filter === '' ? '' : `, where ${filter}`);
  if (sources === null || sources.length === 0) {
    return (
      <p class="note">
        {words}
        {sources === null ? '.' : ': nothing was found.'}
      </p>
    );
  }
  return (
    <details>
      <summary>
        {words}: {counted(sources.length, 'source')}
      </summary>
      <ol>
        {sources.map((source, position) => {
          const title = titleField(source, null);
          return (
            <li key={position}>
              {title === undefined ? null : <strong>{String(source[title])}</strong>}
              <JsonValue value={source} />
            </li>
          );
        })}
      </ol>
    </details>
  );
}

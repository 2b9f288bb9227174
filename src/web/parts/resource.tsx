/** Things of one kind that are listed, made, changed and deleted. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Client } from '../client.ts';
import { useAction, useLoaded, type Action, type Loaded } from '../hooks.ts';
import { useSession } from '../session.ts';
import { finish } from '../tasks.ts';
import { isOff, SwitchedOff } from '../views/feature.tsx';
import { Confirm } from './confirm.tsx';
import { Empty } from './empty.tsx';
import type { IconName } from './icon-paths.ts';
import { Icon } from './icon.tsx';
import { Outcome } from './outcome.tsx';
import { Problem } from './problem.tsx';
import { Skeleton } from './skeleton.tsx';

/** What a dialog may do. */
export interface Tools {
  close(): void;
  /** Opens another dialog. */
  open(kind: string, row: unknown): void;
  /** Sends a change. @param done says that it was made; absent: the change is a task */
  send(method: string, path: string, body?: unknown, done?: string): void;
  readonly action: Action;
}

type Open<Row> = (kind: string, row: Row) => void;

interface Props<Row> {
  /** `webhook`, for buttons and messages. */
  noun: string;
  icon: IconName;
  /** What to do where there is none. */
  nothing: string;
  /** Given: only some are asked for, and none of them is there. */
  nothingMatches?: string;
  load(client: Client, signal: AbortSignal): Promise<readonly Row[]>;
  /** What the list depends on. */
  inputs?: readonly unknown[];
  everyMs?: number;
  list(rows: readonly Row[], open: Open<Row>): ComponentChildren;
  /** Those of `create` and of what else the list opens. */
  dialogs: Readonly<Record<string, (row: Row, tools: Tools) => JSX.Element>>;
  deletion: {
    readonly warning: string;
    nameOf(row: Row): string;
    /** What to type instead of a long name. */
    readonly typed?: string;
    pathOf(row: Row): string;
    /** Whether the server does it later, as a task. */
    readonly isTask: boolean;
  };
  /** The experimental feature that it needs, and what that is for. */
  feature?: { readonly feature: string; readonly purpose: string };
  /** Between the button that creates and the list. */
  children?: ComponentChildren;
}

export function Resource<Row>(props: Props<Row>): JSX.Element {
  const { noun, icon, nothing, nothingMatches, load, inputs = [], everyMs = 0 } = props;
  const { client } = useSession();
  const action = useAction();
  const [open, setOpen] = useState<{ kind: string; row: Row } | null>(null);
  const loaded: Loaded<readonly Row[]> = useLoaded(
    (signal) => load(client, signal),
    [client, action.done, ...inputs],
    everyMs,
  );
  const tools: Tools = {
    action,
    close: () => setOpen(null),
    open: (kind, row) => setOpen({ kind, row: row as Row }),
    send: (method, path, body, done) =>
      action.run(async () => {
        if (done === undefined) return finish(client, method, path, body);
        await client.send(method, path, { body });
        return done;
      }),
  };
  const rows = loaded.value ?? [];
  if (props.feature !== undefined && isOff(loaded.error)) {
    return <SwitchedOff {...props.feature} onSwitchedOn={loaded.reload} />;
  }
  return (
    <>
      <p class="buttons">
        <button type="button" class="primary" onClick={() => tools.open('create', null)}>
          <Icon name="plus" />
          Create {article(noun)} {noun}
        </button>
      </p>
      <Outcome action={action} />
      <Problem error={loaded.error} />
      {props.children}
      {loaded.value === undefined && loaded.error === null ? <Skeleton rows={3} /> : null}
      {loaded.value?.length === 0 ? (
        <Empty
          icon={icon}
          title={nothingMatches === undefined ? `There is no ${noun} yet` : `No ${noun} matches`}
        >
          <p>{nothingMatches ?? nothing}</p>
        </Empty>
      ) : null}
      {rows.length === 0 ? null : props.list(rows, tools.open)}
      {open === null ? null : open.kind === 'delete' ? (
        <Deletion {...props} row={open.row} tools={tools} />
      ) : (
        props.dialogs[open.kind]!(open.row, tools)
      )}
    </>
  );
}

function article(noun: string): string {
  return /^[aeiou]/.test(noun) ? 'an' : 'a';
}

function Deletion<Row>(props: Props<Row> & { row: Row; tools: Tools }): JSX.Element {
  const { noun, deletion, row, tools } = props;
  const name = deletion.nameOf(row);
  const done = deletion.isTask ? undefined : `The ${noun} ${name} was deleted.`;
  return (
    <Confirm
      title={`Delete the ${noun} ${name}`}
      warning={deletion.warning}
      name={deletion.typed ?? name}
      verb={`Delete the ${noun}`}
      onClose={tools.close}
      onConfirm={() => tools.send('DELETE', deletion.pathOf(row), undefined, done)}
    />
  );
}

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { goTo, viewHref } from '../address.ts';
import { Icon } from '../parts/icon.tsx';
import type { View } from '../views.tsx';
import { commandsFor, matching, type Command } from './commands.ts';
import { isIndexView, useIndexes } from './indexes-context.tsx';

interface Props {
  views: readonly View[];
  onClose(): void;
}

function useCommands(views: readonly View[]): Command[] {
  const uids = useIndexes().list.map(({ uid }) => uid);
  return commandsFor(views, uids, isIndexView, viewHref);
}

/** A field that finds views and indexes by name. Arrow keys choose, Enter opens. */
export function Palette({ views, onClose }: Props): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  useEffect(() => element.current?.showModal(), []);
  const found = matching(useCommands(views), text);
  const open = (command: Command | undefined): void => {
    if (command === undefined) return;
    element.current?.close();
    goTo(command.href);
  };
  const pressed = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      setAt((at + step + found.length) % found.length);
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      open(found[at]);
    }
  };
  return (
    <dialog
      ref={element}
      class="palette"
      aria-label="Go to"
      onClose={onClose}
      // A click outside the dialog closes it.
      onClick={(event) => event.target === element.current && element.current?.close()}
    >
      <div class="seek">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label="View or index"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={found.length === 0 ? undefined : `${id}-${at}`}
          autocomplete="off"
          spellcheck={false}
          placeholder="A view or an index …"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={pressed}
        />
        <kbd>Esc</kbd>
      </div>
      <Found id={id} commands={found} at={at} onPoint={setAt} onOpen={open} />
    </dialog>
  );
}

interface FoundProps {
  id: string;
  commands: readonly Command[];
  /** Position of the chosen command. */
  at: number;
  onPoint(position: number): void;
  onOpen(command: Command): void;
}

function Found({ id, commands, at, onPoint, onOpen }: FoundProps): JSX.Element {
  const chosen = useRef<HTMLLIElement>(null);
  useEffect(() => chosen.current?.scrollIntoView({ block: 'nearest' }), [at]);
  return (
    <ul class="found" id={id} role="listbox" aria-label="Results">
      {commands.map((command, position) => (
        <li
          key={command.href}
          id={`${id}-${position}`}
          ref={position === at ? chosen : null}
          role="option"
          aria-selected={position === at}
          onMouseMove={() => onPoint(position)}
          onClick={() => onOpen(command)}
        >
          <Icon name={command.icon} />
          <span>{command.title}</span>
          <span class="count">{command.group}</span>
        </li>
      ))}
    </ul>
  );
}

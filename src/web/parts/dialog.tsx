import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useUnsaved } from '../unsaved.ts';

interface DialogProps {
  title: string;
  /** Whether something was typed that closing would lose: the dialog asks first. */
  dirty?: boolean;
  onClose(): void;
  children: ComponentChildren;
}

/** A modal dialog. Escape closes it. */
export function Dialog({ title, dirty = false, onClose, children }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  const [asking, setAsking] = useState(false);
  const id = useId();
  useEffect(() => element.current?.showModal(), []);
  useUnsaved(dirty);
  const close = (): void => {
    if (dirty) setAsking(true);
    else onClose();
  };
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      // Not the event `cancel`: browsers close the dialog at the second Escape without asking.
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !dirty) return;
        event.preventDefault();
        event.stopPropagation();
        setAsking(true);
      }}
      onClose={onClose}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={close}>
          ✕
        </button>
      </header>
      {asking ? <Discard onKeep={() => setAsking(false)} onDiscard={onClose} /> : null}
      {children}
    </dialog>
  );
}

function Discard(props: { onKeep(): void; onDiscard(): void }): JSX.Element {
  return (
    <div class="warning" role="alert">
      <p>What you typed is not saved.</p>
      <p class="buttons">
        <button type="button" class="danger" onClick={props.onDiscard}>
          Discard it
        </button>
        <button type="button" onClick={props.onKeep}>
          Keep editing
        </button>
      </p>
    </div>
  );
}

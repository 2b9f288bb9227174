import type { ComponentChildren, RefObject, TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Props {
  title: ComponentChildren;
  /** Whether each button inside is a choice, which closes the panel. */
  chooses?: boolean;
  children: ComponentChildren;
}

/** A button that opens a panel below it. A click elsewhere or Escape closes it. */
export function Menu({ title, chooses = false, children }: Props): JSX.Element {
  const element = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  const close = (): void => {
    const { current } = element;
    // A choice may have removed the menu.
    if (current === null) return;
    const isInside = current.contains(document.activeElement);
    current.open = false;
    if (isInside) current.querySelector('summary')!.focus();
  };
  useDismissal(element, open, close);
  return (
    <details
      ref={element}
      class="menu"
      onKeyDown={step}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary class="button">{title}</summary>
      <div class={chooses ? 'card choices' : 'card'} onClick={chooses ? close : undefined}>
        {children}
      </div>
    </details>
  );
}

/** Arrow keys go through what can be chosen in an open menu. */
function step(event: TargetedKeyboardEvent<HTMLElement>): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const menu = event.currentTarget;
  const choices = [...menu.querySelectorAll<HTMLElement>('.choices button')];
  if (by === undefined || choices.length === 0 || !menu.hasAttribute('open')) return;
  event.preventDefault();
  const at = choices.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 && by < 0 ? choices.length - 1 : at + by;
  choices[(next + choices.length) % choices.length]!.focus();
}

/** Closes what is open at a click elsewhere or Escape. */
export function useDismissal(
  element: RefObject<HTMLElement | null>,
  open: boolean,
  close: () => void,
): void {
  useLayoutEffect(() => {
    if (!open) return undefined;
    const pressed = (event: Event): void => {
      if (!element.current!.contains(event.target as Node)) close();
    };
    const key = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') close();
    };
    addEventListener('pointerdown', pressed);
    addEventListener('keydown', key);
    return () => {
      removeEventListener('pointerdown', pressed);
      removeEventListener('keydown', key);
    };
  }, [open]);
}

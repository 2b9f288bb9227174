import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Props {
  title: string;
  children: ComponentChildren;
}

/** A button that opens a panel below it. A click elsewhere or Escape closes it. */
export function Menu({ title, children }: Props): JSX.Element {
  const element = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  useDismissal(element, open, () => {
    const isInside = element.current!.contains(document.activeElement);
    element.current!.open = false;
    if (isInside) element.current!.querySelector('summary')!.focus();
  });
  return (
    <details ref={element} class="menu" onToggle={() => setOpen(element.current!.open)}>
      <summary class="button">{title}</summary>
      <div class="card">{children}</div>
    </details>
  );
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

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface Props {
  title: string;
  children: ComponentChildren;
}

/** A button that opens a panel below it. A click elsewhere or Escape closes it. */
export function Menu({ title, children }: Props): JSX.Element {
  const element = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (!open) return undefined;
    const close = (): void => {
      element.current!.open = false;
    };
    const pressed = (event: Event): void => {
      if (!element.current!.contains(event.target as Node)) close();
    };
    const key = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      const isInside = element.current!.contains(document.activeElement);
      close();
      if (isInside) element.current!.querySelector('summary')!.focus();
    };
    addEventListener('pointerdown', pressed);
    addEventListener('keydown', key);
    return () => {
      removeEventListener('pointerdown', pressed);
      removeEventListener('keydown', key);
    };
  }, [open]);
  return (
    <details ref={element} class="menu" onToggle={() => setOpen(element.current!.open)}>
      <summary class="button">{title}</summary>
      {children}
    </details>
  );
}

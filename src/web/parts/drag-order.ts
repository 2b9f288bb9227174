import type { TargetedDragEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';

interface DragOrder {
  /** The item that is dragged; null: none is. */
  readonly dragged: string | null;
  /** Attributes of what is taken hold of. */
  handle(name: string): object;
  /** Attributes of the item at a position. */
  item(at: number): object;
}

/** Moves items of a list by dragging: an item gives way as soon as its middle is crossed. */
export function useDragOrder(
  names: readonly string[],
  onMove: (from: number, to: number) => void,
): DragOrder {
  const [dragged, setDragged] = useState<string | null>(null);
  // What the next event must know may come before the list is drawn again.
  const held = useRef<string | null>(null);
  const hold = (name: string | null): void => {
    held.current = name;
    setDragged(name);
  };
  const take = (event: TargetedDragEvent<HTMLElement>, to: number): void => {
    if (held.current === null) return;
    event.preventDefault();
    const from = names.indexOf(held.current);
    const { top, height } = event.currentTarget.getBoundingClientRect();
    const beyond = event.clientY - (top + height / 2);
    // An item gives way when the pointer crosses its middle, and does not come back.
    const crossed = from < to ? beyond >= -1 : beyond <= 1;
    if (from >= 0 && from !== to && crossed) onMove(from, to);
  };
  return {
    dragged,
    handle: (name) => ({
      draggable: true,
      onDragStart: (event: TargetedDragEvent<HTMLElement>) => {
        const item = event.currentTarget.closest('li');
        if (item !== null) event.dataTransfer?.setDragImage(item, 0, 0);
        hold(name);
      },
      onDragEnd: () => hold(null),
    }),
    item: (at) => ({
      onDragOver: (event: TargetedDragEvent<HTMLElement>) => take(event, at),
      onDrop: (event: Event) => event.preventDefault(),
    }),
  };
}

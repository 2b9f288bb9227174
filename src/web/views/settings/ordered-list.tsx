import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { useDragOrder } from '../../parts/drag-order.ts';
import { Icon } from '../../parts/icon.tsx';
import { moved } from '../../settings-draft.ts';

interface Props<T> {
  /** What the list holds, such as `ranking rules`. */
  label: string;
  items: readonly T[];
  nameOf(item: T): string;
  /** An item for what was typed. */
  make(text: string): T;
  /** Texts to choose from for a new item. */
  offered: readonly string[];
  onChange(items: readonly T[]): void;
  /** More about an item, and its controls. */
  children?(item: T, change: (item: T) => void): ComponentChildren;
}

/** A list whose order matters. Items are moved by dragging, or with the buttons of each. */
export function OrderedList<T>(props: Props<T>): JSX.Element {
  const { label, items, nameOf, onChange, children } = props;
  const drag = useDragOrder(items.map(nameOf), (from, to) => onChange(moved(items, from, to)));
  return (
    <>
      <ol class="ordered" aria-label={label}>
        {items.map((item, at) => (
          <li
            key={nameOf(item)}
            class={drag.dragged === nameOf(item) ? 'card dragged' : 'card'}
            {...drag.handle(nameOf(item))}
            {...drag.item(at)}
          >
            <Icon name="grip" />
            <span class="what">{nameOf(item)}</span>
            {children?.(item, (next) =>
              onChange(items.map((one, position) => (position === at ? next : one))),
            )}
            <ItemButtons
              name={nameOf(item)}
              at={at}
              last={items.length - 1}
              onMove={(to) => onChange(moved(items, at, to))}
              onRemove={() => onChange(items.filter((_, position) => position !== at))}
            />
          </li>
        ))}
      </ol>
      <AddItem {...props} />
    </>
  );
}

interface ButtonsProps {
  name: string;
  at: number;
  last: number;
  onMove(to: number): void;
  onRemove(): void;
}

function ItemButtons({ name, at, last, onMove, onRemove }: ButtonsProps): JSX.Element {
  return (
    <>
      <button
        type="button"
        class="quiet icon-only"
        aria-label={`Move ${name} up`}
        disabled={at === 0}
        onClick={() => onMove(at - 1)}
      >
        <Icon name="up" />
      </button>
      <button
        type="button"
        class="quiet icon-only"
        aria-label={`Move ${name} down`}
        disabled={at === last}
        onClick={() => onMove(at + 1)}
      >
        <Icon name="down" />
      </button>
      <button
        type="button"
        class="quiet icon-only"
        aria-label={`Remove ${name}`}
        onClick={onRemove}
      >
        <Icon name="close" />
      </button>
    </>
  );
}

function AddItem<T>({ label, items, nameOf, make, offered, onChange }: Props<T>): JSX.Element {
  const [typed, setTyped] = useState('');
  const id = useId();
  const used = new Set(items.map(nameOf));
  const add = (): void => {
    if (typed === '' || used.has(typed)) return;
    onChange([...items, make(typed)]);
    setTyped('');
  };
  return (
    <p class="buttons">
      <input
        aria-label={`Add to ${label}`}
        list={id}
        value={typed}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          add();
        }}
      />
      <datalist id={id}>
        {offered
          .filter((one) => !used.has(one))
          .map((one) => (
            <option key={one} value={one} />
          ))}
      </datalist>
      <button type="button" disabled={typed === '' || used.has(typed)} onClick={add}>
        <Icon name="plus" /> Add<span class="unseen"> to {label}</span>
      </button>
    </p>
  );
}
